"""Belief propagation equals all matchings counted one by one where pairs form a tree, and is near it elsewhere."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixtea.compute.matching import matching, shift_for_total
from mixtea.compute.scored_pairs import ScoredPairs

PATH = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)]
STAR_OF_SOURCES = [(0, 0), (1, 0), (2, 0), (3, 0)]
STAR_OF_TARGETS = [(0, 0), (0, 1), (0, 2), (0, 3)]
TWO_TREES = [(0, 0), (0, 1), (2, 1), (1, 2), (3, 2), (3, 3)]
SQUARE = [(0, 0), (0, 1), (1, 0), (1, 1)]
EVERY = [(s, t) for s in range(3) for t in range(3)]
ODD_RING = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 0), (2, 3)]
log_odds = st.floats(-12, 12)


def made(pairs, shape=(4, 4)):
    return ScoredPairs.of(np.array(pairs, dtype=np.int64).reshape(-1, 2), shape)


def found(pairs, values, several=(), **more):
    """Probabilities of pairs between four sources and four targets."""
    free = np.isin(np.arange(4), list(several)) if several else None
    return matching(made(pairs), np.array(values, dtype=float), several=free, **more).probability


def sums(pairs, values, side):
    return np.bincount([pair[side] for pair in pairs], values, minlength=4)


@pytest.mark.parametrize("pairs", [PATH, STAR_OF_SOURCES, STAR_OF_TARGETS, TWO_TREES, [(2, 3)]])
@given(values=st.lists(log_odds, min_size=6, max_size=6))
def test_on_trees_it_is_exact(pairs, values):
    values = values[: len(pairs)]
    assert found(pairs, values) == pytest.approx(oracle.matching(pairs, values), abs=1e-3)


def test_a_single_pair_has_the_probability_of_its_log_odds():
    assert found([(1, 2)], [0.0]) == pytest.approx([0.5]) and found([(1, 2)], [2.0]) == pytest.approx([0.880797])
    assert found([], []).shape == (0,)


@pytest.mark.parametrize("pairs", [STAR_OF_SOURCES, STAR_OF_TARGETS])
def test_rivals_of_one_entity_share_what_being_unmatched_leaves(pairs):
    """1, e, e^2 and e^-1 beside 1 for nobody, seen from the one end and from the other."""
    weight = np.exp([0.0, 1.0, 2.0, -1.0])
    assert found(pairs, [0.0, 1.0, 2.0, -1.0]) == pytest.approx(weight / (1 + weight.sum()), abs=1e-4)


@pytest.mark.parametrize("pairs", [SQUARE, EVERY, ODD_RING])
@pytest.mark.parametrize("spread", [1, 2, 4])
def test_where_pairs_form_rings_it_is_close(pairs, spread):
    drawn = np.random.default_rng(1).normal(0, spread, (60, len(pairs)))
    error = [np.abs(found(pairs, values) - oracle.matching(pairs, values)) for values in drawn]
    assert np.mean(error) < 0.01 and np.max(error) < 0.2


def test_a_pair_that_others_leave_free_is_likelier_than_by_its_own_log_odds():
    """s1 is wanted by t1 alone, s0 by both: s0 goes to t0 so that both are matched."""
    tied = found([(0, 0), (0, 1), (1, 1)], [3.0, 3.0, 3.0])
    assert tied[0] == pytest.approx(tied[2], abs=1e-4) and tied[0] > 0.9 > 0.05 > tied[1]


@pytest.mark.parametrize("pairs", [PATH, STAR_OF_TARGETS, [(0, 0), (0, 1), (1, 1), (2, 1), (2, 2)]])
@given(values=st.lists(log_odds, min_size=5, max_size=5))
def test_a_source_with_several_targets_has_no_limit(pairs, values):
    values = values[: len(pairs)]
    by_loop = oracle.matching(pairs, values, several={0})
    assert found(pairs, values, several={0}) == pytest.approx(by_loop, abs=1e-3)
    if pairs is STAR_OF_TARGETS:  # nobody else wants its targets: each pair is on its own
        assert by_loop == pytest.approx(1 / (1 + np.exp(-np.array(values))))


@st.composite
def candidate_pairs(draw):
    """Some pairs of four sources and four targets, each once, with log-odds."""
    pairs = sorted(draw(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1)))
    return pairs, draw(st.lists(st.floats(-300, 300), min_size=len(pairs), max_size=len(pairs)))


@given(candidate_pairs(), st.sets(st.integers(0, 3)), st.integers(1, 60))
def test_probabilities_of_an_entity_add_up_to_one_at_most(drawn, several, rounds):
    """However large the log-odds, and whether or not messages are final."""
    pairs, values = drawn
    p = found(pairs, values, several, rounds=rounds)
    assert ((p >= 0) & (p <= 1)).all() and (sums(pairs, p, 1) <= 1 + 1e-9).all()
    assert (np.delete(sums(pairs, p, 0), sorted(several)) <= 1 + 1e-9).all()


@given(candidate_pairs(), st.data(), st.floats(0, 5))
def test_a_larger_log_odds_never_lowers_the_probability_of_its_pair(drawn, data, more):
    pairs, values = drawn
    values = np.clip(values, -8, 8)
    place = data.draw(st.integers(0, len(pairs) - 1))
    larger = values + more * (np.arange(len(pairs)) == place)
    assert found(pairs, larger)[place] >= found(pairs, values)[place] - 1e-3


def test_messages_to_begin_with_change_the_way_and_not_the_end():
    pairs = made(EVERY, (3, 3))
    values = np.random.default_rng(1).normal(0, 3, 9)
    first = matching(pairs, values)
    again = matching(pairs, values + 0.5, start=first.messages)
    assert again.probability == pytest.approx(matching(pairs, values + 0.5).probability, abs=1e-3)


@given(candidate_pairs(), st.floats(0.05, 0.95))
def test_the_shift_reaches_the_total(drawn, share):
    """Between nothing and as many as the greatest shift comes to."""
    pairs, values = made(drawn[0]), np.clip(drawn[1], -5, 5)
    most = matching(pairs, values + 8.0).probability.sum()
    shift, after = shift_for_total(pairs, values, share * most)
    assert after.probability.sum() == pytest.approx(share * most, abs=0.02 * len(pairs))
    assert matching(pairs, values + shift).probability == pytest.approx(after.probability, abs=2e-3)


def test_a_total_out_of_reach_ends_at_the_bounds():
    pairs = made([(0, 0), (1, 1)], (2, 2))
    shift, after = shift_for_total(pairs, np.zeros(2), 2.0)
    assert shift == 8.0 and after.probability.sum() == pytest.approx(2 / (1 + np.exp(-8)))
    shift, after = shift_for_total(pairs, np.zeros(2), 0.0, bounds=(-3.0, 8.0))
    assert shift == pytest.approx(-3.0, abs=0.02)
    assert shift_for_total(made([]), np.empty(0), 1.0)[0] == 8.0


def test_the_shift_adds_up_the_pairs_that_count():
    """Two of four pairs that are no rivals count; those two come to the total, and all four are shifted alike."""
    pairs = made([(i, i) for i in range(4)])
    counts = np.array([True, False, True, False])
    _, after = shift_for_total(pairs, np.zeros(4), 1.5, counts=counts)
    assert after.probability == pytest.approx([0.75] * 4, abs=0.01)


@pytest.mark.parametrize("several", [False, True])
def test_pairs_that_are_hardly_possible_change_nothing_for_the_others(several, monkeypatch):
    """They are left out of the sums, and have a probability all the same."""
    drawn = np.random.default_rng(3)
    key = np.unique(drawn.integers(0, 200 * 150, 2000))
    pairs = ScoredPairs.of((key // 150, key % 150), (200, 150))
    odds = np.where(drawn.random(len(key)) < 0.1, drawn.normal(1, 3, len(key)), drawn.uniform(-60, -5, len(key)))
    free = drawn.random(200) < 0.2 if several else None
    sparse = matching(pairs, odds, several=free)
    monkeypatch.setattr("mixtea.compute.matching.MAX_COUNTED_SHARE", 0.0)
    dense = matching(pairs, odds, several=free)
    assert (np.exp(odds) < 1e-9).mean() > 0.3
    np.testing.assert_allclose(sparse.probability, dense.probability, atol=2e-4, rtol=2e-3)
    again = matching(pairs, odds + 0.1, several=free, start=sparse.messages)
    assert np.abs(again.probability - matching(pairs, odds + 0.1, several=free).probability).max() < 1e-3
