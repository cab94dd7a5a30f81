"""Neighbour agreement, in the manner of PARIS: a pair is likely whose neighbours are matched to each other.

Two triples (a, r, x) and (b, r', y) speak for the pair (x, y) as far as a and b are believed to be the same and r and
r' to mean the same. How alike relations are is counted from the same beliefs.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from mixtea.compute.memory import enough_memory, sweep
from mixtea.compute.pairs import FEWER_PAIRS, Pairs, pairs_of_keys
from mixtea.config import Config
from mixtea.data.joint import joint_triples
from mixtea.data.task import Task
from mixtea.vote.neighbours import ALIKE, FLOOR, MANY
from mixtea.vote.open_entities import OpenEntities
from mixtea.vote.voter import Belief

STEPS_AT_ONCE, STEP_BYTES = 4_000_000, 160  # pairs of triples held at a time, and what one takes


Believed = tuple[Tensor, Tensor, Tensor]  # source entities, target entities, weight


class AgreementSteps:
    """score(x, y) = log(1 + sum of belief(a, b) alike(r, r') / sqrt(max(|N_r(a)|, |N_r'(b)|)))

    over all triples (a, r, x) of one graph and (b, r', y) of the other, walked both ways. N_r(a) are the neighbours of
    a through r: the more there are, the less one of them says. Links are believed with 1.
    """

    def __init__(
        self, head: Tensor, relation: Tensor, tail: Tensor, n_relations: int, links: Tensor, n_source: int, n: int
    ) -> None:
        self.links, self.n_source, self.n_kinds = links, n_source, 2 * n_relations
        near = torch.cat([head, tail])
        kind = torch.cat([2 * relation, 2 * relation + 1])
        near, kind, far = torch.stack([near, kind, torch.cat([tail, head])]).unique(dim=1)
        _, place, count = torch.unique(near * self.n_kinds + kind, return_inverse=True, return_counts=True)
        kept = count[place] <= MANY
        self.near, self.kind, self.far, self.count = near[kept], kind[kept], far[kept], count[place][kept]
        self.start = torch.searchsorted(self.near.contiguous(), torch.arange(n + 1, device=near.device))

    @enough_memory(FEWER_PAIRS)
    @torch.no_grad()
    def scores(self, pairs: Pairs, belief: Belief) -> Tensor:
        """Agreement on each of `pairs` of the open entities, under a belief about the same entities."""
        believed, row_of = self._believed(belief), belief.pairs.entities.place_of

        def run(mib: int) -> Tensor:
            at_once = min(STEPS_AT_ONCE, (mib << 20) // STEP_BYTES)
            return self._scores(pairs, row_of, believed, self._alike(believed, at_once), at_once)

        return sweep(run, STEP_BYTES, pairs.source.device, STEPS_AT_ONCE * STEP_BYTES // 2**20 + 1)

    def _scores(
        self, pairs: Pairs, row_of: Tensor, believed: Believed, alike: tuple[Tensor, Tensor], at_once: int
    ) -> Tensor:
        total = believed[2].new_zeros(len(pairs))
        for weight, first, second in self._steps(believed, at_once):
            meaning = _looked_up(alike, self.kind[first] * self.n_kinds + self.kind[second])
            few = torch.maximum(self.count[first], self.count[second]).to(weight.dtype).rsqrt()
            source, target = row_of[self.far[first]], row_of[self.far[second]]
            place, found = pairs.find(source, target)
            found &= (meaning > ALIKE) & (source >= 0) & (target >= 0)
            total.index_add_(0, place[found], (weight * meaning * few)[found])
        return total.log1p_()

    def _believed(self, belief: Belief) -> Believed:
        """(source entities, target entities, weight): the links, and the beliefs that are strong enough."""
        pairs, p, rows = belief.pairs.rows, belief.p, belief.pairs.entities.rows
        strong = p > FLOOR
        source = torch.cat([self.links[:, 0], rows[0][pairs.source[strong]]])
        target = torch.cat([self.links[:, 1], rows[1][pairs.target[strong]]])
        return source, target, torch.cat([p.new_ones(len(self.links)), p[strong].clamp(max=1)])

    def _steps(self, believed: Believed, at_once: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """(belief, triple of the source graph, triple of the target graph) for all triples at believed pairs."""
        source, target, weight = believed
        n_first, n_second = (self.start[e + 1] - self.start[e] for e in (source, target))
        n_steps = n_first * n_second
        ends = n_steps.cumsum(0)
        total = int(ends[-1]) if len(ends) else 0
        for first in range(0, total, at_once):
            step = torch.arange(first, min(first + at_once, total), device=source.device)
            pair = torch.searchsorted(ends, step, right=True)
            step -= ends[pair] - n_steps[pair]
            wide = n_second[pair]
            yield weight[pair], self.start[source[pair]] + step // wide, self.start[target[pair]] + step % wide

    def _alike(self, believed: Believed, at_once: int) -> tuple[Tensor, Tensor]:
        """How alike two relations are, as (sorted numbers r * n_kinds + r', values in [0, 1]).

        The belief in triples of r that meet triples of r', over the geometric mean of what both could have met.
        """
        source, target, weight = believed
        everyone = self._all_beliefs(*believed)
        key, total = source[:0], weight[:0]
        for w, first, second in self._steps(believed, at_once):
            place, found = everyone[0].find(self.far[first], self.far[second] - self.n_source)
            met = (self.kind[first] * self.n_kinds + self.kind[second])[found]
            key, total = _added(key, total, met, w[found] * everyone[1][place[found]])
        matched = weight.new_zeros(len(self.start) - 1).index_add_(0, torch.cat([source, target]), weight.repeat(2))
        could = matched.clamp_(max=1)[self.near] * matched[self.far]
        ours = self.near < self.n_source
        sides = [could.new_zeros(self.n_kinds).index_add_(0, self.kind[part], could[part]) for part in (ours, ~ours)]
        most = (sides[0][key // self.n_kinds] + 1) * (sides[1][key % self.n_kinds] + 1)
        return key, (total / most.sqrt()).clamp_(max=1)

    def _all_beliefs(self, source: Tensor, target: Tensor, weight: Tensor) -> tuple[Pairs, Tensor]:
        """Every belief, in joint source numbers and the target graph's own."""
        shape = (self.n_source, len(self.start) - 1 - self.n_source)
        pairs = pairs_of_keys(source * shape[1] + target - self.n_source, shape)
        place, _ = pairs.find(source, target - self.n_source)
        return pairs, weight.new_zeros(len(pairs)).index_copy_(0, place, weight)


def agreement_steps(task: Task, config: Config, entities: OpenEntities) -> AgreementSteps:
    """The steps of a task, with its training links."""
    triples, n_relations = joint_triples(task.source, task.target, shared_relations=config.shared_relations)
    device, n_source = entities.rows[0].device, entities.sizes[0]
    links = torch.from_numpy(task.train).to(device) + torch.tensor([0, n_source], device=device)
    head, relation, tail = torch.from_numpy(triples).to(device)
    return AgreementSteps(head, relation, tail, n_relations, links, n_source, sum(entities.sizes))


def _added(key: Tensor, total: Tensor, more: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Sums by sorted keys, with values that belong to further keys. One is added after the other, however they come."""
    both, where = torch.unique(torch.cat([key, more]), return_inverse=True)
    out = total.new_zeros(len(both)).index_copy_(0, where[: len(key)], total)
    return both, out.index_add_(0, where[len(key) :], values)


def _looked_up(table: tuple[Tensor, Tensor], key: Tensor) -> Tensor:
    """Values by their sorted keys, 0 where a key is not there."""
    keys, values = table
    if not len(keys):
        return values.new_zeros(len(key))
    place = torch.searchsorted(keys, key).clamp_(max=len(keys) - 1)
    return values[place].where(keys[place] == key, 0.0)
