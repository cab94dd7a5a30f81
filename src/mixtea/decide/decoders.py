"""Decoders: from scored candidate pairs to a ranking of each row's candidates. All are linear in the pairs.

Sources that lost the assignment get fallback targets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import Tensor

from mixtea.compute.arrays import as_numpy
from mixtea.compute.memory import FEWER_PAIRS, enough_memory
from mixtea.compute.nearest import nearest
from mixtea.compute.scored_pairs import Array, ScoredPairs, rank_within
from mixtea.config import Config
from mixtea.council.opinions import csls
from mixtea.decide.assignment import assign

ASSIGNED_BONUS = 1000.0  # added to the score of an assigned pair: far above any logarithm of a belief
MIN_LOG = -60.0
NEAREST_PER_ROUND = 16  # fallback targets per source
MAX_ROUNDS = 10  # then the rest take what is left, in the order of the files
Rejected = set[tuple[int, int]]


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


def fallback_targets(
    vectors: tuple[Tensor, Tensor], sources: np.ndarray, targets: np.ndarray, rejected: Rejected, config: Config
) -> np.ndarray:
    """Return int64 [s]: for each of the sources one of the targets, each once, -1 where there are too few.

    In each round, the nearest pairs by the student's `vectors` of both graphs come first. Rejected pairs are left out.
    Memory is linear in the number of sources.
    """
    found = np.full(len(sources), -1, dtype=np.int64)
    waiting, engine = np.arange(len(sources)), "auto" if config.search == "exact" else config.search
    for _ in range(MAX_ROUNDS):
        if not len(waiting) or not len(targets):
            return found
        ours, theirs = vectors[0][sources[waiting]], vectors[1][targets]
        near, place = nearest(ours, theirs, NEAREST_PER_ROUND, config.metric, engine=engine, mib=config.block_mib)
        _take_best(found, waiting, sources, targets[as_numpy(place)], as_numpy(near.double()), rejected)
        waiting, targets = waiting[found[waiting] < 0], np.setdiff1d(targets, found)
    _take_any(found, waiting, sources, targets.tolist(), rejected)
    return found


def _take_best(
    found: np.ndarray, waiting: np.ndarray, sources: np.ndarray, target: np.ndarray, near: np.ndarray,
    rejected: Rejected,
) -> None:  # fmt: skip
    """Give each waiting source the first of its targets [w, k] that is free, the nearest pairs first."""
    taken: set[int] = set()
    for place in np.argsort(-near, axis=None, kind="stable").tolist():
        row, column = waiting[place // target.shape[1]], int(target.flat[place])
        if found[row] < 0 and column not in taken and (int(sources[row]), column) not in rejected:
            found[row] = column
            taken.add(column)


def _take_any(
    found: np.ndarray, waiting: np.ndarray, sources: np.ndarray, targets: list[int], rejected: Rejected
) -> None:
    """Give each waiting source a target that was not rejected for it, as long as there are any."""
    targets = targets[::-1]
    for row in waiting:
        fits = (i for i in reversed(range(len(targets))) if (int(sources[row]), targets[i]) not in rejected)
        place = next(fits, None)
        if place is not None:
            found[row] = targets.pop(place)
