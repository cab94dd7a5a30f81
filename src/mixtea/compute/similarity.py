"""Reductions of n x m similarities, in blocks of rows; the whole matrix is never built.

Every function takes unit vectors where it computes cosines, so that a block is one matrix product. Where several
processes share a run, each sweeps its own share of the rows, and all end with the same answer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from mixtea.compute import distributed
from mixtea.compute.memory import ALIGNED_ROWS, GATHERED_BYTES, row_blocks, sweep

logger = logging.getLogger(__name__)
MIN_NORM = 1e-12  # the least norm that is divided by


def unit(vectors: Tensor) -> Tensor:
    """Divide rows by their L2 norm; a zero row remains zero."""
    return F.normalize(vectors, dim=-1, eps=MIN_NORM)


def inverse_norm(rows: Tensor) -> Tensor:
    """Return [n]: 1 / |row|, and 0 for a zero row, which so remains zero and gets no gradient."""
    norm = torch.linalg.vector_norm(rows, dim=1)
    return norm.reciprocal().masked_fill_(norm <= MIN_NORM, 0.0)


def width(target: Tensor) -> int:
    """Return the bytes of one row of similarities to all targets."""
    return len(target) * target.element_size()


@contextmanager
def fast_products(wanted: bool) -> Iterator[None]:
    """Use tf32 products with float32 sums on GPUs that have them, while the block runs; a CPU is not affected."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if wanted else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


class Best(NamedTuple):
    """The best target of each source row and the best source of each target row, with their similarities."""

    target_of: Tensor
    target_score: Tensor
    source_of: Tensor
    source_score: Tensor


@torch.no_grad()
def best_both_ways(source: Tensor, target: Tensor, *, block_size: int | None = None, mib: int | None = None) -> Best:
    """Return the argmax of source @ target.T along both sides in one sweep; the lowest index wins an exact tie."""
    mine, aligned = distributed.own_rows(len(source)), aligned_rows(target)

    def run(mib: int) -> Best:
        return _best_of_rows(source, aligned, len(target), mine, block_size, mib)

    best = sweep(run, width(target), source.device, mib)
    index, score = (distributed.gather(part, len(source)) for part in (best.target_of, best.target_score))
    other_score, other_index = distributed.gather_max(best.source_score, best.source_of)
    return Best(index, score, other_index, other_score)


def _best_of_rows(source: Tensor, target: Tensor, m: int, mine: slice, block_size: int | None, mib: int | None) -> Best:
    target_index = torch.zeros(mine.stop - mine.start, dtype=torch.int64, device=source.device)
    target_score = source.new_empty(len(target_index))
    source_index = torch.zeros(len(target), dtype=torch.int64, device=source.device)
    source_score = source.new_full((len(target),), -torch.inf)
    for rows in row_blocks(mine.start, mine.stop, width(target), source.device, block_size, mib):
        block = similarities(source[rows], target, m)
        here = slice(rows.start - mine.start, rows.stop - mine.start)
        torch.max(block, dim=1, out=(target_score[here], target_index[here]))
        score, index = block.max(dim=0)
        better = score > source_score
        source_score = torch.where(better, score, source_score)
        source_index = torch.where(better, index + rows.start, source_index)
    return Best(target_index, target_score, source_index[:m], source_score[:m])


def aligned_rows(target: Tensor) -> Tensor:
    """Pad the target rows with zeros on a GPU, so that their number suits its fast matrix products."""
    missing = -len(target) % ALIGNED_ROWS if target.device.type == "cuda" else 0
    return F.pad(target, (0, 0, 0, missing)) if missing else target


def similarities(source: Tensor, target: Tensor, m: int) -> Tensor:
    """Return source @ target.T, -inf for the padding from the m-th target on."""
    block = source @ target.T
    if m < len(target):
        block[:, m:] = -torch.inf
    return block


def tie_tolerance(dtype: torch.dtype) -> float:
    """Return the difference below which similarities are equal: 1e-6 in float32, 1e-12 in float64.

    The same two vectors give slightly different products at different positions of a matrix product.
    """
    return 1e-12 if dtype == torch.float64 else 1e-6


@torch.no_grad()
def count_better_and_equal(
    source: Tensor, target: Tensor, truth: Tensor, *, block_size: int | None = None, mib: int | None = None
) -> tuple[Tensor, Tensor]:
    """Count the targets that are more similar to source row i than row truth[i], and those equally, it included."""
    tolerance = tie_tolerance(source.dtype)
    better, equal = torch.empty_like(truth), torch.empty_like(truth)

    def run(mib: int) -> None:
        for rows in row_blocks(0, len(source), 2 * width(target), source.device, block_size, mib):
            block = source[rows] @ target.T
            block -= block.gather(1, truth[rows, None])
            better[rows] = (block > tolerance).sum(1)
            equal[rows] = (block >= -tolerance).sum(1) - better[rows]

    sweep(run, 2 * width(target), source.device, mib)
    return better, equal


