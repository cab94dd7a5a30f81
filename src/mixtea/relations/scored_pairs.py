"""Candidate pairs with beliefs and scores as plain arrays, which explanations are made of. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Candidates by entity indices, the belief in each, and its score by each opinion."""

    source: np.ndarray
    target: np.ndarray
    belief: np.ndarray
    scores: Mapping[str, np.ndarray]

    def score_of(self, opinion: str, source: int, target: int) -> float | None:
        """Return the score of a pair; None where the opinion or the pair is missing."""
        found = self.weight_of(opinion, source, target)
        return None if found is None or np.isnan(found) else found

    def weight_of(self, opinion: str, source: int, target: int) -> float | None:
        """Return the score of a pair, NaN where it is not a stored candidate; None without an opinion."""
        if opinion not in self.scores:
            return None
        rows = self._rows_of(source)
        place = rows[self.target[rows] == target]
        if not len(place):
            return float("nan")
        score = float(self.scores[opinion][place[0]])
        return None if np.isnan(score) else score

    def _rows_of(self, source: int) -> np.ndarray:
        order, sources = self._by_source
        first, last = np.searchsorted(sources, [source, source + 1])
        return order[first:last]

    @cached_property
    def _by_source(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.source, kind="stable")
        return order, self.source[order]
