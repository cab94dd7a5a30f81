"""What structure is worth, learned from pairs that text is sure of: small squares of pairs, written as matrices."""

from __future__ import annotations

import numpy as np
import pytest

from mixtea.calibration.structure_evidence import StructureEvidence
from mixtea.compute.scored_pairs import rank_within

N = 60
SAME = np.eye(N, dtype=bool)


def evidence(scores, by_text, text=None):
    """Of all pairs of n sources and n targets, by matrices [n, n]."""
    n = len(by_text)
    text = np.log(np.clip(by_text, 1e-6, 1 - 1e-6)) if text is None else text
    parts = (np.asarray(part, dtype=float) for part in (text, by_text))
    scores = np.asarray(scores, dtype=float).reshape(n * n, -1)
    text, by_text = (part.ravel() for part in parts)
    source, target = np.indices((n, n)).reshape(2, -1)
    rank = np.maximum(rank_within(source, text), rank_within(target, text))
    return StructureEvidence(source, target, (n, n), {"structure": scores, "rank": rank, "probability": by_text})


def sure_of(k):
    """Text is sure of the first k pairs, and finds a best partner for the others that it does not believe in."""
    return np.where(SAME, np.where(np.arange(N) < k, 0.99, 0.1)[:, None], 0.001)


def test_structure_is_worth_more_where_pairs_that_text_rules_out_lack_it():
    half = sure_of(N // 2)
    tells = evidence(np.where(half > 0.9, 0.8, np.where(SAME, 0.0, 0.3)), half).log_odds_of_similar().reshape(N, N)
    tells_nothing = evidence(np.where(SAME, 0.8, 0.3), half).log_odds_of_similar().reshape(N, N)
    difference = [odds[0, 0] - odds[-1, -1] for odds in (tells, tells_nothing)]
    assert difference[0] > 0.3 and difference[1] == pytest.approx(0)
    assert not evidence(np.where(SAME, 0.8, 0.3), sure_of(0)).log_odds_of_similar().any()  # with nothing sure


def test_structure_is_worth_the_more_the_more_pairs_are_sure():
    def gain(k):
        known = sure_of(k)[: 2 * k, : 2 * k]
        same, sure = SAME[: 2 * k, : 2 * k], known > 0.9
        return evidence(np.where(sure, 0.8, np.where(same, 0.0, 0.3)), known).log_odds_of_similar().max()

    assert gain(30) > gain(10) > gain(3) > 0


def test_structure_alone_finds_matches_where_it_finds_those_that_text_is_sure_of():
    """Of 60 sources text is sure of 40, of the others it knows nothing; 12 of these have a partner by structure."""
    by_text = np.where(SAME & (np.arange(N) < 40), 0.99, 1e-4)
    rng = np.random.default_rng(1)
    noise = 0.3 * rng.random((N, N))
    place, probability = evidence(np.where(SAME & (np.arange(N) < 52), 0.9, noise), by_text).matches_by_structure()
    source, target = place // N, place % N
    likely = probability > 0.5
    assert set(source[likely].tolist()) == set(range(40, 52)) and (source == target)[likely].all()
    assert (probability[source >= 52] < 0.5).all() and ((source >= 40) & (target >= 40)).all()


def test_structure_is_not_trusted_by_what_it_misses_but_by_what_it_finds():
    """Text is sure of 40 pairs; structure knows nothing of half of them, and is right or wrong about the others."""
    by_text = np.where(SAME & (np.arange(N) < 40), 0.99, 1e-4)
    tells = (np.arange(N) < 20) | (np.arange(N) >= 40)
    right = evidence(0.9 * (SAME & tells), by_text)
    wrong = evidence(0.9 * np.roll(SAME & tells, N // 2, axis=1), by_text)  # known sources with unknown targets
    assert right.trust > 0.2 and wrong.trust == 0
    assert len(right.matches_by_structure()[0]) == 20 and not len(wrong.matches_by_structure()[0])


def test_structure_confirms_more_of_the_best_pairs_by_text_than_text_expects():
    """Text is sure of 40 of 60 pairs and finds the others best, without belief; structure finds three in four."""
    by_text = sure_of(40)
    found = SAME & (np.arange(N) % 4 > 0)
    every = evidence(0.9 * found, by_text)
    assert every.n_confirmed() == pytest.approx(every.trust * (20 - 20 * 0.1))  # 15 found of 3/4 means all 20
    none = evidence(0.9 * (found & (np.arange(N) < 40)), by_text)
    assert every.trust == none.trust == pytest.approx(0.5) and none.n_confirmed() == 0  # 30 found, 10 in addition


def test_what_structure_confirms_is_judged_by_the_least_sure_pairs():
    """Of 150 pairs 120 are sure; structure finds all of which text is surest, and half of the others."""
    n = np.arange(150)
    same = np.eye(150, dtype=bool)
    by_text = np.where(same, np.where(n < 20, 0.999, np.where(n < 120, 0.95, 0.1))[:, None], 0.001)
    found = evidence(0.9 * (same & ((n < 20) | (n % 2 == 0))), by_text)
    assert found.trust and found.n_confirmed() == pytest.approx(found.trust * (30 - 30 * 0.1))  # 15 found of a half


def test_structure_that_misses_what_text_is_sure_of_finds_nothing_alone():
    by_text = np.where(SAME & (np.arange(N) < 40), 0.99, 1e-4)
    rng = np.random.default_rng(2)
    for scores in (rng.random((N, N)), np.ones((N, N)), np.zeros((N, N)), np.empty((N, N, 0))):
        place, probability = evidence(scores, by_text).matches_by_structure()
        assert not len(place) or (probability < 0.5).all()


def test_twins_are_not_told_apart_by_structure_alone():
    """Each entity has a twin with the same scores, as siblings in a tree have."""
    by_text = np.where(SAME & (np.arange(N) < 40), 0.99, 1e-4)
    twins = np.kron(np.eye(N // 2), np.ones((2, 2))) * 0.9
    _, probability = evidence(twins, by_text).matches_by_structure()
    assert not (probability > 0.5).any()


def test_nothing_is_judged_without_pairs():
    nobody, nothing = np.empty(0, dtype=np.int64), np.empty(0)
    none = StructureEvidence(
        nobody, nobody, (3, 3), {"structure": np.empty((0, 2)), "rank": nobody, "probability": nothing}
    )
    assert none.log_odds_of_similar().shape == (0,) and not len(none.matches_by_structure()[0])
