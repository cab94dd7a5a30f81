"""Join triples of two graphs on matched subjects and objects, weighted by match probability. No torch."""

from __future__ import annotations

import numpy as np

from mixtea.compute.scored_pairs import ScoredPairs

TRIPLES_PER_BLOCK = 1_000_000  # statements of the source graph looked up at a time


def weighted_pairs(source: np.ndarray, target: np.ndarray, belief: np.ndarray) -> ScoredPairs:
    """Make pairs of things of either side, sorted by source, and the belief in each; some may be there twice."""
    order = np.argsort(source, kind="stable")
    ends = [end[order].astype(np.int64) for end in (source, target)]
    shape = (1 + int(ends[0].max(initial=-1)), 1 + int(ends[1].max(initial=-1)))
    return ScoredPairs(ends[0], ends[1], shape, {"belief": belief[order].astype(np.float64)})


def matched(pairs: ScoredPairs, side: int, things: np.ndarray) -> np.ndarray:
    """Return the belief, at most 1, that each of the `things` of a side (0 the source) is in some pair."""
    n = max(pairs.shape[side], 1 + int(things.max(initial=0)))
    return np.minimum(np.bincount(pairs.ends[side], pairs.belief, minlength=n), 1)[things]


def join_triples(
    ours: tuple[np.ndarray, np.ndarray], theirs: tuple[np.ndarray, np.ndarray], near: ScoredPairs, far: ScoredPairs
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (i, j, weight): the triples i of ours and j of theirs with subjects in `near` and objects in `far`.

    Triples are given by their two ends, pairs as `weighted_pairs` makes them. The weight is the product of the beliefs
    in both pairs.
    """
    width = 1 + max(int(ends.max(initial=0)) for ends in (theirs[1], far.target))
    order = np.argsort(theirs[0] * width + theirs[1], kind="stable")
    keys = (theirs[0] * width + theirs[1])[order]
    found = [(order[:0], order[:0], np.empty(0))]
    for begin in range(0, len(ours[0]), TRIPLES_PER_BLOCK):
        one, p = _equal_join(near.source, ours[0][begin : begin + TRIPLES_PER_BLOCK])
        again, q = _equal_join(far.source, ours[1][begin + one])
        one, p = begin + one[again], p[again]
        met, place = _equal_join(keys, near.target[p] * width + far.target[q])
        found.append((one[met], order[place], near.belief[p[met]] * far.belief[q[met]]))
    i, j, weight = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return i, j, weight


def _equal_join(keys: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all (i, j) with wanted[i] == keys[j]; the keys are sorted."""
    first, last = (np.searchsorted(keys, wanted, side) for side in ("left", "right"))
    count = last - first
    i = np.repeat(np.arange(len(wanted)), count)
    return i, np.arange(len(i)) - np.repeat(np.cumsum(count) - count - first, count)
