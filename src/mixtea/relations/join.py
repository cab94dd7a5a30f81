"""Join triples of two graphs on matched subjects and objects, weighted by match probability. No torch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TRIPLES_PER_BLOCK = 1_000_000  # statements of the source graph looked up at a time


class WeightedPairs(NamedTuple):
    """Pairs of indices of either side, sorted by source, and the belief in each."""

    source: np.ndarray
    target: np.ndarray
    belief: np.ndarray

    @classmethod
    def of(cls, source: np.ndarray, target: np.ndarray, belief: np.ndarray) -> WeightedPairs:
        """Sort pairs by source."""
        order = np.argsort(source, kind="stable")
        return cls(source[order].astype(np.int64), target[order].astype(np.int64), belief[order].astype(np.float64))

    def matched(self, side: str, things: np.ndarray) -> np.ndarray:
        """Return the belief, at most 1, that each of the `things` of a side ("source" or "target") is in some pair."""
        ends = getattr(self, side)
        n = 1 + max(int(numbers.max(initial=0)) for numbers in (ends, things))
        return np.minimum(np.bincount(ends, self.belief, minlength=n), 1)[things]


def join_triples(
    ours: tuple[np.ndarray, np.ndarray], theirs: tuple[np.ndarray, np.ndarray], near: WeightedPairs, far: WeightedPairs
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (i, j, weight): the triples i of ours and j of theirs with subjects in `near` and objects in `far`.

    Triples are given by their two ends. The weight is the product of the beliefs in both pairs.
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
