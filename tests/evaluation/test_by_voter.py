"""The table of who finds which links, and its way through a file."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from mixtea.evaluation.scores import as_numbers, as_objects, empty_table, hits_by_voter, split_table, voters_text

HITS = {"all": np.array([1.0, 0.5, 1.0]), "structure": np.array([0.0, 1.0, 0.25])}


def test_shares_by_who_decides_and_by_names():
    table = hits_by_voter(HITS, np.array([True, False, True]))
    assert table.loc["structure"].tolist() == [pytest.approx(1.25 / 3), 0.125, 1.0, 3, 2, 1]
    assert table.loc["all", "hits@1"] == pytest.approx(2.5 / 3) and voters_text("structure") == "structure alone"
    none = hits_by_voter(HITS, np.ones(3, dtype=bool))
    assert math.isnan(none.loc["all", "other_names/hits@1"]) and none.loc["all", "other_names/links"] == 0
    assert as_objects(none)["all"]["other_names/hits@1"] is None and empty_table().empty


@pytest.mark.parametrize("equal", [[True, False, True], [True, True, True], [False, False, False]])
def test_it_comes_back_from_flat_numbers(equal):
    table = hits_by_voter(HITS, np.array(equal))
    numbers = {"mrr": 0.5} | as_numbers(table)
    assert all(math.isfinite(value) for value in numbers.values())
    others, again = split_table(numbers)
    assert others == {"mrr": 0.5}
    pd.testing.assert_frame_equal(again, table)
    others, none = split_table(others)
    assert others == {"mrr": 0.5} and none.empty and list(none.columns) == list(table.columns)


@pytest.mark.parametrize(
    "name, value",
    [("\x1b[1m/hits@1", 0.5), ("all/rank", 1), ("all", 1), ("all/hits@1", 1.5), ("all/hits@1", -0.1),
     ("all/links", 0.5), ("all/links", -1), ("all/links", 1e300), ("names/hits@1", 0.5)],
)  # fmt: skip
def test_numbers_that_are_no_table(name, value):
    good = as_numbers(hits_by_voter({"all": np.ones(1)}, np.ones(1, dtype=bool)))
    with pytest.raises(ValueError, match="a table of who decides"):
        split_table(good | {f"by_evidence/{name}": value})
