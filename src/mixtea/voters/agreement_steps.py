"""Neighbour agreement, in the manner of PARIS: a pair is likely whose neighbours are matched to each other.

All pairs at once, by the index and the formula of `relations/neighbours.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from mixtea.compute.arrays import to_tensor
from mixtea.compute.memory import FEWER_PAIRS, enough_memory, sweep
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.config import Config
from mixtea.graph.joint_index import JointIndex, OpenIndex
from mixtea.graph.task import Task
from mixtea.relations.neighbours import (
    MIN_BELIEF,
    MIN_RELATION_SIMILARITY,
    NeighbourIndex,
    could_meet,
    relation_similarities,
    step_weights,
)

STEPS_PER_BLOCK, STEP_BYTES = {"cpu": 1_000_000, "cuda": 4_000_000}, 160  # pairs of triples at a time, and each one's
MAX_DENSE_PAIRS = 1 << 20  # pairs of relations up to which each has a place; more would take longer than the triples
MAX_STEPS = 1 << 20  # pairs of triples at two entities; beyond, only those are enumerated whose far ends are a pair

BelievedPairs = tuple[Tensor, Tensor, Tensor]  # source entities, target entities, weight


class FarEnds(NamedTuple):
    """Pairs at which steps may end.

    `row_of` is the source row of an entity in `pairs`, -1 for none; `entity_of` is the entity of a target row. Entities
    are joint indices.
    """

    pairs: ScoredPairs
    row_of: Tensor
    entity_of: Tensor


class AgreementSteps:
    """score(x, y) = log(1 + sum of belief(a, b) alike(r, r') / sqrt(max(|N_r(a)|, |N_r'(b)|)))

    over all triples (a, r, x) of one graph and (b, r', y) of the other, walked both ways. The belief in links [p, 2],
    which are joint indices, is 1.
    """

    def __init__(self, index: NeighbourIndex, links: Tensor, joint: JointIndex, dtype: torch.dtype) -> None:
        self.links, self.joint, self.n_kinds = links, joint, 2 * len(index.relations)
        self.near, self.kind, self.far, count, self.multiplicity, self.start = (
            to_tensor(part, links.device) for part in index[:6]
        )
        self.count = count.to(dtype)

    @enough_memory(FEWER_PAIRS)
    @torch.no_grad()
    def scores(self, pairs: ScoredPairs, belief: ScoredPairs) -> Tensor:
        """Return the agreement on each of `pairs` of the open entities, under a belief about the same entities."""
        believed, entities = self._believed(belief), belief.space
        assert entities is not None
        ends = FarEnds(pairs, entities.place_of, entities.rows[1])
        most = STEPS_PER_BLOCK[pairs.source.device.type]

        def run(mib: int) -> Tensor:
            at_once = min(most, (mib << 20) // STEP_BYTES)
            return self._scores(ends, believed, self._alike(believed, at_once), at_once)

        return sweep(run, STEP_BYTES, pairs.source.device, most * STEP_BYTES // 2**20 + 1)

    def _scores(self, ends: FarEnds, believed: BelievedPairs, alike: RelationPairs, at_once: int) -> Tensor:
        pairs, row_of, _ = ends
        total = believed[2].new_zeros(len(pairs))
        for weight, first, second in self._steps(believed, ends, at_once):
            meaning = alike(self.kind[first] * self.n_kinds + self.kind[second])
            source, target = row_of[self.far[first]], row_of[self.far[second]]
            says = (meaning > MIN_RELATION_SIMILARITY) & (source >= 0) & (target >= 0)
            place, found = pairs.find(source[says], target[says])
            first, second = first[says], second[says]
            counts = self.count[first], self.count[second]
            n_pairs = self.multiplicity[first] * self.multiplicity[second]
            added = step_weights(weight[says], meaning[says], counts, n_pairs)
            total.index_add_(0, place, added.where(found, 0.0))
        return total.log1p_()

    def _believed(self, belief: ScoredPairs) -> BelievedPairs:
        """Return (source entities, target entities, weight): the links, and the beliefs that are strong enough."""
        assert belief.space is not None
        pairs, p, rows = belief, belief.p, belief.space.rows
        strong = p > MIN_BELIEF
        source = torch.cat([self.links[:, 0], rows[0][pairs.source[strong]]])
        target = torch.cat([self.links[:, 1], rows[1][pairs.target[strong]]])
        return source, target, torch.cat([p.new_ones(len(self.links)), p[strong].clamp(max=1)])

    def _steps(self, believed: BelievedPairs, ends: FarEnds, at_once: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Enumerate (belief, triple of the source graph, triple of the target graph) at believed pairs.

        All pairs of triples, but where they are more than MAX_STEPS only those that end at one of the pairs `ends`.
        """
        source, target, weight = believed
        n_first, n_second = (self.start[e + 1] - self.start[e] for e in (source, target))
        many = n_first * n_second > MAX_STEPS
        for pair, step in _counted((n_first * n_second).masked_fill(many, 0), at_once):
            wide = n_second[pair]
            yield weight[pair], self.start[source[pair]] + step // wide, self.start[target[pair]] + step % wide
        if bool(many.any()):
            yield from self._joined((source[many], target[many], weight[many]), ends, at_once)

    def _joined(self, believed: BelievedPairs, ends: FarEnds, at_once: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Join the triples at believed pairs on the pairs `ends` of their far ends, in time linear in both."""
        (source, target, weight), n = believed, len(self.start) - 1
        begin = torch.searchsorted(ends.pairs.source, torch.arange(ends.pairs.shape[0] + 1, device=source.device))
        keys, order = (self.near * n + self.far).sort()
        for pair, step in _counted(self.start[source + 1] - self.start[source], at_once):
            first = self.start[source[pair]] + step
            row = ends.row_of[self.far[first]]
            for one, place in _counted((begin[row + 1] - begin[row]).masked_fill(row < 0, 0), at_once):
                far = ends.entity_of[ends.pairs.target[begin[row[one]] + place]]
                wanted = target[pair[one]] * n + far
                start, end = torch.searchsorted(keys, wanted), torch.searchsorted(keys, wanted, right=True)
                for met, more in _counted(end - start, at_once):
                    yield weight[pair[one[met]]], first[one[met]], order[start[met] + more]

    def _alike(self, believed: BelievedPairs, at_once: int) -> RelationPairs:
        """Return how similar two relations are, from 0 to 1, by r * n_kinds + r'.

        The belief in triples of r that meet triples of r', over the geometric mean of what both could have met.
        """
        source, target, weight = believed
        n, (n_source, m) = len(self.start) - 1, self.joint.shape
        held = ScoredPairs(source, self.joint.to_entities(1, target), (n_source, m))
        key, place = torch.unique(held.key, return_inverse=True)
        everyone = ScoredPairs(key // max(m, 1), key % max(m, 1), held.shape)
        belief = weight.new_zeros(len(key)).index_copy_(0, place, weight)
        row_of, alike = torch.arange(n, device=source.device), RelationPairs(self.n_kinds, weight)
        for w, first, second in self._steps(believed, FarEnds(everyone, row_of, row_of[self.joint.rows(1)]), at_once):
            place, found = everyone.find(self.far[first], self.joint.to_entities(1, self.far[second]))
            met = (self.kind[first] * self.n_kinds + self.kind[second])[found]
            alike.add(met, w[found] * belief[place[found]])
        could = could_meet((self.near, self.kind, self.far), (n_source, n, self.n_kinds), believed)
        met_by = could[0][alike.key // self.n_kinds], could[1][alike.key % self.n_kinds]
        alike.values = relation_similarities(alike.values, met_by)
        return alike


def _counted(count: Tensor, at_once: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Enumerate (i, step) for each i and each step below count[i], `at_once` at a time."""
    ends = count.cumsum(0)
    total = int(ends[-1]) if len(ends) else 0
    for first in range(0, total, at_once):
        step = torch.arange(first, min(first + at_once, total), device=count.device)
        which = torch.searchsorted(ends, step, right=True)
        yield which, step - (ends[which] - count[which])


def agreement_steps(task: Task, config: Config, entities: OpenIndex) -> AgreementSteps:
    """Make the steps of a task, with its training links."""
    index = NeighbourIndex.of(task, shared_relations=config.shared_relations)
    links = to_tensor(entities.joint.of_pairs(task.train), entities.rows[0].device)
    return AgreementSteps(index, links, entities.joint, getattr(torch, config.precision))


class RelationPairs:
    """A number for pairs of relations, by r * n_kinds + r'; 0 for missing ones.

    All pairs are stored where they fit, so that nothing has to be searched; else those that were added, in order.
    """

    def __init__(self, n_kinds: int, like: Tensor) -> None:
        self.dense = n_kinds**2 <= MAX_DENSE_PAIRS
        self.key = torch.arange(n_kinds**2 if self.dense else 0, device=like.device)
        self.values = like.new_zeros(len(self.key))

    def add(self, key: Tensor, values: Tensor) -> None:
        """Add values to those of the keys, in the order given."""
        if self.dense:
            self.values.index_add_(0, key, values)
            return
        both, where = torch.unique(torch.cat([self.key, key]), return_inverse=True)
        total = values.new_zeros(len(both)).index_copy_(0, where[: len(self.key)], self.values)
        self.key, self.values = both, total.index_add_(0, where[len(self.key) :], values)

    def __call__(self, key: Tensor) -> Tensor:
        if self.dense or not len(self.key):
            return self.values[key] if self.dense else self.values.new_zeros(len(key))
        place = torch.searchsorted(self.key, key).clamp_(max=len(self.key) - 1)
        return self.values[place].where(self.key[place] == key, 0.0)
