"""The user's own vectors vote, of descriptions or images or what else: what is near there is alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mixtea.voters.base import Cost, Evidence
from mixtea.voters.similarity import LikenessVoter

if TYPE_CHECKING:
    from mixtea.voters.user_vectors.opinions import VectorOpinions


class Descriptions(LikenessVoter):
    """Log-odds by the cosines of the vectors that came with the graphs; no opinion on entities without one."""

    name = "descriptions"

    def has_needed(self) -> bool:
        return all(bool(graph.has_vector().any()) for graph in (self.task.source, self.task.target))

    def new_opinions(self) -> VectorOpinions:
        from mixtea.voters.user_vectors.opinions import VectorOpinions

        return VectorOpinions(self.task)

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """The cosine of the two vectors."""
        weight = self.known.weight_of(self.name, source, target) if self.known is not None else None
        if weight is None or not self.has_needed():
            return ()
        ours, theirs = (
            v.astype(np.float64) for v in (self.task.source.vectors[source], self.task.target.vectors[target])
        )
        cosine = float(ours @ theirs / max(float(np.linalg.norm(ours) * np.linalg.norm(theirs)), 1e-300))
        if np.isnan(cosine):
            return ()
        return [Evidence(f"the given vectors' cosine is {cosine:.3f}", weight)]

    def cost(self) -> Cost:
        size = self.task.source.vectors.nbytes + self.task.target.vectors.nbytes
        return Cost(mib=2 * size / 2**20, products=2.0 if self.has_needed() else 0.0)
