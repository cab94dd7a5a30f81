"""Self-training, to compare mixture teaching with: the student proposes pairs and learns them like links (Eq. 8).

The setting `teaching` names one; `training/trainer.py` loads this file where it is another one than mixture.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from mixtea.compute.arrays import State, as_numpy, checked_rows
from mixtea.compute.nearest import cosines, nearest_pairs
from mixtea.compute.scored_pairs import ScoredPairs, union
from mixtea.compute.similarity import best_both_ways, fast_products, unit_rows
from mixtea.config import Config
from mixtea.decide.assignment import assign
from mixtea.voters.votes import make_votes

BOTH_WAYS = ("forward", "backward")
NEIGHBOURS = 10  # per entity that may be assigned to it
Rows = tuple[Tensor, Tensor]


class KeepingStrategy(ABC):
    """Every `teaching_every` epochs the student proposes pairs of the unlabelled `rows`, which it learns like links."""

    named: tuple[str, ...] = BOTH_WAYS  # who agrees on a pair

    def __init__(self, config: Config, rows: Rows, rejected: ScoredPairs | None = None) -> None:
        self.config, self.rows, self.rejected = config, rows, rejected
        self.held = rows[0].new_empty(2, 0)  # places in the rows of both sides

    def due(self, epoch: int) -> bool:
        return epoch > 1 and (epoch - 1) % self.config.teaching_every == 0

    @property
    def links(self) -> Tensor:
        """Return [p, 2]: the pairs held, by joint index."""
        return torch.stack([side[held] for side, held in zip(self.rows, self.held, strict=True)], dim=1)

    def state_dict(self) -> State:
        return {"source": as_numpy(self.held[0]), "target": as_numpy(self.held[1])}

    def load_state_dict(self, state: State) -> None:
        sides = zip(("source", "target"), self.rows, strict=True)
        self.held = torch.stack([checked_rows(state[name], len(side), side) for name, side in sides])

    @torch.no_grad()
    def propose_anew(self, vectors: Tensor) -> ScoredPairs:
        """Revise the pairs by the student's vectors [n, d] of all entities; they are votes of the two directions."""
        source, target = unit_rows(vectors, *self.rows)
        with fast_products(self.config.fast_products):
            self.held = self.revised(source, target)
        if self.rejected is not None:
            self.held = self.held[:, ~self.rejected.find(*self.held)[1]]
        agrees = torch.tensor([name in self.named for name in self.config.voters], device=source.device)
        shape = (len(source), len(target))
        ones = source.new_ones(self.held.shape[1])
        return make_votes(self.held[0], self.held[1], ones, shape, agrees.expand(len(ones), len(agrees)))

    def revised(self, source: Tensor, target: Tensor) -> Tensor:
        """Return [2, p]: the pairs held before and the new ones, for unit vectors of all unlabelled rows."""
        free = [_others(held, len(side)) for held, side in zip(self.held, (source, target), strict=True)]
        if not len(free[0]) or not len(free[1]):
            return self.held
        first, second = self.propose(source[free[0]], target[free[1]])
        return torch.cat([self.held, torch.stack([free[0][first], free[1][second]])], dim=1)

    @abstractmethod
    def propose(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return matching rows of the two sides, for unit vectors of entities that are in no pair yet."""


def _others(taken: Tensor, n: int) -> Tensor:
    free = torch.ones(n, dtype=torch.bool, device=taken.device)
    free[taken] = False
    return free.nonzero().flatten()


class ThresholdSelfTraining(KeepingStrategy):
    """The nearest target of every source, where their cosine reaches `teaching_threshold` (IPTransE)."""

    named = ("forward",)

    def propose(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        best = best_both_ways(source, target, mib=self.config.block_mib)
        sure = (best.target_score >= self.config.teaching_threshold).nonzero().flatten()
        return sure, best.target_of[sure]


class MutualNeighbours(KeepingStrategy):
    """Mutual nearest neighbours, as in MRAEA's bi-directional iterative strategy."""

    def propose(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        best = best_both_ways(source, target, mib=self.config.block_mib)
        row = torch.arange(len(source), device=source.device)
        mutual = (best.source_of[best.target_of] == row).nonzero().flatten()
        return mutual, best.target_of[mutual]


class OneToOneEditing(KeepingStrategy):
    """The best one-to-one assignment of pairs above `teaching_threshold`; the nearer of conflicting ones (BootEA).

    Unlike the others it takes pairs back: an old one gives way to a new one with a greater cosine.
    """

    def revised(self, source: Tensor, target: Tensor) -> Tensor:
        first, second = self.propose(source, target)
        shape = (len(source), len(target))
        both = union([ScoredPairs(self.held[0], self.held[1], shape), ScoredPairs(first, second, shape)])
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


STRATEGIES: dict[str, type[KeepingStrategy]] = {
    "threshold": ThresholdSelfTraining,
    "mutual": MutualNeighbours,
    "one_to_one": OneToOneEditing,
}
