"""Self-training with a threshold, in the manner of IPTransE."""

from __future__ import annotations

from torch import Tensor

from mixtea.compute.similarity import best_both_ways
from mixtea.training.self_training.base import KeepingStrategy


class ThresholdSelfTraining(KeepingStrategy):
    """The nearest target of every source, where their cosine reaches `teaching_threshold`; two may share a target."""

    named = ("forward",)

    def propose(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        best = best_both_ways(source, target, mib=self.config.block_mib)
        sure = (best.target_score >= self.config.teaching_threshold).nonzero().flatten()
        return sure, best.target[sure]
