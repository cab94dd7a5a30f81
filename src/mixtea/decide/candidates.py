"""Ranked candidates with ids, as `predict` gives them, readable without torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mixtea.council.trace import voter_texts
from mixtea.errors import ConfigError
from mixtea.graph.graph import Graph


def check_k(k: object) -> None:
    """Refuse a number of candidates that is none."""
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise ConfigError(f"k must be a whole number of at least 1, not {k!r:.100}.")


@dataclass(frozen=True, eq=False)
class Candidates:
    """For each of p source entities its k best targets, best first.

    `source_index` [p], `target_index` [p, k]; `score` [p, k] is the decoder's (the nearness under the metric, CSLS or a
    belief), `probability` [p, k] how often such a mapping is right. `voters` [p, k, v] is true where the voter of that
    place in `voter_names` favours the pair. `counterpart` [p] is how likely the source has a counterpart at all.
    """

    source: Graph
    target: Graph
    source_index: np.ndarray
    target_index: np.ndarray
    score: np.ndarray
    probability: np.ndarray
    voters: np.ndarray
    counterpart: np.ndarray
    voter_names: tuple[str, ...] = ("forward", "backward")

    def __len__(self) -> int:
        return len(self.source_index)

    def __repr__(self) -> str:
        agreed = int(self.voters[:, 0].all(axis=-1).sum()) if self.target_index.shape[1] else 0
        k = self.target_index.shape[1]
        return f"Candidates({len(self):,} source entities, {k} each; on {agreed:,} best ones all voters agree)"

    def to_frame(self, k: int | None = None) -> pd.DataFrame:
        """One row a candidate: source, target, rank, score, probability, voters; the `k` best of each source."""
        if k is not None:
            check_k(k)
        k = self.target_index.shape[1] if k is None else min(k, self.target_index.shape[1])
        return pd.DataFrame(
            {
                "source": np.repeat(self.source.ids[self.source_index], k),
                "target": self.target.ids[self.target_index[:, :k].ravel()],
                "rank": np.tile(np.arange(1, k + 1), len(self)),
                "score": self.score[:, :k].ravel(),
                "probability": self.probability[:, :k].ravel(),
                "voters": voter_texts(self.voters[:, :k], self.voter_names).ravel(),
            }
        )

    def best(self) -> pd.DataFrame:
        """The mapping of each source entity: the first candidate."""
        return self.to_frame(k=1)

    def names_of(self, row: int, rank: int = 0) -> list[str]:
        """The voters that favour a candidate."""
        return [name for name, there in zip(self.voter_names, self.voters[row, rank], strict=True) if there]
