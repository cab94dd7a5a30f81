"""Label propagation, in the manner of LightEA: vectors of all entities from pairs that are known.

Each known pair gets a random unit vector, the same at both ends. Two hops carry these labels to the neighbours and to
the relations at them; a third hop weighs each neighbour by its relation. Entities reached by the same labels in the
same way are alike.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from mixtea.compute.memory import enough_memory, row_blocks, sweep
from mixtea.compute.similarity import unit
from mixtea.encode.structure import csr, product

HOPS = 2


class Sizes(NamedTuple):
    """Numbers in a label, whose random ones are nearly orthogonal; for the third hop, random weights of a relation, and

    numbers carried for each of them.
    """

    label: int = 512
    relation: int = 128
    part: int = 8


class PropagationGraph:
    """The graphs as propagation sees them: every triple walked both ways, a relation and its inverse being two."""

    def __init__(
        self, head: Tensor, relation: Tensor, tail: Tensor, n: int, n_relations: int, dtype: torch.dtype,
        sizes: Sizes | None = None,
    ) -> None:  # fmt: skip
        steps = torch.stack([torch.cat([head, tail]), torch.cat([tail, head])])
        kinds = torch.cat([2 * relation, 2 * relation + 1])
        to, at, kind = torch.cat([steps, kinds[None]]).unique(dim=1)
        self.n, self.n_kinds, self.dtype, self.sizes = n, 2 * n_relations, dtype, sizes or Sizes()
        everyone = torch.arange(n, device=to.device)
        weight = 2 * torch.bincount(to, minlength=n).to(
            dtype
        )  # an entity remembers itself as strongly as its neighbours
        ones = weight.new_ones(len(to))
        self.neighbours = _matrix(
            torch.cat([to, everyone]), torch.cat([at, everyone]), torch.cat([ones, weight]), (n, n)
        )
        self.at_kind = _binary(kind, to, (self.n_kinds, n), dtype)
        self.of_kind = _binary(at, kind, (n, self.n_kinds), dtype)
        self.edges, which = torch.stack([to, at]).unique(dim=1, return_inverse=True)
        self.edge_start = torch.searchsorted(self.edges[0].contiguous(), torch.arange(n + 1, device=to.device))
        self.edge_kinds = _matrix(which, kind, ones, (self.edges.shape[1], self.n_kinds))

    @enough_memory()
    def vectors(self, known: Tensor, generator: torch.Generator) -> Tensor:
        """[n, relation * part]: unit vectors of all entities, from pairs `known` [p, 2] in joint numbers."""

        def random(*shape: int) -> Tensor:
            return unit(torch.randn(*shape, generator=generator, device=generator.device, dtype=self.dtype))

        sizes = self.sizes
        entities, kinds = self.hops(known, random(len(known), sizes.label))
        wide = (HOPS + 1) * sizes.label
        weight = unit(torch.cat(kinds, 1)) @ random(wide, sizes.relation)
        seen = _mixed(entities, random(wide, sizes.relation, sizes.part).view(wide, -1))
        del entities
        return unit(self._third_hop(weight, seen))

    def hops(self, known: Tensor, label: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Labels [p, d] of known pairs carried on, hop by hop: to the entities [n, d] and the relations [r, d]."""
        entity, kind = label.new_zeros(self.n, label.shape[1]), label.new_zeros(self.n_kinds, label.shape[1])
        for side in (0, 1):  # an entity with several links carries all their labels
            entity.index_add_(0, known[:, side], label)
        entities, kinds = [entity], [kind]
        for _ in range(HOPS):
            entity, kind = (
                unit(product(self.neighbours, entity) + product(self.of_kind, kind)),
                unit(product(self.at_kind, entity)),
            )
            entities.append(entity)
            kinds.append(kind)
        return entities, kinds

    def _third_hop(self, weight: Tensor, seen: Tensor) -> Tensor:
        """The weighted hop with the weights [r, k] of the relations, for as many k at a time as memory allows."""
        out = torch.empty_like(seen)
        column_bytes = max(1, self.edges.shape[1] * seen.element_size())

        def run(mib: int) -> None:
            at_once = max(1, (mib << 20) // column_bytes)
            for first in range(0, self.sizes.relation, at_once):
                of_edges = product(self.edge_kinds, weight[:, first : first + at_once].contiguous())
                parts = slice(first * self.sizes.part, (first + at_once) * self.sizes.part)
                self._weighted_hop(of_edges, seen[:, parts], out[:, parts])

        sweep(run, column_bytes, seen.device, None)
        return out

    def _weighted_hop(self, weight: Tensor, seen: Tensor, out: Tensor | None = None) -> Tensor:
        """Sum over the edges of weight[edge, k] * seen[neighbour, k-th part], for every k."""
        out = torch.empty_like(seen) if out is None else out
        for k in range(weight.shape[1]):
            part = slice(k * self.sizes.part, (k + 1) * self.sizes.part)
            matrix = csr(self.edge_start, self.edges[1], weight[:, k].contiguous(), (self.n, self.n))
            out[:, part] = product(matrix, seen[:, part].contiguous())
        return out


def _mixed(parts: list[Tensor], mixture: Tensor) -> Tensor:
    """unit([parts along the columns]) @ mixture, some rows at a time."""
    out = parts[0].new_empty(len(parts[0]), mixture.shape[1])
    row_bytes = 2 * mixture.shape[0] * mixture.element_size()

    def run(mib: int) -> None:
        for rows in row_blocks(0, len(out), row_bytes, out.device, mib=mib):
            torch.mm(unit(torch.cat([part[rows] for part in parts], 1)), mixture, out=out[rows])

    sweep(run, row_bytes, out.device, None)
    return out


def _matrix(row: Tensor, column: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """Compressed rows; values at the same place add up."""
    key, place = torch.unique(row * shape[1] + column, return_inverse=True)
    total = values.new_zeros(len(key)).index_add_(0, place, values)
    start = torch.searchsorted(key, torch.arange(shape[0] + 1, device=key.device) * shape[1])
    return csr(start, key % shape[1], total, shape)


def _binary(row: Tensor, column: Tensor, shape: tuple[int, int], dtype: torch.dtype) -> Tensor:
    """Compressed rows with a 1 at every place named."""
    key = torch.unique(row * shape[1] + column)
    return _matrix(key // shape[1], key % shape[1], torch.ones(len(key), dtype=dtype, device=key.device), shape)
