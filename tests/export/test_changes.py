"""What changed, as files."""

from __future__ import annotations

import csv

import pandas as pd
import pytest

from mixtea.errors import ConfigError
from mixtea.export.formats import write_changes
from mixtea.report.compare import compare_frames


@pytest.mark.parametrize("ending, delimiter", [(".tsv", "\t"), (".csv", ",")])
def test_a_row_each_with_a_header(ending, delimiter, tmp_path):
    old = pd.DataFrame({"source": ["a\tb", "c"], "target": ['"A",', "C"], "probability": [0.9, None]})
    new = pd.DataFrame({"source": ["a\tb", "d"], "target": ["=X", "D"], "probability": [1 / 3, 0.5]})
    path = tmp_path / f"changes{ending}"
    assert write_changes(compare_frames(old, new), path) == 3
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter=delimiter))
    assert rows == [
        ["change", "source", "target_before", "target", "probability_before", "probability"],
        ["new", "d", "", "D", "", "0.500000"],
        ["gone", "c", "C", "", "", ""],
        ["changed", "a\tb", '"A",', "=X", "0.900000", "0.333333"],
    ]
    assert write_changes(compare_frames(new, new)[:0], path) == 0 and path.read_text().count("\n") == 1


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"no format goes with the ending '.json'. Choose one of .tsv, .csv"):
        write_changes(pd.DataFrame(), tmp_path / "changes.json")
