"""What is known of pairs after training, as plain arrays: what explanations are made of. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class KnownPairs:
    """Candidates by numbers in their own graphs, how likely each is thought to be, and each opinion's score of it."""

    source: np.ndarray
    target: np.ndarray
    belief: np.ndarray
    scores: Mapping[str, np.ndarray]

    def score_of(self, opinion: str, source: int, target: int) -> float | None:
        """The score of a pair; None where the opinion, or the pair, is not there."""
        found = self.weight_of(opinion, source, target)
        return None if found is None or np.isnan(found) else found

    def weight_of(self, opinion: str, source: int, target: int) -> float | None:
        """The score of a pair, NaN where it is no stored candidate, so that nobody knows it; None for no opinion."""
        if opinion not in self.scores:
            return None
        place = np.flatnonzero((self.source == source) & (self.target == target))
        if not len(place):
            return float("nan")
        score = float(self.scores[opinion][place[0]])
        return None if np.isnan(score) else score
