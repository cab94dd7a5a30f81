"""Ranked candidates with ids, as `predict` returns them, readable without torch."""

from __future__ import annotations

from collections.abc import Mapping
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
        """Return a row per candidate: source, target, rank, score, probability, voters; the `k` best of each source."""
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
        """Return the first candidate of each source."""
        return self.to_frame(k=1)

    def names_of(self, row: int, rank: int = 0) -> list[str]:
        """Return the voters that support a candidate."""
        return [name for name, there in zip(self.voter_names, self.voters[row, rank], strict=True) if there]


def evidence_texts(parts: Mapping[str, np.ndarray], n: int) -> np.ndarray:
    """Format [n] texts such as `names=+9.1 vectors=+7.9`, the largest first; opinions that are NaN are left out.

    >>> evidence_texts({"vectors": np.array([7.94, -0.01]), "names": np.array([9.1, np.nan])}, 2).tolist()
    ['names=+9.1 vectors=+7.9', 'vectors=+0.0']
    """
    names = list(parts)
    values = np.column_stack([parts[name] for name in names]) if names else np.empty((n, 0))
    texts = np.empty(n, dtype=object)
    texts[:] = [" ".join(_sorted_texts(names, row)) for row in values.round(1).tolist()]
    return texts


def _sorted_texts(names: list[str], row: list[float]) -> list[str]:
    scored = [(value, name) for name, value in zip(names, row, strict=True) if value == value]
    return [f"{name}={value + 0.0:+.1f}" for value, name in sorted(scored, key=lambda one: (-one[0], one[1]))]
