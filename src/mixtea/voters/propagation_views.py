"""Label propagation, in the manner of LightEA: vectors of the open entities from pairs that are known, cross-fitted.

Each known pair gets a random unit vector, the same at both ends. Two hops carry these labels to the neighbours and to
the relations at them; a third hop weighs each neighbour by its relation. Entities reached by the same labels in the
same way are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mixtea.compute.arrays import to_tensor
from mixtea.compute.memory import FEWER_PAIRS, enough_memory, sweep
from mixtea.compute.nearest import cosines, nearest_pairs
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.compute.similarity import fast_products, inverse_norm, unit
from mixtea.config import Config
from mixtea.graph.joint_index import OpenIndex, joint_triples
from mixtea.graph.task import Task

HOPS = 2
MAX_EDGES_IN_HALVES = 1 << 15  # of an entity: the sum of more of them, each at most 1, might not fit half precision
CHUNK_MIB = 48  # of the third hop at a time, on a CPU
CANDIDATES_FACTOR = 2  # times the candidates of others


class Sizes(NamedTuple):
    """Dimensions of labels, and in the third hop the random weights per relation and the numbers carried for each.

    Random labels are nearly orthogonal.
    """

    label: int = 512
    relation: int = 128
    part: int = 8

    @property
    def width(self) -> int:
        return self.relation * self.part

    def halved(self) -> Sizes:
        """Return half of each, which suffices to find the sure pairs with an eighth of the work."""
        return Sizes(*(max(1, size // 2) for size in self))


class SparseRows(NamedTuple):
    """A sparse matrix by its rows: row i adds up values * dense[column] from start[i] to start[i + 1]."""

    start: Tensor
    column: Tensor
    values: Tensor

    def __call__(self, dense: Tensor, values: Tensor | None = None) -> Tensor:
        """Return matrix @ dense, summed in one order; with other values if given."""
        values = self.values if values is None else values
        if not len(self.column):
            return dense.new_zeros(len(self.start) - 1, dense.shape[1])
        return F.embedding_bag(
            self.column, dense, self.start, mode="sum", per_sample_weights=values, include_last_offset=True
        )


class PropagationGraph:
    """Both graphs for propagation: every triple walked both ways, a relation and its inverse being two."""

    def __init__(
        self, head: Tensor, relation: Tensor, tail: Tensor, n: int, n_relations: int, dtype: torch.dtype
    ) -> None:
        self.n, self.n_kinds, self.dtype = n, 2 * n_relations, dtype
        to, at, kind = torch.cat([head, tail]), torch.cat([tail, head]), torch.cat([2 * relation, 2 * relation + 1])
        key = torch.unique((to * n + at) * self.n_kinds + kind)
        edge, kind = key // max(self.n_kinds, 1), key % max(self.n_kinds, 1)
        to, at = edge // n, edge % n
        everyone = torch.arange(n, device=to.device)
        weight = 2 * torch.bincount(to, minlength=n).to(dtype)  # of itself, as strong as its neighbours
        ones = weight.new_ones(len(to))
        self.neighbours = _matrix(
            torch.cat([to, everyone]), torch.cat([at, everyone]), torch.cat([ones, weight]), (n, n)
        )
        self.at_kind = _binary(kind, to, (self.n_kinds, n), dtype)
        self.of_kind = _binary(at, kind, (n, self.n_kinds), dtype)
        edge, which = torch.unique_consecutive(edge, return_inverse=True)
        self.edge_kinds = _matrix(which, kind, ones, (len(edge), self.n_kinds))
        start = torch.searchsorted(edge, torch.arange(n + 1, device=to.device) * n)
        self.edges = SparseRows(start, edge % n, ones[: len(edge)])

    @enough_memory("Use a smaller propagation_label_dim and propagation_relation_dim, or a machine with more memory.")
    def vectors(
        self, known: Tensor, generator: torch.Generator, rows: Sequence[Tensor], sizes: Sizes | None = None
    ) -> list[Tensor]:
        """Return [len(rows_i), relation * part] for each of the `rows`: unit vectors of these entities.

        Propagated from pairs `known` [p, 2] in joint indices. In halves, unless double precision is set.
        """
        sizes = sizes or Sizes()

        def random(*shape: int) -> Tensor:
            return unit(torch.randn(*shape, generator=generator, device=generator.device, dtype=self.dtype))

        entities, kinds = self.hops(known, random(len(known), sizes.label))
        wide = (HOPS + 1) * sizes.label
        weight = unit(torch.cat(kinds, 1)) @ random(wide, sizes.relation)
        return self._third_hop(weight, entities, random(wide, sizes.relation, sizes.part), rows)

    def hops(self, known: Tensor, label: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Propagate labels [p, d] of known pairs, hop by hop, to the entities [n, d] and the relations [r, d]."""
        entity, kind = label.new_zeros(self.n, label.shape[1]), label.new_zeros(self.n_kinds, label.shape[1])
        for side in (0, 1):  # an entity with several links carries all their labels
            entity.index_add_(0, known[:, side], label)
        entities, kinds = [entity], [kind]
        for _ in range(HOPS):
            entity, kind = _as_unit(self.neighbours(entity).add_(self.of_kind(kind))), unit(self.at_kind(entity))
            entities.append(entity)
            kinds.append(kind)
        return entities, kinds

    def _third_hop(
        self, weight: Tensor, entities: list[Tensor], mixture: Tensor, rows: Sequence[Tensor]
    ) -> list[Tensor]:
        """Carry unit entities over the edges once more, for some rows.

        unit(sum over the edges of weight[edge, k] * (unit(entity) @ mixture[:, k]) for every k). `weight` [r, k] is
        that of relations, `mixture` [3 d, k, part]; as many k at a time as memory allows.
        """
        (n_weights, part), device = mixture.shape[1:], weight.device
        kept = torch.float16 if self.dtype == torch.float32 else self.dtype
        out = [weight.new_empty(len(one), n_weights * part, dtype=kept) for one in rows]
        length = torch.stack([torch.linalg.vector_norm(entity, dim=1) for entity in entities]).norm(dim=0)
        scale = torch.where(length > 0, 1 / length, 0.0)[:, None]
        column_bytes = max(1, (2 * len(self.edges.column) + 3 * part * self.n) * weight.element_size())

        squares = [weight.new_zeros(len(one)) for one in rows]
        shrunk = (MAX_EDGES_IN_HALVES / self.edges.start.diff().clamp(min=1)).clamp(max=1).to(weight.dtype)[:, None]

        def run(mib: int) -> None:
            at_once = max(1, (mib << 20) // column_bytes)
            for square in squares:
                square.zero_()
            for first in range(0, n_weights, at_once):
                here = slice(first, first + at_once)
                seen = _mixed(entities, mixture[:, here].flatten(1)).mul_(scale)
                seen = seen.view(self.n, -1, part).transpose(0, 1).contiguous()
                of_edges = self.edge_kinds(weight[:, here].contiguous()).T.contiguous()
                arrived = torch.cat([self.edges(*one) for one in zip(seen, of_edges, strict=True)], dim=1)
                for one, square, chosen in zip(out, squares, rows, strict=True):
                    own = arrived.index_select(0, chosen).mul_(shrunk[chosen])
                    square += torch.linalg.vecdot(own, own)
                    one[:, here.start * part : here.stop * part] = own

        sweep(run, column_bytes, device, CHUNK_MIB if device.type == "cpu" else None)
        return [
            one.mul_(torch.where(square > 0, square.rsqrt(), 0.0).to(kept)[:, None])
            for one, square in zip(out, squares, strict=True)
        ]


def _as_unit(vectors: Tensor) -> Tensor:
    """Divide the vectors by their lengths in place."""
    return vectors.mul_(inverse_norm(vectors)[:, None])


def _mixed(parts: list[Tensor], mixture: Tensor) -> Tensor:
    """Return [parts along the columns] @ mixture."""
    mixtures = mixture.chunk(len(parts))
    out = parts[0] @ mixtures[0]
    for part, own in zip(parts[1:], mixtures[1:], strict=True):
        out.addmm_(part, own)
    return out


def _matrix(row: Tensor, column: Tensor, values: Tensor, shape: tuple[int, int]) -> SparseRows:
    """Make compressed rows; values at the same position add up."""
    key, place = torch.unique(row * shape[1] + column, return_inverse=True)
    total = values.new_zeros(len(key)).index_add_(0, place, values)
    start = torch.searchsorted(key, torch.arange(shape[0] + 1, device=key.device) * shape[1])
    return SparseRows(start, key % shape[1], total)


def _binary(row: Tensor, column: Tensor, shape: tuple[int, int], dtype: torch.dtype) -> SparseRows:
    """Make compressed rows with a 1 at every position given."""
    key = torch.unique(row * shape[1] + column)
    return _matrix(key // shape[1], key % shape[1], torch.ones(len(key), dtype=dtype, device=key.device), shape)


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
        head, relation, tail = to_tensor(triples, device)
        n, dtype = sum(entities.sizes), getattr(torch, config.precision)
        self.graph = PropagationGraph(head, relation, tail, n, n_relations, dtype)
        self.links = to_tensor(entities.joint.of_pairs(task.train), device)
        self.views: list[list[Tensor]] = []

    def refresh_from(self, sure: np.ndarray, random_state: np.ndarray, rough: bool) -> None:
        """Repeat an earlier refresh, from its sure pairs [p, 2] of entity indices and the state of its generator."""
        generator = torch.Generator(self.links.device)
        generator.set_state(to_tensor(random_state))
        self.refresh(to_tensor(sure, self.links.device), generator, rough)

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
