"""The predicted mappings: ranked candidates with labels, readable without torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mixtea.data.graph import Graph
from mixtea.match.mapping import COLUMNS

FORWARD, BACKWARD = 1, 2
JUDGES = ("vectors", "propagation", "agreement")  # whose scores a council adds
VOTERS = ("forward", "backward", "propagation", "agreement")  # bits 1, 2, 4, 8


@dataclass(frozen=True, eq=False)
class Candidates:
    """For each of p source entities its k best targets, best first.

    `source_index` [p], `target_index` [p, k]; `score` [p, k] is the decoder's (the nearness under the metric, CSLS or a
    belief), `probability` [p, k] how often such a mapping is right. `voters` [p, k] has bit 1 where the target is the
    source's nearest, bit 2 where the source is the target's nearest, and a bit for each further voter whose favourite
    it is, as in VOTERS. `counterpart` [p] is how likely the source has a counterpart at all.
    """

    source: Graph
    target: Graph
    source_index: np.ndarray
    target_index: np.ndarray
    score: np.ndarray
    probability: np.ndarray
    voters: np.ndarray
    counterpart: np.ndarray

    def __len__(self) -> int:
        return len(self.source_index)

    def __repr__(self) -> str:
        k = self.target_index.shape[1]
        both = FORWARD | BACKWARD
        agreed = int((self.voters[:, 0] & both == both).sum())
        return f"Candidates({len(self):,} source entities, {k} candidates each; {agreed:,} best ones agreed both ways)"

    def to_frame(self, k: int | None = None) -> pd.DataFrame:
        """One row a candidate: source, target, rank, score, probability, voters; the `k` best of each source."""
        k = self.target_index.shape[1] if k is None else min(k, self.target_index.shape[1])
        return pd.DataFrame(
            {
                "source": np.repeat(self.source.ids[self.source_index], k),
                "target": self.target.ids[self.target_index[:, :k].ravel()],
                "rank": np.tile(np.arange(1, k + 1), len(self)),
                "score": self.score[:, :k].ravel(),
                "probability": self.probability[:, :k].ravel(),
                "voters": _VOTERS[self.voters[:, :k].ravel()],
            }
        )

    def best(self) -> pd.DataFrame:
        """The mapping of each source entity: the first candidate."""
        return self.to_frame(k=1)

    def decisions(self) -> pd.DataFrame:
        """A row a source entity: its best target with probability and voters, and the runner-up."""
        frame = self.best().drop(columns=["rank", "score"])
        second = self.target_index.shape[1] > 1
        frame["runner_up"] = self.target.ids[self.target_index[:, 1]] if second else None
        frame["runner_up_probability"] = self.probability[:, 1] if second else 0.0
        frame["given"] = False
        frame["target"] = frame["target"].astype(object)
        return frame[list(COLUMNS)]


def _text_of(bits: int) -> str:
    return "+".join(name for i, name in enumerate(VOTERS) if bits >> i & 1)


_VOTERS = np.array([_text_of(bits) for bits in range(1 << len(VOTERS))], dtype=object)
