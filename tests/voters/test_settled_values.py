"""Entities whose values are all equal, and nobody else's, look for no other values."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import said_graph, said_task

from mixtea.voters import similarity
from mixtea.voters.attributes import AttributeOpinions

N = 30
NONE = np.empty((0, 2), dtype=np.int64)


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch):
    monkeypatch.setattr(similarity, "MIN_SETTLED", 2)
    monkeypatch.setattr(similarity, "MIN_LINKS_SETTLED", 0)


def person(i, notation=str):
    return [
        (i, "born", f"{1900 + i}-05-{1 + i % 28:02d}"),
        (i, "height", notation(150 + i / 2)),
        (i, "sex", "mf"[i % 2]),
    ]


def opinions_of(source, target, links=(), **more):
    sides = (
        said_graph([""] * (1 + max(i for i, _, _ in values)), values, prefix)
        for values, prefix in ((source, "s"), (target, "t"))
    )
    opinions = AttributeOpinions(said_task(*sides, links, **more))
    opinions.learn(NONE)
    return opinions


def everyone(notation=str):
    return [value for i in range(N) for value in person(i, notation)]


def test_all_values_equal_in_any_notation_settle_a_pair():
    opinions = opinions_of(everyone(), everyone("{:.3f}".format))
    assert {frozenset(pair.ends) for pair in opinions.aligned} and len(opinions.aligned) >= 2
    assert opinions.settled_pairs.tolist() == [[i, i] for i in range(N)]
    assert set(zip(*(ends.tolist() for ends in opinions.found.ends), strict=True)) == {(i, i) for i in range(N)}
    assert (opinions.found.value == 1).all() and (opinions.log_odds(np.arange(N), np.arange(N)) > 0).all()


def test_who_differs_in_a_value_or_has_a_twin_looks_among_all():
    source, target = everyone(), everyone()
    target = [value for value in target if value[:2] != (4, "height")] + [(4, "height", "99")]
    source += [(N, *value[1:]) for value in person(7)]  # a twin of 7
    opinions = opinions_of(source, target)
    settled = set(map(tuple, opinions.settled_pairs.tolist()))
    assert settled == {(i, i) for i in range(N)} - {(4, 4), (7, 7)}
    found = set(zip(*(ends.tolist() for ends in opinions.found.ends), strict=True))
    assert settled | {(4, 4), (7, 7), (N, 7)} <= found
    looking = [{4, 7, N}, {4, 7}]
    assert all(pair in settled or pair[0] in looking[0] or pair[1] in looking[1] for pair in found)


def test_predicates_that_are_compared_with_several_count_as_one():
    """The targets say it by two predicates, half of them by the first."""
    source = [(i, "born", f"{1900 + i}-05-01") for i in range(N)]
    target = [(i, "birth" if i % 2 else "birthDate", f"{1900 + i}-05-01") for i in range(N)]
    opinions = opinions_of(source, target)
    assert len(opinions.aligned) == 2 and opinions.settled_pairs.tolist() == [[i, i] for i in range(N)]


def test_a_value_that_all_have_settles_nobody():
    assert len(opinions_of([(i, "sex", "mf"[i % 2]) for i in range(N)], everyone()).settled_pairs) == 0


def test_rejected_pairs_and_links_contradict_equal_values():
    rejected = opinions_of(everyone(), everyone(), rejected=np.array([[3, 3]]))
    assert len(rejected.settled_pairs) == N - 1 and not rejected.settled[0][3]
    links = [(i, i) for i in range(22)]
    assert len(opinions_of(everyone(), everyone(), links).settled_pairs) == N
    wrong = [*links[2:], (0, 1), (1, 0)]
    assert len(opinions_of(everyone(), everyone(), wrong).settled_pairs) == 0
