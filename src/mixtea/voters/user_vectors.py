"""The voter `descriptions`: nearness of the vectors that a user gave, of descriptions, images or anything else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mixtea.compute.arrays import as_numpy, to_tensor
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.graph.graph import Graph
from mixtea.graph.task import Task
from mixtea.voters.base import Cost, Evidence
from mixtea.voters.similarity import CANDIDATES_PER_ENTITY, SimilarityOpinions, SimilarityVoter

if TYPE_CHECKING:
    from torch import Tensor

N_SAMPLED = 2000  # entities of each side by which the nearness of any two is told


class Descriptions(SimilarityVoter):
    """Log-odds by the cosines of the vectors that came with the graphs; no opinion on entities without one."""

    name = "descriptions"
    evidence = "semantic"

    def is_applicable(self) -> bool:
        return self.has_inputs

    @cached_property
    def has_inputs(self) -> bool:
        return all(bool(graph.has_vector().any()) for graph in (self.task.source, self.task.target))

    def new_opinions(self) -> VectorOpinions:
        return VectorOpinions(self.task)

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Return the cosine of the two vectors."""
        weight = self.known.weight_of(self.name, source, target) if self.known is not None else None
        if weight is None or not self.is_applicable():
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
        return Cost(mib=2 * size / 2**20, products=2.0 if self.is_applicable() else 0.0)


class VectorOpinions(SimilarityOpinions):
    """Log-odds by the cosine, from that of any two entities (0) to equal vectors (1).

    Computed on the CPU in full precision, so that repeating it gives the same numbers.
    """

    CLEAR_SIMILARITY = 0.8  # of vectors: those of related words are near as well

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.has = (task.source.has_vector(), task.target.has_vector())

    def initial_pairs(self) -> ScoredPairs:
        import torch  # on use: runs are read and explained without it

        from mixtea.compute.memory import FEWER_PAIRS, enough_memory
        from mixtea.compute.nearest import cosines, nearest_pairs
        from mixtea.compute.similarity import fast_products

        with enough_memory(FEWER_PAIRS), torch.no_grad(), fast_products(False):
            there = [to_tensor(has).nonzero().squeeze(1) for has in self.has]
            graphs = (self.task.source, self.task.target)
            source, target = (_unit_vectors(graph, own) for graph, own in zip(graphs, there, strict=True))
            found = nearest_pairs(source, target, CANDIDATES_PER_ENTITY)
            any_two = _sample(source) @ _sample(target).T
            cosine = cosines(source, target, found)
            usual = float(any_two.mean())
            value = ((cosine - usual) / max(1 - usual, 1e-6)).clamp(0, 0.999).where(cosine < 1 - 1e-6, 1.0)
        found = ScoredPairs(there[0][found.source], there[1][found.target], self.shape, {"value": value})
        return found.numpy()


def _sample(rows: Tensor) -> Tensor:
    """Return some of the rows, evenly spread."""
    import torch

    return rows[torch.linspace(0, len(rows) - 1, min(len(rows), N_SAMPLED)).long()]


def _unit_vectors(graph: Graph, own: Tensor) -> Tensor:
    """Divide vectors by their greatest number first, whose square may overflow, then by their length."""

    from mixtea.compute.similarity import unit

    rows = to_tensor(graph.vectors[as_numpy(own)].astype(np.float32))
    greatest = rows.abs().amax(dim=1, keepdim=True)
    return unit(rows / greatest.where(greatest > 0, 1))
