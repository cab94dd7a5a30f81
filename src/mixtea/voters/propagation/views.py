"""Vectors of the open entities by label propagation, cross-fitted."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mixtea.compute.memory import FEWER_PAIRS, enough_memory
from mixtea.compute.nearest import cosines, nearest_pairs
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.compute.similarity import fast_products, unit
from mixtea.config import Config
from mixtea.graph.joint_index import OpenIndex, joint_triples
from mixtea.graph.task import Task
from mixtea.voters.propagation.graph import PropagationGraph, Sizes

CANDIDATES_FACTOR = 2  # times the candidates of others


class PropagationViews:
    """Vectors by propagation from the links and from sure pairs, one view for each fold of them.

    Cross-fitted: a pair that is propagated from would support itself. So the sure pairs are dealt to two folds, each
    fold is left out once, and an entity is scored by the propagation without its own pair. `pairs` are the nearest in
    the mean of the views of each entity that is in no sure pair, found by fewer dimensions than they are scored by.
    """

    pairs: ScoredPairs

    def __init__(self, task: Task, config: Config, entities: OpenIndex) -> None:
        self.entities, self.k, self.mib = entities, CANDIDATES_FACTOR * config.vote_candidates, config.block_mib
        self.rows = entities.rows
        self.folds, self.search_dim = 2 if config.propagation_cross_fit else 1, config.propagation_search_dim
        device = self.rows[0].device
        triples, n_relations = joint_triples((task.source, task.target), shared_relations=config.shared_relations)
        self.sizes = Sizes(config.propagation_label_dim, config.propagation_relation_dim, config.propagation_part_dim)
        head, relation, tail = torch.as_tensor(triples, device=device)
        n, dtype = sum(entities.sizes), getattr(torch, config.precision)
        self.graph = PropagationGraph(head, relation, tail, n, n_relations, dtype)
        self.links = torch.as_tensor(entities.joint.of_pairs(task.train), device=device)
        self.views: list[list[Tensor]] = []

    def refresh_from(self, sure: np.ndarray, random_state: np.ndarray, rough: bool) -> None:
        """Repeat an earlier refresh, from its sure pairs [p, 2] of entity indices and the state of its generator."""
        generator = torch.Generator(self.links.device)
        generator.set_state(torch.as_tensor(random_state))
        self.refresh(torch.as_tensor(sure, device=self.links.device), generator, rough)

    @torch.no_grad()
    def refresh(self, sure: Tensor, generator: torch.Generator, rough: bool = False) -> None:
        """Propagate from the links and the sure pairs [p, 2] of entity indices; `rough` with smaller dimensions.

        Always in full precision, so that repeating it gives the same numbers.
        """
        with fast_products(False):
            self._propagate(self.entities.joint.of_pairs(sure), generator, self.sizes.halved() if rough else self.sizes)
            if not len(self.links) + len(sure):  # nothing to propagate from
                self.pairs = ScoredPairs(sure[:, 0], sure[:, 1], self.entities.shape)
                return
            found, looking = self._searched(generator), self.entities.not_in(sure)
            self.pairs = nearest_pairs(*found, self.k, looking=looking, mib=self.mib)

    def _propagate(self, sure: Tensor, generator: torch.Generator, sizes: Sizes) -> None:
        hand = torch.randint(self.folds, (len(sure),), generator=generator, device=sure.device)
        folds = self.folds if len(sure) and self.folds > 1 else 1
        self.views = []
        for fold in range(folds):
            known = torch.cat([self.links, sure[hand != fold] if folds > 1 else sure])
            self.views.append(self.graph.vectors(known, generator, self.rows, sizes))
        self.hand = torch.full((self.graph.n,), -1, device=sure.device)
        if folds > 1:
            self.hand[sure[:, 0]], self.hand[sure[:, 1]] = hand, hand

    def _searched(self, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Project both sides at random to few dimensions whose cosines are nearly the mean of those in the views."""
        width, kind = self.views[0][0].shape[1], self.graph.dtype
        few = min(self.search_dim, width)
        mixtures = [
            torch.randn(width, few, generator=generator, device=generator.device, dtype=kind) for _ in self.views
        ]
        found = []
        for side in (0, 1):
            mixed = sum(view[side].to(kind) @ mixture for view, mixture in zip(self.views, mixtures, strict=True))
            assert isinstance(mixed, Tensor)
            found.append(unit(mixed).to(self.views[0][0].dtype if mixed.is_cuda else kind))  # halves are slow on a CPU
        return found[0], found[1]

    @enough_memory(FEWER_PAIRS)
    @torch.no_grad()
    def scores(self, pairs: ScoredPairs) -> Tensor:
        """Return the cosine of each pair in the view without it, 0 where nothing known reaches one of the two."""
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
