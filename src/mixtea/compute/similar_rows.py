"""The most similar rows of two sparse matrices, and the products of pairs of rows. Torch on GPUs alone.

A product of all with all is never held. On a CPU a row is looked up through its columns, rare ones first; on a GPU it
is multiplied with all others in blocks.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from mixtea.compute.device import choose_device
from mixtea.compute.scored_pairs import rank_within

if TYPE_CHECKING:
    from torch import Tensor

MIN_ROWS_LOOKED_UP = 3_000  # rows of the other side that the rarest columns of a row may lead to, at least
MAX_LOOKUPS = 4e9  # of all rows together: a million rows are looked up through few columns each
SPARE_ROWS, MAX_PRODUCTS = 3, 6e6  # times as many rows whose products are computed where not all columns count
MIN_PRODUCT = 1e-6  # of rows that are similar at all
DENSE_BYTES = {"cpu": 128 << 20, "cuda": 4 << 30}  # of a block of products with all rows
ROWS_AT_ONCE = (8, 256)  # in such a block
PAIRS_PER_BLOCK = 1 << 18  # pairs whose rows are multiplied at a time
NUMBERS_PER_BLOCK = 1 << 23  # numbers in the rows that are multiplied at a time: some may be long


class SimilarRows(NamedTuple):
    """Pairs of rows of two matrices, each once and ascending, with the product of each."""

    first: np.ndarray
    second: np.ndarray
    product: np.ndarray


def similar_rows(
    first: csr_matrix, second: csr_matrix, k: int, *, looking: tuple[np.ndarray, np.ndarray] | None = None,
    device: str = "cpu",
) -> SimilarRows:  # fmt: skip
    """Return the k most similar rows for each row, both ways.

    `looking` are the numbers of the rows of each side that look for similar ones, all of them if it is None.
    """
    rows, others = looking or (np.arange(first.shape[0]), np.arange(second.shape[0]))
    ahead = RowIndex(second, device).most_alike(_rows_at(first, rows), k)
    back = RowIndex(first, device).most_alike(_rows_at(second, others), k)
    m = max(second.shape[0], 1)
    key = np.concatenate([rows[ahead.first] * m + ahead.second, back.second * m + others[back.first]])
    order = np.argsort(key, kind="stable")
    order = order[np.diff(key[order], prepend=-1) > 0]
    product = np.concatenate([ahead.product, back.product])
    return SimilarRows(key[order] // m, key[order] % m, product[order])


def _rows_at(rows: csr_matrix, kept: np.ndarray) -> csr_matrix:
    return rows if len(kept) == rows.shape[0] else rows[kept]


class RowIndex:
    """An index of rows by their columns, to look up similar ones; on a GPU, all rows in blocks."""

    def __init__(self, rows: csr_matrix, device: str = "cpu") -> None:
        self.rows, self.device = rows, device
        self.held = np.bincount(rows.indices, minlength=rows.shape[1])

    @cached_property
    def columns(self) -> csr_matrix:
        return csr_matrix(self.rows.T)

    def most_alike(self, others: csr_matrix, k: int) -> SimilarRows:
        """Return the k most similar rows for each of the others.

        Where there are many to look up, the rarest n-grams of a row lead to more than k rows, whose products decide.
        """
        if not self.rows.nnz or not others.nnz:
            return SimilarRows(*(np.empty(0, dtype=kind) for kind in (np.int64, np.int64, np.float32)))
        if is_gpu(self.device) or not has_sparse_products():
            return _pairs(top_products_in_blocks(others, self.rows, k, self.device))
        rare = _rarest(others, self.held)
        if rare.nnz == others.nnz:
            return _pairs(top_products(others, self.columns, k))
        spare = int(np.clip(MAX_PRODUCTS / max(others.shape[0], 1), k, SPARE_ROWS * k))
        at_once = max(1, PAIRS_PER_BLOCK // spare)
        parts = [
            self._best_of(others, rare, range(begin, min(begin + at_once, others.shape[0])), k, spare)
            for begin in range(0, others.shape[0], at_once)
        ]
        return SimilarRows(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _best_of(self, others: csr_matrix, rare: csr_matrix, rows: range, k: int, spare: int) -> SimilarRows:
        """Return the k most similar rows for some of the others, of the `spare` that rare columns lead to."""
        found = _pairs(top_products(rare[rows.start : rows.stop], self.columns, spare))
        other = found.first + rows.start
        product = row_products(others, self.rows, other, found.second)
        best = rank_within(found.first, product, len(rows)) < k
        return SimilarRows(other[best], found.second[best], product[best])


def _pairs(found: csr_matrix) -> SimilarRows:
    row = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    return SimilarRows(row, found.indices.astype(np.int64), found.data)


def is_gpu(device: str) -> bool:
    """Return whether a device by its name in the settings is a GPU."""
    return device != "cpu" and choose_device(device).type == "cuda"


def has_sparse_products() -> bool:
    return importlib.util.find_spec("sparse_dot_topn") is not None


def top_products(first: csr_matrix, second: csr_matrix, k: int, device: str = "cpu") -> csr_matrix:
    """Return the k largest positive entries per row of first @ second."""
    if not (first.nnz and second.nnz):
        return csr_matrix((first.shape[0], second.shape[1]), dtype=np.float32)
    if is_gpu(device) or not has_sparse_products():
        return top_products_in_blocks(first, csr_matrix(second.T), k, device)
    from sparse_dot_topn import sp_matmul_topn

    return sp_matmul_topn(first, second, top_n=k, threshold=MIN_PRODUCT, n_threads=len(os.sched_getaffinity(0)))


def top_products_in_blocks(first: csr_matrix, second: csr_matrix, k: int, device: str = "cpu") -> csr_matrix:
    """Return the k largest positive entries per row of first @ second.T, from blocks of all products."""
    (n, m), k = (first.shape[0], second.shape[0]), min(k, second.shape[0])
    value, place = np.empty((n, k), dtype=np.float32), np.empty((n, k), dtype=np.int64)
    for rows, products in _blocks_of_products(first, second, device):
        best = products.topk(k, dim=1)
        value[rows], place[rows] = best.values.cpu(), best.indices.cpu()
    kept = value > MIN_PRODUCT
    ends = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    return csr_matrix((value[kept], place[kept], ends), shape=(n, m))


def all_products(first: csr_matrix, second: csr_matrix, device: str = "cpu") -> Tensor:
    """Return first @ second.T, dense, on the device."""
    import torch

    if not is_gpu(device):
        return torch.from_numpy((first @ second.T).toarray()).clone()  # aligned: else products of it round by chance
    found = [products for _, products in _blocks_of_products(first, second, device)]
    return torch.cat(found) if found else torch.empty(0, second.shape[0], device=choose_device(device))


def _blocks_of_products(first: csr_matrix, second: csr_matrix, device: str) -> Iterator[tuple[slice, Tensor]]:
    """Yield rows of the first and their products with all rows of the second [b, m], each a weighted sum of numbers.

    The rows of a block are dense and turned, [columns, b]: a row of the second is a weighted sum of rows of that.
    """
    import torch

    on = choose_device(device)
    columns, starts, numbers = (
        torch.from_numpy(part).to(on)
        for part in (second.indices.astype(np.int64), second.indptr.astype(np.int64), second.data.astype(np.float32))
    )
    free = torch.cuda.mem_get_info(on)[0] // 8 if on.type == "cuda" else DENSE_BYTES["cpu"]
    row_bytes = 4 * (first.shape[1] + 2 * second.shape[0])
    at_once = int(np.clip(min(free, DENSE_BYTES[on.type]) // row_bytes, *ROWS_AT_ONCE))
    for begin in range(0, first.shape[0], at_once):
        part = first[begin : begin + at_once]
        row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        dense = torch.zeros(part.shape[1], part.shape[0], device=on)
        ends = (torch.from_numpy(end.astype(np.int64)).to(on) for end in (part.indices, row))
        dense[tuple(ends)] = torch.from_numpy(part.data.astype(np.float32)).to(on)
        products = torch.nn.functional.embedding_bag(
            columns, dense, starts, mode="sum", per_sample_weights=numbers, include_last_offset=True
        )
        yield slice(begin, begin + part.shape[0]), products.T.contiguous()


def _rarest(rows: csr_matrix, held: np.ndarray) -> csr_matrix:
    """Keep the rarest columns of each row, as many as lead to the rows that may be looked up; one at least."""
    budget = max(MIN_ROWS_LOOKED_UP, MAX_LOOKUPS / max(rows.shape[0], 1))
    row, others = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), held[rows.indices]
    if not len(others) or np.bincount(row, others).max() <= budget:
        return rows
    order = np.argsort(row * (int(held.max(initial=0)) + 1) + others, kind="stable")  # rows stand in order already
    led = np.cumsum(others[order])
    before = np.concatenate([[0], led])[rows.indptr[:-1]][row[order]]
    kept = np.zeros(len(others), dtype=bool)
    kept[order] = (led - before <= budget) | (led - others[order] == before)
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return csr_matrix((rows.data[kept], rows.indices[kept], ends), shape=rows.shape)


def row_products(first: csr_matrix, second: csr_matrix, row: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return float32: first[i] . second[j] of each pair."""
    found = np.empty(len(row), dtype=np.float32)
    for part in _blocks(np.diff(first.indptr), np.diff(second.indptr), row, other):
        found[part] = np.asarray(first[row[part]].multiply(second[other[part]]).sum(axis=1)).ravel()
    return found


def _blocks(sizes: np.ndarray, others: np.ndarray, row: np.ndarray, other: np.ndarray) -> Iterator[slice]:
    """Cut pairs of rows of these sizes into slices, by PAIRS_PER_BLOCK and NUMBERS_PER_BLOCK."""
    for begin in range(0, len(row), PAIRS_PER_BLOCK):
        held = np.cumsum(sizes[row[begin : begin + PAIRS_PER_BLOCK]] + others[other[begin : begin + PAIRS_PER_BLOCK]])
        cuts = np.flatnonzero(np.diff(held // NUMBERS_PER_BLOCK)) + 1
        for start, end in pairwise([0, *cuts.tolist(), len(held)]):
            yield slice(begin + start, begin + end)
