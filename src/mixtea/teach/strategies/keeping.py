"""What data augmentation has in common: pairs once proposed stay, the next come from the entities that are left."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from mixtea.compute.similarity import fast_products, unit_rows
from mixtea.config import Config
from mixtea.teach.state import State, as_array, checked_rows
from mixtea.teach.strategies import Rows
from mixtea.vote.votes import Votes

FORWARD, BOTH_WAYS = 1, 3  # the bits of the two directions


class KeepingStrategy(ABC):
    """Every `teaching_every` epochs the student proposes pairs, which it then learns like links."""

    asks, learned_as = "student", "links"
    voters = BOTH_WAYS  # the bits of who agrees on a pair

    def __init__(self, config: Config, rows: Rows) -> None:
        self.config, self.rows = config, rows
        self.held = rows[0].new_empty(2, 0)  # places in the rows of both sides

    def due(self, epoch: int) -> bool:
        return epoch > 1 and (epoch - 1) % self.config.teaching_every == 0

    def state(self) -> State:
        return {"source": as_array(self.held[0]), "target": as_array(self.held[1])}

    def restore(self, state: State) -> None:
        sides = zip(("source", "target"), self.rows, strict=True)
        self.held = torch.stack([checked_rows(state[name], len(side), side) for name, side in sides])

    @torch.no_grad()
    def votes(self, vectors: Tensor, epoch: int, weights: Sequence[float]) -> Votes:
        source, target = unit_rows(vectors, *self.rows)
        with fast_products(self.config.fast_products):
            self.held = self.revised(source, target)
        bits = torch.full_like(self.held[0], self.voters)
        shape = (len(source), len(target))
        return Votes(self.held[0], self.held[1], source.new_ones(len(bits)), shape, bits)

    def revised(self, source: Tensor, target: Tensor) -> Tensor:
        """[2, p]: the pairs held before and the new ones, for unit vectors of all unlabelled rows."""
        free = [_others(held, len(side)) for held, side in zip(self.held, (source, target), strict=True)]
        if not len(free[0]) or not len(free[1]):
            return self.held
        first, second = self.propose(source[free[0]], target[free[1]])
        return torch.cat([self.held, torch.stack([free[0][first], free[1][second]])], dim=1)

    @abstractmethod
    def propose(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Rows of the two sides that are the same, for unit vectors of entities that are in no pair yet."""


def _others(taken: Tensor, n: int) -> Tensor:
    free = torch.ones(n, dtype=torch.bool, device=taken.device)
    free[taken] = False
    return free.nonzero().flatten()
