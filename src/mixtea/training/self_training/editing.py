"""One-to-one editing, in the manner of BootEA's bootstrapping."""

from __future__ import annotations

import torch
from torch import Tensor

from mixtea.compute.pairs import cosines, nearest_pairs, pairs_of_keys
from mixtea.decide.assignment import assign
from mixtea.training.self_training.base import KeepingStrategy

NEIGHBOURS = 10  # of each entity that may be assigned to it


class OneToOneEditing(KeepingStrategy):
    """The best one-to-one assignment of pairs above `teaching_threshold`; of pairs that conflict, the nearer stays.

    Unlike the others it takes pairs back: an old one gives way to a new one with a greater cosine.
    """

    def revised(self, source: Tensor, target: Tensor) -> Tensor:
        first, second = self.propose(source, target)
        m = len(target)
        both = pairs_of_keys(
            torch.cat([self.held[0] * m + self.held[1], first * m + second]), (len(source), m)
        )  # fmt: skip
        for best in ("best_of_rows", "best_of_columns"):
            both = both.where(getattr(both, best)(cosines(source, target, both)))
        return torch.stack([both.source, both.target])

    def propose(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        near = nearest_pairs(source, target, NEIGHBOURS, mib=self.config.block_mib)
        score = cosines(source, target, near)
        sure = score >= self.config.teaching_threshold
        near, score = near.where(sure), score[sure]
        chosen = near.where(assign(near, score))
        return chosen.source, chosen.target
