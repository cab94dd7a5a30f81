"""What propagation sees: vectors of the open entities, cross-fitted."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mixtea.compute.memory import enough_memory
from mixtea.compute.pairs import FEWER_PAIRS, Pairs, cosines, nearest_pairs, union
from mixtea.compute.similarity import fast_products
from mixtea.config import Config
from mixtea.data.joint import joint_triples
from mixtea.data.task import Task
from mixtea.vote.open_entities import OpenEntities
from mixtea.vote.propagation_graph import PropagationGraph, Sizes

WIDER = 2  # times the candidates of others


class PropagationViews:
    """Vectors by propagation from the links and from sure pairs, one view for each hand of them.

    Cross-fitted: a pair taken up as known would speak for itself. So the sure pairs are dealt to two hands, each hand
    is left out once, and an entity is judged by the propagation that did not know its own pair. `pairs` are each
    entity's nearest in the views.
    """

    pairs: Pairs

    def __init__(self, task: Task, config: Config, entities: OpenEntities) -> None:
        self.rows, self.k, self.mib = entities.rows, WIDER * config.vote_candidates, config.block_mib
        self.folds = 2 if config.propagation_cross_fit else 1
        device = self.rows[0].device
        triples, n_relations = joint_triples(task.source, task.target, shared_relations=config.shared_relations)
        sizes = Sizes(config.propagation_label_dim, config.propagation_relation_dim, config.propagation_part_dim)
        head, relation, tail = torch.from_numpy(triples).to(device)
        n, dtype = sum(entities.sizes), getattr(torch, config.precision)
        self.graph = PropagationGraph(head, relation, tail, n, n_relations, dtype, sizes)
        self.shift = torch.tensor([0, entities.sizes[0]], device=device)
        self.links = torch.from_numpy(task.train).to(device) + self.shift
        self.views: list[tuple[Tensor, Tensor]] = []

    def refresh_from(self, sure: np.ndarray, random_state: np.ndarray) -> None:
        """The same as once before, from sure pairs [p, 2] by their own graph's numbers and the state of a generator."""
        generator = torch.Generator(self.links.device)
        generator.set_state(torch.from_numpy(random_state))
        self.refresh(torch.from_numpy(sure).to(self.links.device), generator)

    @torch.no_grad()
    def refresh(self, sure: Tensor, generator: torch.Generator) -> None:
        """Propagate from the links and the sure pairs [p, 2], by their own graph's numbers.

        In full precision whoever asks, so that it comes to the same when it is done again.
        """
        with fast_products(False):
            self._refresh(sure + self.shift, generator)

    def _refresh(self, sure: Tensor, generator: torch.Generator) -> None:
        hand = torch.randint(self.folds, (len(sure),), generator=generator, device=sure.device)
        folds = self.folds if len(sure) and self.folds > 1 else 1
        self.views = []
        for fold in range(folds):
            known = torch.cat([self.links, sure[hand != fold] if folds > 1 else sure])
            vectors = self.graph.vectors(known, generator)
            self.views.append((vectors.index_select(0, self.rows[0]), vectors.index_select(0, self.rows[1])))
            del vectors
        self.hand = torch.full((self.graph.n,), -1, device=sure.device)
        if folds > 1:
            self.hand[sure[:, 0]], self.hand[sure[:, 1]] = hand, hand
        if not len(self.links) + len(sure):  # nothing to propagate from
            self.pairs = Pairs(sure[:, 0], sure[:, 1], (len(self.rows[0]), len(self.rows[1])))
            return
        each = -(-self.k // folds)
        self.pairs = union([nearest_pairs(source, target, each, mib=self.mib) for source, target in self.views])

    @enough_memory(FEWER_PAIRS)
    @torch.no_grad()
    def scores(self, pairs: Pairs) -> Tensor:
        """The cosine of each pair in the view that is fair to it, 0 where nothing known reaches one of the two."""
        seen = torch.stack([cosines(source, target, pairs) for source, target in self.views])
        if len(seen) == 1:
            return seen[0]
        everyone = seen.mean(0)
        sides = [self.hand[rows[place]] for rows, place in zip(self.rows, (pairs.source, pairs.target), strict=True)]
        fair = [
            torch.where(hand >= 0, seen.gather(0, hand.clamp(min=0)[None])[0], everyone) for hand in sides
        ]  # fmt: skip
        both = (sides[0] >= 0) == (sides[1] >= 0)  # only one end was known: the propagation without it decides
        return torch.where(both, (fair[0] + fair[1]) / 2, torch.where(sides[0] >= 0, fair[0], fair[1]))
