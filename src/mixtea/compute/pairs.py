"""Sparse candidates: the pairs of n x m that anyone considers, and what can be asked of their scores.

A score is a tensor with one number a pair. Everything here is linear in the number of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mixtea.compute.memory import CHUNK_BYTES, enough_memory, row_blocks, sweep
from mixtea.compute.similarity import aligned_rows, products_at, similarities, width

DENSE = 100  # from one pair in so many on, a product of all is faster than one pair at a time
LEAST = -torch.inf
FEWER_PAIRS = "Use fewer vote_candidates, or a machine with more memory."


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs (source row, target row) of n x m, each once, ascending by source, then target."""

    source: Tensor
    target: Tensor
    shape: tuple[int, int]

    def __len__(self) -> int:
        return len(self.source)

    @property
    def key(self) -> Tensor:
        """int64, ascending: one number a pair."""
        return self.source * self.shape[1] + self.target

    def find(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """The place of each pair among these, and whether it is there at all (the place is 0 where it is not)."""
        wanted = source * self.shape[1] + target
        if not len(self):
            return torch.zeros_like(wanted), torch.zeros_like(wanted, dtype=torch.bool)
        key = self.key
        place = torch.searchsorted(key, wanted).clamp_(max=len(key) - 1)
        found = key[place] == wanted
        return place.where(found, 0), found

    def where(self, kept: Tensor) -> Pairs:
        return Pairs(self.source[kept], self.target[kept], self.shape)

    def row_sum(self, values: Tensor) -> Tensor:
        return values.new_zeros(self.shape[0]).index_add_(0, self.source, values)

    def column_sum(self, values: Tensor) -> Tensor:
        return values.new_zeros(self.shape[1]).index_add_(0, self.target, values)

    def row_max(self, values: Tensor) -> Tensor:
        """[n]: the greatest value of each source row, -inf where it has no pair."""
        return values.new_full((self.shape[0],), LEAST).scatter_reduce_(0, self.source, values, "amax")

    def column_max(self, values: Tensor) -> Tensor:
        return values.new_full((self.shape[1],), LEAST).scatter_reduce_(0, self.target, values, "amax")

    def best_of_rows(self, values: Tensor) -> Tensor:
        """bool a pair: the first of the greatest in its source row."""
        return self._first(values == self.row_max(values)[self.source], self.source, self.shape[0])

    def best_of_columns(self, values: Tensor) -> Tensor:
        """bool a pair: the first of the greatest in its target column."""
        return self._first(values == self.column_max(values)[self.target], self.target, self.shape[1])

    def _first(self, among: Tensor, line: Tensor, n: int) -> Tensor:
        place = torch.arange(len(self), device=line.device)
        first = torch.full((n,), len(self), device=line.device)
        first.scatter_reduce_(0, line[among], place[among], "amin")
        return among & (first[line] == place)


def places(rows: Tensor, n: int) -> Tensor:
    """[n]: where each of n entities stands in `rows`, -1 for those that do not."""
    place = torch.full((n,), -1, device=rows.device)
    place[rows] = torch.arange(len(rows), device=rows.device)
    return place


def rank_within(line: Tensor, values: Tensor, n: int) -> Tensor:
    """The rank of each value among those of its line (a row or column, one of n), 0 for the greatest.

    The first of equal ones comes first.
    """
    order = torch.argsort(values, descending=True, stable=True)
    order = order[torch.argsort(line[order], stable=True)]
    size = torch.bincount(line, minlength=n)
    rank = torch.empty_like(line)
    rank[order] = torch.arange(len(line), device=line.device) - (size.cumsum(0) - size)[line[order]]
    return rank


def pairs_of_keys(key: Tensor, shape: tuple[int, int]) -> Pairs:
    """Pairs from numbers source * m + target, in any order and repeated or not."""
    key = torch.unique(key)
    return Pairs(key // shape[1], key % shape[1], shape)


def without(pairs: Pairs, others: Pairs | None) -> Pairs:
    """The pairs that are not among others between the same rows."""
    return pairs if others is None or not len(others) else pairs.where(~others.find(pairs.source, pairs.target)[1])


def union(parts: Sequence[Pairs]) -> Pairs:
    return parts[0] if len(parts) == 1 else pairs_of_keys(torch.cat([part.key for part in parts]), parts[0].shape)


@enough_memory(FEWER_PAIRS)
@torch.no_grad()
def nearest_pairs(source: Tensor, target: Tensor, k: int, *, mib: int | None = None) -> Pairs:
    """Each row's k nearest targets and each target's k nearest rows, for unit vectors [n, d], [m, d]."""
    n, m = len(source), len(target)
    forward = _nearest_keys(source, target, k, mib)
    rows, columns = forward // m, forward % m
    backward = _nearest_keys(target, source, k, mib)
    return pairs_of_keys(torch.cat([rows * m + columns, (backward % n) * m + backward // n]), (n, m))


def _nearest_keys(source: Tensor, target: Tensor, k: int, mib: int | None) -> Tensor:
    """row * m + column for the k nearest columns of each row."""
    m, k = len(target), min(k, len(target))
    wide = aligned_rows(target)
    found = torch.empty(len(source), k, dtype=torch.int64, device=source.device)

    def run(mib: int) -> None:
        for rows in row_blocks(0, len(source), width(wide), source.device, mib=mib):
            found[rows] = similarities(source[rows], wide, m).topk(k, dim=1, sorted=False).indices

    sweep(run, width(wide), source.device, mib)
    return (torch.arange(len(source), device=source.device)[:, None] * m + found).flatten()


@enough_memory(FEWER_PAIRS)
@torch.no_grad()
def cosines(source: Tensor, target: Tensor, pairs: Pairs) -> Tensor:
    """source[i] . target[j] of each pair, for unit vectors: pair by pair, or from whole products where pairs abound."""
    if len(pairs) * DENSE <= pairs.shape[0] * pairs.shape[1]:
        return products_at(source, target, pairs.source, pairs.target, CHUNK_BYTES[source.device.type])
    out = source.new_empty(len(pairs))

    def run(mib: int) -> None:
        for rows in row_blocks(0, len(source), width(target), source.device, mib=mib):
            ends = torch.tensor([rows.start, rows.stop]).to(out.device)
            here = slice(*torch.searchsorted(pairs.source, ends).tolist())
            block = source[rows] @ target.T
            out[here] = block[pairs.source[here] - rows.start, pairs.target[here]]

    sweep(run, width(target), source.device, None)
    return out
