"""Pairs that equal names single out look for nothing else, unless something contradicts them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import WORDS, _two_words, said_graph, said_task

from mixtea.compute.scored_pairs import rank_within
from mixtea.graph.labels import Labels
from mixtea.voters import similarity
from mixtea.voters.candidate_pairs import estimate_matched
from mixtea.voters.names import NameOpinions
from mixtea.voters.similarity import CANDIDATES_PER_ENTITY

N = 40
NAMES = [_two_words(i, WORDS) for i in range(N)]
ALIKE = [f"{name[:-1]}x" for name in NAMES]


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch):
    monkeypatch.setattr(similarity, "MIN_SETTLED", 2)
    monkeypatch.setattr(similarity, "MIN_LINKS_SETTLED", 0)


def opinions_of(source, target, links=(), **more):
    return NameOpinions(said_task(said_graph(source, prefix="s"), said_graph(target, prefix="t"), links, **more))


def settled(opinions):
    return set(map(tuple, opinions.index.settled_pairs.tolist()))


def found(opinions):
    return set(zip(*(ends.tolist() for ends in opinions.found.ends), strict=True))


def test_whoever_has_a_name_of_its_own_on_both_sides_is_settled():
    opinions = opinions_of([*NAMES[:4], "Oslo", "Oslo"], [*NAMES[1:5], "Oslo"])
    assert settled(opinions) == {(1, 0), (2, 1), (3, 2)}
    assert [of.tolist() for of in opinions.index.settled] == [[False, True, True, True, False, False],
                                                             [True, True, True, False, False]]  # fmt: skip


def test_who_is_settled_looks_for_nothing_else_and_is_found_by_others():
    opinions = opinions_of([*NAMES[:4], ALIKE[3]], [*NAMES[:4], ALIKE[2]])
    assert settled(opinions) == {(i, i) for i in range(4)}
    pairs = found(opinions)
    assert {(4, 3), (2, 4)} <= pairs  # those that are not settled look among all
    assert all(s == t or s == 4 or t == 4 for s, t in pairs)


def test_those_who_look_find_what_they_would_find_if_nobody_were_settled(monkeypatch):
    source, target = [*NAMES, *ALIKE[:9]], [*NAMES[::-1], *ALIKE[5:20]]
    some = opinions_of(source, target)
    monkeypatch.setattr(similarity, "MIN_SETTLED", 10**6)
    every = opinions_of(source, target)
    assert len(settled(some)) > 20 and not settled(every) and len(found(some)) < len(found(every))
    similar, whole = some.index.similar, every.index.similar
    there = set(zip(similar.first.tolist(), similar.second.tolist(), strict=True))
    for line, texts in zip((whole.first, whole.second), some.index.looking, strict=True):
        assert 0 < len(texts) < 20
        best = np.isin(line, texts) & (rank_within(line, whole.product) < CANDIDATES_PER_ENTITY)
        assert set(zip(whole.first[best].tolist(), whole.second[best].tolist(), strict=True)) <= there


def test_several_names_settle_only_if_all_lead_to_the_same_pair():
    labels = Labels.from_columns([0, 0, 1, 2], ["Oslo", "Kristiania", "Bergen", "Rome"]).as_set()
    source = replace(said_graph([""] * 3, prefix="s"), labels=labels)
    for names, wanted in (
        (["Kristiania", "Bergen", "Rome"], {(0, 0), (1, 1), (2, 2)}),
        (["Kristiania", "Oslo", "Rome", "Bergen"], {(2, 2), (1, 3)}),
        (["Kristiania", "Rome", "Bergen", "Oslo", "Oslo"], {(1, 2), (2, 1)}),
    ):
        assert settled(NameOpinions(said_task(source, said_graph(names, prefix="t")))) == wanted


def test_other_words_in_brackets_and_rejections_contradict_an_equal_name():
    source, target = ["Ulysses (film)", *NAMES[:5]], ["Ulysses (album)", *NAMES[:5]]
    assert settled(opinions_of(source, target)) == {(i, i) for i in range(1, 6)}
    rejected = opinions_of(source, target, rejected=np.array([[2, 2], [3, 1]]))
    assert settled(rejected) == {(4, 4), (5, 5)}


def test_nobody_is_settled_unless_links_show_that_equal_names_are_right(monkeypatch):
    links = [(i, i) for i in range(10)]
    assert not settled(opinions_of(NAMES, NAMES, [*links[2:], (0, 1), (1, 0)]))
    monkeypatch.setattr(similarity, "MIN_LINKS_SETTLED", 10)
    assert len(settled(opinions_of(NAMES, NAMES, links))) == N
    assert not settled(opinions_of(NAMES, NAMES, links[1:])) and not settled(opinions_of(NAMES, NAMES))


def test_few_pairs_are_not_worth_it(monkeypatch):
    monkeypatch.setattr(similarity, "MIN_SETTLED", N + 1)
    assert not settled(opinions_of(NAMES, NAMES)) and len(settled(opinions_of(NAMES + ALIKE, NAMES + ALIKE))) == 2 * N


def test_settled_entities_count_as_matched():
    """Forty are settled, forty have nobody, and what these look like says nothing about the others."""
    strangers = ["".join(np.random.default_rng(i).permutation(list("abcdefghijklm"))[:8]) for i in range(N)]
    opinions = opinions_of([*NAMES, *strangers], NAMES)
    assert opinions.candidates.settled is not None and opinions.candidates.settled[0].sum() == N
    n_matched, _, _ = estimate_matched(opinions.candidates, 20 * opinions.candidates.similarity)
    assert n_matched == pytest.approx(0.99 * N, abs=1)
    assert (opinions.log_odds(np.arange(N), np.arange(N)) > 3).all()
