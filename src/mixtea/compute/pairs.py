"""Sparse candidate pairs of n x m, and reductions of their scores.

A score is a tensor with one number per pair. Everything here is linear in the number of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mixtea.compute.memory import enough_memory, row_blocks, sweep
from mixtea.compute.similarity import aligned_rows, products_by_row, similarities, width

NO_SCORE = -torch.inf
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
        """Return int64, ascending: one number per pair."""
        return self.source * self.shape[1] + self.target

    def find(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the index of each pair among these (0 for others), and whether it is among them."""
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
        """Return [n]: the greatest value of each source row, -inf where it has no pair."""
        return values.new_full((self.shape[0],), NO_SCORE).scatter_reduce_(0, self.source, values, "amax")

    def column_max(self, values: Tensor) -> Tensor:
        return values.new_full((self.shape[1],), NO_SCORE).scatter_reduce_(0, self.target, values, "amax")

    def best_of_rows(self, values: Tensor) -> Tensor:
        """Return bool per pair: the first of the greatest in its source row."""
        return self._first(values == self.row_max(values)[self.source], self.source, self.shape[0])

    def best_of_columns(self, values: Tensor) -> Tensor:
        """Return bool per pair: the first of the greatest in its target column."""
        return self._first(values == self.column_max(values)[self.target], self.target, self.shape[1])

    def _first(self, among: Tensor, line: Tensor, n: int) -> Tensor:
        place = torch.arange(len(self), device=line.device)
        first = torch.full((n,), len(self), device=line.device)
        first.scatter_reduce_(0, line[among], place[among], "amin")
        return among & (first[line] == place)


def positions(rows: Tensor, n: int) -> Tensor:
    """Return [n]: the index of each of n entities in `rows`, -1 for others."""
    place = torch.full((n,), -1, device=rows.device)
    place[rows] = torch.arange(len(rows), device=rows.device)
    return place


def rank_within(line: Tensor, values: Tensor, n: int) -> Tensor:
    """Return the rank of each value within its line (a row or column, one of n), 0 for the greatest.

    Of equal values the first ranks first.
    """
    order = torch.argsort(values, descending=True, stable=True)
    order = order[torch.argsort(line[order], stable=True)]
    size = torch.bincount(line, minlength=n)
    rank = torch.empty_like(line)
    rank[order] = torch.arange(len(line), device=line.device) - (size.cumsum(0) - size)[line[order]]
    return rank


def top_k_mask(line: Tensor, values: Tensor, n: int, k: int) -> Tensor:
    """Return bool: the k greatest values of each line (one of n rows or columns), to nine digits of their range."""
    if not len(line):
        return torch.zeros_like(line, dtype=torch.bool)
    low, high = values.min().double(), values.max().double()
    order = torch.argsort(line - (values.double() - low) / (high - low).clamp_(min=1e-30) / 2)
    size = torch.bincount(line, minlength=n)
    best = torch.zeros_like(line, dtype=torch.bool)
    first = (size.cumsum(0) - size)[line[order]]
    best[order] = torch.arange(len(line), device=line.device) - first < k
    return best


def pairs_of_keys(key: Tensor, shape: tuple[int, int], *, ascending: bool = False) -> Pairs:
    """Make pairs of keys source * m + target, sorted and without repetitions unless they are `ascending` already."""
    key = key if ascending else torch.unique(key)
    return Pairs(key // shape[1], key % shape[1], shape)


def without(pairs: Pairs, others: Pairs | None) -> Pairs:
    """Remove the pairs that are among others between the same rows."""
    return pairs if others is None or not len(others) else pairs.where(~others.find(pairs.source, pairs.target)[1])


def union(parts: Sequence[Pairs]) -> Pairs:
    return parts[0] if len(parts) == 1 else pairs_of_keys(torch.cat([part.key for part in parts]), parts[0].shape)


@enough_memory(FEWER_PAIRS)
@torch.no_grad()
def nearest_pairs(
    source: Tensor, target: Tensor, k: int, *, looking: tuple[Tensor, Tensor] | None = None, mib: int | None = None
) -> Pairs:
    """Return each row's k nearest targets and each target's k nearest rows, for unit vectors [n, d], [m, d].

    `looking` are the rows and the targets whose nearest are wanted, all of them if it is None.
    """
    n, m = len(source), len(target)
    rows, columns = looking or (None, None)
    row, nearest_column = _nearest(source, target, k, rows, mib)
    column, nearest_row = _nearest(target, source, k, columns, mib)
    return pairs_of_keys(torch.cat([row * m + nearest_column, nearest_row * m + column]), (n, m))


def _nearest(source: Tensor, target: Tensor, k: int, rows: Tensor | None, mib: int | None) -> tuple[Tensor, Tensor]:
    """Return (row, column): the k nearest columns of each of `rows`.

    A vector of zeros is as near to one column as to any other. Blocks of them, as of entities without triples, are not
    multiplied with all columns.
    """
    m, k = len(target), min(k, len(target))
    if rows is None:
        rows = torch.arange(len(source), device=source.device)
    wide = aligned_rows(target)
    found = torch.empty(len(rows), k, dtype=torch.int64, device=source.device)

    def run(mib: int) -> None:
        for part in row_blocks(0, len(rows), width(wide), source.device, mib=mib):
            block = source.index_select(0, rows[part])
            near = similarities(block, wide, m) if block.any() else block.new_zeros(1, m)
            found[part] = near.topk(k, dim=1, sorted=False).indices

    sweep(run, width(wide), source.device, mib)
    return rows.repeat_interleave(k), found.flatten()


@enough_memory(FEWER_PAIRS)
@torch.no_grad()
def cosines(source: Tensor, target: Tensor, pairs: Pairs) -> Tensor:
    """Return source[i] . target[j] of each pair, for unit vectors; of halves, in single precision."""
    start = torch.searchsorted(pairs.source, torch.arange(pairs.shape[0] + 1, device=source.device))
    return products_by_row(source, target, start, pairs.source, pairs.target)
