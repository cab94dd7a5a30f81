"""A simulated reviewer: decides by known links, errs as often as asked, and is never asked about half of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import write

from mixtea.errors import DataError
from mixtea.experiments.simulated_reviewer import HEADER, Simulation, gold_links, simulate


@pytest.fixture(scope="module")
def gold(doubtful_task, tmp_path_factory):
    """All links of the task in a file, those that were given among them."""
    links = np.concatenate([doubtful_task.train, doubtful_task.valid, doubtful_task.test]).tolist()
    return write(tmp_path_factory.mktemp("gold"), {"gold.tsv": "".join(f"s{s}\tt{t}\n" for s, t in links)}) / "gold.tsv"


@pytest.fixture(scope="module")
def links(doubtful_task, gold):
    return gold_links(doubtful_task, gold)


def test_links_of_sources_with_a_given_link_are_no_gold(links, doubtful_task):
    assert sorted(links.tolist()) == sorted(doubtful_task.test.tolist())


def test_too_few_links_are_refused(doubtful_task, tmp_path):
    source = int(doubtful_task.test[0, 0])
    write(tmp_path, {"one.tsv": f"s{source}\tt{source}\n", "none.tsv": "x\ty\n"})
    with pytest.raises(DataError, match=r"one\.tsv: fewer than two links"):
        gold_links(doubtful_task, tmp_path / "one.tsv")
    with pytest.raises(DataError, match=r"none\.tsv"):
        gold_links(doubtful_task, tmp_path / "none.tsv")


@pytest.mark.parametrize("order", ["worth", "random"])
def test_decisions_make_it_better_and_half_of_the_links_are_never_shown(doubtful, links, order):
    found = Simulation(doubtful, links)
    points = [*found.run(order, [9, 18])]
    assert [point.decisions for point in points] == [0, 9, 18] and len(found.hidden) == len(found.shown) == 18
    hidden = {f"s{source}" for source in found.hidden[:, 0].tolist()}
    assert not hidden & {one.source for one in found.decisions}
    assert len({one.source for one in found.decisions}) == 18
    assert points[2].f1 > points[0].f1 and points[2].hits >= points[0].hits - 0.06
    assert math.isnan(points[0].right) and points[2].right == 1  # who never errs
    for one in found.decisions:  # the right target, or none of those that were there
        right = f"t{one.source[1:]}"
        assert one.target == (right if right in one.others else None)


def test_who_errs_is_wrong_as_often(doubtful, links):
    found = Simulation(doubtful, links, error=0.5)
    found._decide(doubtful, "random", 18)
    wrong = sum(
        one.target != (right if (right := f"t{one.source[1:]}") in one.others else None) for one in found.decisions
    )
    assert 4 <= wrong <= 14
    again = Simulation(doubtful, links, error=0.5)
    again._decide(doubtful, "random", 18)
    assert again.decisions == found.decisions
    never = Simulation(doubtful, links, error=1.0)
    never._decide(doubtful, "random", 5)
    assert all(one.target != f"t{one.source[1:]}" for one in never.decisions)


def test_known_items_are_of_the_validation_links(doubtful, links):
    found = Simulation(doubtful, links)
    found._decide(doubtful, "worth", 18)
    valid = {f"s{source}" for source in doubtful.task_.valid[:, 0].tolist()}
    assert found.audits and {one.source for one in found.audits} <= valid
    assert {one.reason for one in found.audits} == {"known"} and {one.reason for one in found.decisions} == {""}


def test_a_table_of_orders(doubtful_run, gold):
    told = []
    rows = simulate(doubtful_run, gold, orders=("worth", "random"), steps=(6, 400), notify=told.append)
    assert [row[:2] for row in rows] == [("worth", "0"), ("worth", "6"), ("random", "0"), ("random", "6")]
    assert all(len(row) == len(HEADER) for row in rows) and len(told) == 4
    assert rows[0][2:] == rows[2][2:] and all(0 <= float(cell) <= 1 for row in rows for cell in row[2:4])
