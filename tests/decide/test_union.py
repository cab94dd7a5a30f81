"""Decisions of several mappings as one, and pairs that exclude each other."""

from __future__ import annotations

import pandas as pd
import pytest

from mixtea.decide.mapping import FURTHER_TARGET, GIVEN, MAPPED, NO_COUNTERPART, Mapping


def mapping(*rows, **more):
    """Rows of (source, target, probability, decision)."""
    frame = pd.DataFrame(rows, columns=["source", "target", "probability", "decision"])
    frame["target"] = frame["target"].astype(object).where(frame["target"].notna(), None)
    return Mapping(None, None, frame.assign(given=frame["decision"] == GIVEN), **more)


def rows(frame):
    return frame[["source", "target", "probability"]].values.tolist()


def test_each_pair_is_there_once_with_its_greatest_probability():
    one = mapping(("a", "x", 0.6, MAPPED), ("b", None, 0.7, NO_COUNTERPART))
    two = mapping(("a", "x", 0.9, MAPPED), ("b", "y", 0.8, MAPPED), ("c", None, 0.5, NO_COUNTERPART))
    assert rows(one.union(two).frame) == [["a", "x", 0.9], ["b", "y", 0.8], ["c", None, 0.5]]
    assert rows(one.union().frame) == rows(one.frame)


def test_what_is_known_of_all_of_them_is_known_of_the_union():
    parts = [mapping(("a", "x", 0.6, MAPPED), expected=n, n_links=5, links_are_random=n > 1) for n in (1.0, 2.0)]
    found = parts[0].union(parts[1])
    assert found.expected == 3.0 and found.n_links == 5 and not found.links_are_random
    assert parts[0].union(mapping(("a", "x", 0.6, MAPPED))).expected is None


def test_a_given_link_stays_given():
    found = mapping(("a", "x", 0.99, MAPPED)).union(mapping(("a", "x", 0.5, GIVEN)))
    assert found.frame["given"].tolist() == [True]


def test_pairs_that_share_an_end_are_conflicts():
    found = mapping(("a", "x", 0.6, MAPPED), ("a", "y", 0.9, MAPPED), ("b", "x", 0.7, MAPPED), ("c", "z", 0.9, MAPPED))
    assert found.conflicts()[["source", "target", "shared"]].values.tolist() == [
        ["a", "y", "source"], ["a", "x", "source"], ["b", "x", "target"], ["a", "x", "target"],
    ]  # fmt: skip


@pytest.mark.parametrize("decisions", [(MAPPED, FURTHER_TARGET), (GIVEN, GIVEN)])
def test_further_targets_and_given_links_are_none(decisions):
    first, second = decisions
    assert mapping(("a", "x", 0.9, first), ("a", "y", 0.8, second)).conflicts().empty
    assert mapping().conflicts().empty
