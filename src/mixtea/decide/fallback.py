"""Greedy fallback targets for sources that lost the assignment."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from mixtea.compute.nearest import nearest
from mixtea.config import Config

NEAREST_PER_ROUND = 16  # targets per source
MAX_ROUNDS = 10  # then the rest take what is left, in the order of the files

Rejected = set[tuple[int, int]]


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
        _take_best(found, waiting, sources, targets[place.cpu().numpy()], near.double().cpu().numpy(), rejected)
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
