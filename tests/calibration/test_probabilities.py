"""Probabilities of pairs: consistent sums, the mapping that takes the likeliest, and sources with several links."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import oracle
import pytest
import torch
from conftest import SMALL_BEST, WORDS
from hypothesis import given
from hypothesis import strategies as st

from mixtea import MixTEA, Task
from mixtea.calibration.probabilities import MIN_SEVERAL_SHARE, PairProbabilities, cap_sums
from mixtea.compute.matching import match_greedily
from mixtea.compute.scored_pairs import ScoredPairs, pairs_of_keys
from mixtea.decide.mapping import FURTHER_TARGET
from mixtea.graph.graph import Graph
from mixtea.graph.labels import Labels

TIED = 40  # sources with two targets that look alike
N = 5  # entities of either side
SHARES = st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 1.0])  # equal ones too


@st.composite
def pairs(draw):
    """(source, target, probability) of some pairs of N sources and N targets, each once."""
    keys = sorted(draw(st.sets(st.integers(0, N * N - 1), max_size=N * N)))
    probability = draw(st.lists(SHARES, min_size=len(keys), max_size=len(keys)))
    key = np.array(keys, dtype=np.int64)
    return pairs_of_keys(key, (N, N), ascending=True), np.array(probability)


def chosen_of(pairs, probability):
    kept = pairs.where(match_greedily(pairs, probability))
    return set(zip(kept.source.tolist(), kept.target.tolist(), strict=True))


@pytest.mark.parametrize(("belief", "several"), [((0.9, 0.1), False), ((0.1, 0.9), False), ((0.9, 0.1), True)])
def test_belief_tells_candidates_apart_as_far_as_validation_links_bear_it_out(belief, several):
    """The first of two equally likely targets is right, which the first half of the sources shows."""
    source = np.arange(TIED).repeat(2)
    target, rows = np.arange(2 * TIED), np.arange(TIED)
    links = np.stack([rows, 2 * rows], axis=1)[: TIED // 2]
    pairs = SimpleNamespace(
        candidates=ScoredPairs(source, target, (TIED, 2 * TIED)), given=None, recalibration=np.zeros((2, 3)),
        source=source, target=target, shape=(TIED, 2 * TIED), source_index=rows, task=SimpleNamespace(valid=links),
        decoded=SimpleNamespace(opinions=SimpleNamespace(belief=torch.tensor(belief).repeat(TIED))),
    )  # fmt: skip
    p = PairProbabilities._recalibrated(pairs, np.full(2 * TIED, 0.45), np.full(TIED, 0.9), several)
    right, wrong = p.reshape(TIED, 2)[TIED // 2 :].T
    if several:
        assert right == pytest.approx(wrong)
    elif belief[0] > belief[1]:
        assert (right > 0.6).all() and (right + wrong <= 0.9 + 1e-9).all()
    else:  # a belief that is wrong counts less than it would without links
        assert (wrong < 0.6).all()


@given(pairs())
def test_the_likeliest_pair_is_taken_again_and_again(found):
    (source, target), p = found[0].ends, found[1]
    by_hand = dict(zip(zip(source.tolist(), target.tolist(), strict=True), p.tolist(), strict=True))
    assert chosen_of(*found) == oracle.greedy_matching(by_hand)


@given(pairs())
def test_no_end_is_taken_twice_and_no_likelier_alternative_is_free(found):
    (source, target), p = found[0].ends, found[1]
    kept = match_greedily(*found)
    of_source, of_target = np.zeros(N), np.zeros(N)
    for line, best in ((source, of_source), (target, of_target)):
        assert len(np.unique(line[kept])) == kept.sum()
        best[line[kept]] = p[kept]
    assert (p <= np.maximum(of_source[source], of_target[target])).all()


@given(pairs(), st.data())
def test_more_evidence_never_unmaps_a_pair(found, data):
    found, p = found
    before = np.flatnonzero(match_greedily(found, p))
    if len(before):
        place = data.draw(st.sampled_from(before.tolist()))
        more = p.copy()
        more[place] = data.draw(st.floats(p[place], 1))
        assert match_greedily(found, more)[place]


@given(pairs(), st.lists(SHARES, min_size=N, max_size=N))
def test_those_of_a_line_add_up_to_its_total_at_most(found, total):
    (line, _), p = found[0].ends, found[1]
    total = np.array(total)
    kept = cap_sums(line, p, total)
    assert (kept >= 0).all() and (kept <= p + 1e-12).all()
    assert (np.bincount(line, kept, minlength=N) <= total + 1e-9).all()
    fits = np.bincount(line, p, minlength=N) <= total
    assert kept[fits[line]] == pytest.approx(p[fits[line]])
    for entity in range(N):  # the greatest is lowered last, and stays the greatest
        here = line == entity
        if here.any():
            assert kept[here].max() == pytest.approx(min(p[here].max(), total[entity]))


@given(pairs(), st.data())
def test_a_larger_probability_is_never_lowered_to_less(found, data):
    (line, _), p = found[0].ends, found[1]
    if len(p):
        place = data.draw(st.integers(0, len(p) - 1))
        more = p.copy()
        more[place] = data.draw(st.floats(p[place], 1))
        total = np.ones(N)
        assert cap_sums(line, more, total)[place] >= cap_sums(line, p, total)[place] - 1e-12


@given(pairs())
def test_of_both_ends_at_once(found):
    (source, target), p = found[0].ends, found[1]
    total = np.ones(N)
    kept = cap_sums(target, cap_sums(source, p, total), total)
    for line in (source, target):
        assert (np.bincount(line, kept, minlength=N) <= 1 + 1e-9).all()


@pytest.fixture(scope="module")
def named() -> Task:
    """120 entities on either side in a ring, with a name of two words that one other shares a word with; 100 links."""
    n, words = 120, WORDS.split()
    names = [f"{words[i % 20]} {words[(7 * i + i // 20) % 20]} {i % 9}" for i in range(n)]
    triples = np.array([[i, 0, (i + 1) % n] for i in range(n)] + [[i, 1, (i * 7 + 3) % n] for i in range(n)])
    source, target = (
        Graph(
            np.array([f"{side}{i}" for i in range(n)], dtype=object), np.array(["r", "q"], dtype=object), triples,
            labels=Labels.of_entities(np.arange(n), names).as_set(),
        )
        for side in "st"
    )  # fmt: skip
    links = np.stack([np.arange(n)] * 2, axis=1)
    return Task.of_two("named", source, target, links[:80], links[80:100], links[100:])


@pytest.fixture(scope="module")
def plain(named):
    return MixTEA(**SMALL_BEST).fit(named)


def test_probabilities_of_a_training_are_consistent(plain, named):
    pairs = plain._predictor(plain.config).pairs
    for line in (pairs.source, pairs.target):
        assert np.bincount(line, pairs.probability).max() <= 1 + 1e-6
    sums = np.bincount(pairs.source, pairs.probability, minlength=named.source.n_entities)[pairs.source_index]
    assert (sums <= pairs.counterpart + 1e-6).all() and pairs.probability.min() >= 0
    shared = plain._predictor(plain.config, once=False).pairs
    assert np.bincount(shared.source, shared.probability).max() <= 1 + 1e-6


def test_a_few_sources_with_several_links_change_nothing_for_the_others(plain, named):
    """s3 has two further links, to targets that nobody else has: the answers about the others are the same."""
    extra = np.array([[3, 118], [3, 119]])
    task = named.replace(train=np.concatenate([named.train, extra]))
    assert task.multi_target_sources.tolist() == [3] and 0 < task.multi_target_share < MIN_SEVERAL_SHARE
    assert set(task.closed_entities(0)) == set(named.closed_entities(0)) - {3}
    before = plain.map().to_frame().set_index("source")
    after = MixTEA(**SMALL_BEST).fit(task).map().to_frame().set_index("source")
    others = before.index.difference(["s118", "s119"])
    assert after.loc[others, "target"].equals(before.loc[others, "target"]) and before["target"].notna().all()
    assert after.loc[others, "decision"].equals(before.loc[others, "decision"])
    assert after.loc[others, "probability"].to_numpy() == pytest.approx(before.loc[others, "probability"], abs=0.1)
    assert not (after["decision"].drop("s3", errors="ignore") == FURTHER_TARGET).any()


def test_how_likely_a_source_has_several_is_its_own(plain, named):
    few = named.replace(train=np.concatenate([named.train, [[3, 118]]]))
    many = named.replace(train=np.concatenate([named.train, [[i, 100 + i] for i in range(10)]]))
    share = {name: pairs_of(plain, task)._share_of_several() for name, task in (("few", few), ("many", many))}
    assert np.flatnonzero(share["few"]).tolist() == [3] and share["few"][3] > 0.5
    assert share["many"][50] == pytest.approx(0.1) and (share["many"][:10] == share["few"][3]).all()


def pairs_of(aligner, task):
    """The pairs of an aligner, as if it had learned from another task."""
    found = aligner._predictor(aligner.config).pairs
    return type(found)(task, found.decoded, found.last, found.source_index)
