"""Candidate pairs with features. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mixtea.compute.scored_pairs import ScoredPairs

CLEAR_SIMILARITY = 0.65  # of a clear match that is ahead of its rivals


class Feature(NamedTuple):
    """A column of numbers per pair: its typical weight, and how far links may move it (standard deviation)."""

    name: str
    weight: float
    spread: float


@dataclass(frozen=True, eq=False)
class CandidatePairs(ScoredPairs):
    """Candidate pairs between `n_comparable` entities of each side: their `similarity`, and their `features` [p, f].

    From `clear_similarity` on a pair that is ahead of its rivals is a clear match.
    """

    n_comparable: tuple[int, int] = (0, 0)
    clear_similarity: float = CLEAR_SIMILARITY

    @property
    def n_targets(self) -> int:
        """Return how many targets there are, at least one."""
        return max(self.shape[1], 1)