@torch.no_grad()
def top_k(
    source: Tensor,
    target: Tensor,
    k: int,
    metric: str = "cosine",
    *,
    block_size: int | None = None,
    mib: int | None = None,
) -> Tensor:
    """Return int64 [n, k]: the k nearest targets of each source row, in no particular order among near ties."""
    found = torch.empty(len(source), k, dtype=torch.int64, device=source.device)

    def run(mib: int) -> None:
        for rows in row_blocks(0, len(source), width(target), source.device, block_size, mib):
            found[rows] = nearness(source[rows], target, metric).topk(k, dim=1).indices

    sweep(run, width(target), source.device, mib)
    return found


def nearness(source: Tensor, target: Tensor, metric: str) -> Tensor:
    """Return [b, m], larger is nearer: the cosine of unit vectors, or a negated distance."""
    if metric == "cosine":
        return source @ target.T
    if metric == "euclidean":
        return -torch.cdist(source, target)
    return -torch.cdist(source, target, p=1.0)


@torch.no_grad()
def products_at(left: Tensor, right: Tensor, rows: Tensor, columns: Tensor, chunk_bytes: int) -> Tensor:
    """Return [p]: left_i . right_j for the p pairs (i, j) of `rows` and `columns`, in chunks of chunk_bytes.

    Of halves, in single precision.
    """
    kind = torch.promote_types(left.dtype, torch.float32)
    out = left.new_empty(len(rows), dtype=kind)
    row_bytes = max(1, 2 * left.shape[1] * kind.itemsize)

    def run(mib: int) -> None:
        at_once = max(1, min(chunk_bytes, mib << 20) // row_bytes)
        for first in range(0, len(out), at_once):
            part = slice(first, first + at_once)
            ends = (left.index_select(0, rows[part]), right.index_select(0, columns[part]))
            out[part] = torch.linalg.vecdot(*(end.to(kind) for end in ends))

    sweep(run, row_bytes, left.device, max(1, chunk_bytes >> 20))
    return out


@torch.no_grad()
def products_by_row(left: Tensor, right: Tensor, start: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Return the same for pairs that ascend by row, those of row i from start[i] on; a CPU copies no vectors."""
    if left.device.type != "cpu" or not len(rows):
        return products_at(left, right, rows, columns, GATHERED_BYTES[left.device.type])
    shape, kind = (len(left), len(right)), torch.promote_types(left.dtype, torch.float32)
    left, right = left.to(kind), right.to(kind)
    wanted = torch.sparse_csr_tensor(start, columns, left.new_zeros(len(rows)), shape, check_invariants=False)
    return torch.sparse.sampled_addmm(wanted, left, right.T, beta=0.0).values()


class Groups(NamedTuple):
    """Rows gathered by equality: row r is in group `of[r]`, and group g is `members[start[g] : start[g] + size[g]]`."""

    of: Tensor
    size: Tensor
    start: Tensor
    members: Tensor


def groups_of_equal_rows(vectors: Tensor) -> Groups:
    """Group bit-equal rows by a 64-bit hash of their bits; members ascend within a group."""
    bits = vectors.contiguous().view(torch.int64 if vectors.dtype == torch.float64 else torch.int32)
    generator = torch.Generator().manual_seed(0)
    odd = torch.empty(bits.shape[1], dtype=torch.int64).random_(-(2**63), None, generator=generator) | 1
    odd = odd.to(bits.device)
    hashes = torch.empty(len(bits), dtype=torch.int64, device=bits.device)

    def run(mib: int) -> None:
        for rows in row_blocks(0, len(bits), 8 * bits.shape[1], bits.device, mib=mib):
            torch.sum(bits[rows] * odd, dim=1, out=hashes[rows])  # the product of int32 and int64 is int64

    sweep(run, 8 * bits.shape[1], bits.device, None)
    _, of, size = torch.unique(hashes, return_inverse=True, return_counts=True)
    return Groups(of, size, size.cumsum(0) - size, torch.argsort(of, stable=True))


def unit_rows(vectors: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return unit(vectors[first]), unit(vectors[second]) for disjoint rows, with one copy and one gradient of each."""
    return _UnitRows.apply(vectors, first, second)


class _UnitRows(torch.autograd.Function):
    """y = x / |x|; d x = (g - y (y . g)) / |x|, written straight to its rows."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        kept: list[Tensor] = []
        for index in (first, second):
            rows = vectors.index_select(0, index)
            inverse = inverse_norm(rows)[:, None]
            kept += [rows.mul_(inverse), inverse, index]
        ctx.save_for_backward(*kept)
        ctx.shape = vectors.shape
        return kept[0], kept[3]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        saved = ctx.saved_tensors
        whole = gradients[0].new_zeros(ctx.shape)
        for gradient, (rows, inverse, index) in zip(gradients, (saved[:3], saved[3:]), strict=True):
            along = torch.linalg.vecdot(gradient, rows)[:, None]
            whole.index_copy_(0, index, gradient.addcmul(rows, along, value=-1).mul_(inverse))
        return whole, None, None
