"""Mutual nearest neighbours, in the manner of MRAEA's bi-directional iterative strategy."""

from __future__ import annotations

import torch
from torch import Tensor

from mixtea.compute.similarity import best_both_ways
from mixtea.training.self_training.base import KeepingStrategy


class MutualNeighbours(KeepingStrategy):
    """Every pair of which each is the nearest of the other."""

    def propose(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        best = best_both_ways(source, target, mib=self.config.block_mib)
        row = torch.arange(len(source), device=source.device)
        mutual = (best.source[best.target] == row).nonzero().flatten()
        return mutual, best.target[mutual]
