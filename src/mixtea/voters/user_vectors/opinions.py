"""What the user's own vectors say of pairs: which are nearest, and how near for such vectors."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mixtea.compute.memory import enough_memory
from mixtea.compute.pairs import FEWER_PAIRS, cosines, nearest_pairs
from mixtea.compute.similarity import fast_products, unit
from mixtea.graph.graph import Graph
from mixtea.graph.task import Task
from mixtea.voters.similarity import NEAR, Likeness, LikenessOpinions

TYPICAL = 2000  # entities of each side by which the nearness of any two is told


class VectorOpinions(LikenessOpinions):
    """Log-odds by the cosine, from that of any two entities (0) to equal vectors (1).

    Computed on the CPU in full precision, once, so that it comes to the same when it is done again.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.has = (task.source.has_vector(), task.target.has_vector())

    @enough_memory(FEWER_PAIRS)
    @torch.no_grad()
    def first_found(self) -> Likeness:
        there = [torch.from_numpy(has).nonzero().squeeze(1) for has in self.has]
        source, target = (_units(g, own) for g, own in zip((self.task.source, self.task.target), there, strict=True))
        with fast_products(False):
            found = nearest_pairs(source, target, NEAR)
            any_two = _spread(source) @ _spread(target).T
            cosine = cosines(source, target, found)
        usual = float(any_two.mean())
        value = ((cosine - usual) / max(1 - usual, 1e-6)).clamp(0, 0.999).where(cosine < 1 - 1e-6, 1.0)
        return Likeness(there[0][found.source].numpy(), there[1][found.target].numpy(), value.numpy())


def _spread(rows: Tensor) -> Tensor:
    """Some of the rows, evenly taken."""
    return rows[torch.linspace(0, len(rows) - 1, min(len(rows), TYPICAL)).long()]


def _units(graph: Graph, own: Tensor) -> Tensor:
    """By the greatest number first, whose square may be too large for its kind."""
    rows = torch.from_numpy(graph.vectors[own.numpy()].astype(np.float32))
    greatest = rows.abs().amax(dim=1, keepdim=True)
    return unit(rows / greatest.where(greatest > 0, 1))
