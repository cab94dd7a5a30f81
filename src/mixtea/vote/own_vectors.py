"""The user's own vectors of the open entities, and which of them are near each other."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mixtea.compute.memory import enough_memory
from mixtea.compute.pairs import FEWER_PAIRS, Pairs, cosines, nearest_pairs
from mixtea.compute.similarity import fast_products, unit
from mixtea.config import Config
from mixtea.data.graph import Graph
from mixtea.data.task import Task
from mixtea.vote.open_entities import OpenEntities


class OwnVectors:
    """`units` are the vectors of the open entities of each side, each divided by its length, zeros where there is none.

    `there` says who has one. `pairs` are the nearest in both directions, None where a side has nobody with a vector.
    Everything is computed in full precision whoever asks, so that it comes to the same when it is done again.
    """

    @enough_memory(FEWER_PAIRS)
    @torch.no_grad()
    def __init__(self, task: Task, config: Config, entities: OpenEntities) -> None:
        self.shape, dtype = entities.shape, getattr(torch, config.precision)
        sides = list(zip((task.source, task.target), entities.own, strict=True))
        self.there = [torch.from_numpy(graph.has_vector()).to(own.device)[own] for graph, own in sides]
        self.units = [_units(graph, own, dtype) for graph, own in sides]
        self.pairs = self._nearest(config.vote_candidates, config.block_mib)

    def _nearest(self, k: int, mib: int | None) -> Pairs | None:
        source, target = (there.nonzero().squeeze(1) for there in self.there)
        if not len(source) or not len(target):
            return None
        with fast_products(False):
            found = nearest_pairs(self.units[0][source], self.units[1][target], k, mib=mib)
        return Pairs(source[found.source], target[found.target], self.shape)

    def cosines(self, pairs: Pairs) -> Tensor:
        """Of each pair, NaN where an end has no vector."""
        with fast_products(False):
            found = cosines(self.units[0], self.units[1], pairs)
        silent = ~(self.there[0][pairs.source] & self.there[1][pairs.target])
        return found.masked_fill(silent, float("nan"))


def _units(graph: Graph, own: Tensor, dtype: torch.dtype) -> Tensor:
    """By the greatest number first, whose square may be too large for its kind."""
    rows = torch.from_numpy(np.nan_to_num(graph.vectors[own.cpu().numpy()])).to(own.device, dtype)
    greatest = rows.abs().amax(dim=1, keepdim=True)
    return unit(rows / greatest.where(greatest > 0, 1))
