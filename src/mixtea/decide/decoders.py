"""Decoders: from scored candidate pairs to a ranking of each row's candidates. All are linear in the pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import Tensor

from mixtea.compute.memory import FEWER_PAIRS, enough_memory
from mixtea.compute.scored_pairs import Array, ScoredPairs, as_numpy, rank_within
from mixtea.council.normalise import csls
from mixtea.decide.assignment import assign

ASSIGNED_BONUS = 1000.0  # added to the score of an assigned pair: far above any logarithm of a belief
MIN_LOG = -60.0


@enough_memory(FEWER_PAIRS)
def decide(pairs: ScoredPairs, scores: Tensor, belief: Tensor, decoder: str) -> Tensor:
    """Compute a number per pair by which each row's candidates are ranked, greatest first, by one of DECODERS.

    All are rounded, so that twins tie whatever the order of the sums behind them.
    """
    return DECODERS[decoder](pairs, scores, belief)


def _nearest(pairs: ScoredPairs, scores: Tensor, belief: Tensor) -> Tensor:
    """Return the scores as they are."""
    return scores.round(decimals=6)


def _csls(pairs: ScoredPairs, scores: Tensor, belief: Tensor) -> Tensor:
    """Normalise the scores by both neighbourhoods."""
    return csls(pairs, scores).round(decimals=6)


def _sinkhorn(pairs: ScoredPairs, scores: Tensor, belief: Tensor) -> Tensor:
    """Return the logarithm of the belief."""
    return belief.log().clamp_(min=MIN_LOG).round(decimals=4)


def _one_to_one(pairs: ScoredPairs, scores: Tensor, belief: Tensor) -> Tensor:
    """Put the pairs of the best assignment first, in which every source and target occurs once."""
    ranking = _sinkhorn(pairs, scores, belief)
    return ranking + ASSIGNED_BONUS * assign(pairs, ranking)


DECODERS: dict[str, Callable[[ScoredPairs, Tensor, Tensor], Tensor]] = {
    "nearest": _nearest,
    "csls": _csls,
    "sinkhorn": _sinkhorn,
    "one_to_one": _one_to_one,
}


@enough_memory(FEWER_PAIRS)
def rank_top(pairs: ScoredPairs, ranking: Array, k: int) -> np.ndarray:
    """Return int64 [n, k]: the places of each row's k best pairs, best first, -1 where a row has fewer."""
    pairs = pairs.numpy()
    rank = rank_within(pairs.source, as_numpy(ranking))
    kept = np.flatnonzero(rank < k)
    out = np.full((pairs.shape[0], k), -1)
    out[pairs.source[kept], rank[kept]] = kept
    return out
