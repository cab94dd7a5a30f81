"""Statements that meet, against all pairs of them."""

from __future__ import annotations

import numpy as np
import pytest

from mixtea.relations import neighbours as module
from mixtea.relations.neighbours import join_triples, matched, weighted_pairs


def numbers(rows):
    return tuple(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))


@pytest.mark.parametrize("at_once", [1, 3, 1_000_000])
def test_statements_meet_where_both_ends_are_believed_to_be_the_same(at_once, monkeypatch):
    monkeypatch.setattr(module, "TRIPLES_PER_BLOCK", at_once)
    ours, theirs = [(0, 1), (0, 1), (1, 0), (2, 2)], [(5, 6), (7, 6), (6, 5), (9, 9)]
    belief = {(0, 5): 0.5, (0, 7): 0.25, (1, 6): 1.0, (3, 9): 1.0}
    pairs = weighted_pairs(*numbers([*belief]), np.array([*belief.values()]))
    found = [tuple(one) for one in np.stack(join_triples(numbers(ours), numbers(theirs), pairs, pairs), axis=1)]
    wanted = [
        (i, j, belief[a, b] * belief[x, y])
        for i, (a, x) in enumerate(ours)
        for j, (b, y) in enumerate(theirs)
        if (a, b) in belief and (x, y) in belief
    ]
    assert sorted(found) == wanted and len(wanted) == 5


def test_nothing_meets_nothing():
    none = np.empty(0, dtype=np.int64)
    pairs = weighted_pairs(none, none, np.empty(0))
    assert [len(part) for part in join_triples((none, none), (none, none), pairs, pairs)] == [0, 0, 0]
    assert [len(part) for part in join_triples((none, none), numbers([(1, 2)]), pairs, pairs)] == [0, 0, 0]
    assert matched(pairs, 0, np.array([3])).tolist() == [0.0]


def test_a_thing_in_several_pairs_is_matched_at_most_once():
    pairs = weighted_pairs(np.array([2, 0, 2]), np.array([1, 1, 3]), np.array([0.75, 0.25, 0.75]))
    assert pairs.source.tolist() == [0, 2, 2] and pairs.belief.tolist() == [0.25, 0.75, 0.75]
    assert matched(pairs, 0, np.array([0, 1, 2, 9])).tolist() == [0.25, 0.0, 1.0, 0.0]
    assert matched(pairs, 1, np.array([1, 3])).tolist() == [1.0, 0.75]
