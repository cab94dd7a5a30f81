"""Mixture teaching, the paper's strategy: the teacher's votes, weighted and rectified, with all their doubt."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mixtea.compute.similarity import fast_products, unit_rows
from mixtea.config import Config
from mixtea.teach.fuse import fuse
from mixtea.teach.rectify import rectify
from mixtea.teach.state import State
from mixtea.teach.strategies import Rows
from mixtea.vote.council import Council
from mixtea.vote.directions import directions
from mixtea.vote.votes import Votes


class MixtureTeaching:
    """P~ of Eq. 13 from the teacher's two directions (Eq. 9-12), or from a council that asks others too."""

    asks, learned_as = "teacher", "votes"

    def __init__(self, config: Config, rows: Rows, council: Council | None) -> None:
        self.config, self.rows, self.council = config, rows, council

    def due(self, epoch: int) -> bool:
        return (epoch - 1) % self.config.votes_every == 0

    def state(self) -> State:
        return {}  # what it knows, the teacher and the council know

    def restore(self, state: State) -> None:
        pass

    @torch.no_grad()
    def votes(self, vectors: Tensor, epoch: int, weights: Sequence[float]) -> Votes:
        config = self.config
        if self.council is not None:
            votes = self.council.vote(vectors, epoch, weights)
        else:
            source, target = unit_rows(vectors, *self.rows)
            with fast_products(config.fast_products):
                cast = directions(
                    source, target, tied_votes=config.tied_votes, search=config.search, mib=config.block_mib
                )  # fmt: skip
            votes = fuse(cast, weights if config.voting == "both" else [1.0, 0.0])
        return rectify(votes) if config.rectify else votes
