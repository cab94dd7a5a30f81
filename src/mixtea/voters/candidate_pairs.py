"""Candidate pairs with features, and look-ups among them. No torch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

CLEAR_SIMILARITY = 0.65  # of a clear match that is ahead of its rivals


class Feature(NamedTuple):
    """A column of numbers per pair: its typical weight, and how far links may move it (standard deviation)."""

    name: str
    weight: float
    spread: float


class CandidatePairs(NamedTuple):
    """Candidate pairs between `n_comparable` entities of each side: their similarity, and their features [p, f].

    From `clear_similarity` on a pair that is ahead of its rivals is a clear match.
    """

    source: np.ndarray
    target: np.ndarray
    similarity: np.ndarray
    columns: np.ndarray
    shape: tuple[int, int]
    n_comparable: tuple[int, int]
    clear_similarity: float = CLEAR_SIMILARITY

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self.source, self.target


def look_up(
    wanted: tuple[np.ndarray, np.ndarray], ends: tuple[np.ndarray, np.ndarray], value: np.ndarray, m: int,
    missing: float,
) -> np.ndarray:  # fmt: skip
    """Look up the value [p] of wanted pairs among those with these `ends` [p]; `missing` for those not among them."""
    key, wanted_key = ends[0] * m + ends[1], wanted[0] * m + wanted[1]
    order = np.argsort(key)
    if not len(key):
        return np.full(len(wanted_key), missing)
    place = order[np.minimum(np.searchsorted(key[order], wanted_key), len(key) - 1)]
    return np.where(key[place] == wanted_key, value[place], missing)


def are_links(source: np.ndarray, target: np.ndarray, links: np.ndarray, m: int) -> np.ndarray:
    """Return per pair whether it is one of the links [p, 2]."""
    return np.isin(source * m + target, links[:, 0] * m + links[:, 1])


def best_rival(line: np.ndarray, value: np.ndarray, n: int) -> np.ndarray:
    """Return per pair the greatest value of another one in its line; 0 if there is none."""
    best: np.ndarray = np.zeros(n)
    np.maximum.at(best, line, value)
    is_best = value >= best[line]
    alone = np.bincount(line[is_best], minlength=n) == 1
    second: np.ndarray = np.zeros(n)
    np.maximum.at(second, line[~is_best], value[~is_best])
    return np.where(is_best & alone[line], second[line], best[line])
