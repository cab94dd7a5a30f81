"""The engine: what is asked of all n x m similarities, answered in blocks of rows; nothing ever builds n x m.

Every function takes unit vectors where it says cosine, so that a block is one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

BLOCK_MIB = {"cpu": 32, "cuda": 256}  # on a CPU larger blocks are no faster, on a GPU smaller ones are slower

EPSILON = 1e-12  # the least norm that is divided by


def unit(vectors: Tensor) -> Tensor:
    """Rows divided by their L2 norm; a zero row stays zero."""
    return F.normalize(vectors, dim=-1, eps=EPSILON)


def row_blocks(
    source: Tensor, row_bytes: int, block_size: int | None = None, mib: int | None = None
) -> Iterator[slice]:
    """Slices that cover the rows of `source`: of `block_size` rows, or of as many as fit into `mib` MiB.

    `row_bytes` is what one row takes in a block; without `mib` the device's default holds.
    """
    size = block_size or max(1, ((mib or BLOCK_MIB[source.device.type]) << 20) // max(row_bytes, 1))
    for start in range(0, len(source), size):
        yield slice(start, min(start + size, len(source)))


def width(target: Tensor) -> int:
    """The bytes of one row of similarities to all targets."""
    return len(target) * target.element_size()


class Best(NamedTuple):
    """The best target of each source row and the best source of each target row, with their similarities."""

    target: Tensor
    target_score: Tensor
    source: Tensor
    source_score: Tensor


@torch.no_grad()
def best_both_ways(source: Tensor, target: Tensor, *, block_size: int | None = None, mib: int | None = None) -> Best:
    """Argmax of source @ target.T along both sides in one sweep; the lowest index wins an exact tie."""
    n, m = len(source), len(target)
    target_index = torch.zeros(n, dtype=torch.int64, device=source.device)
    target_score = source.new_empty(n)
    source_index = torch.zeros(m, dtype=torch.int64, device=source.device)
    source_score = source.new_full((m,), -torch.inf)
    for rows in row_blocks(source, width(target), block_size, mib):
        block = source[rows] @ target.T
        target_score[rows], target_index[rows] = block.max(dim=1)
        score, index = block.max(dim=0)
        better = score > source_score
        source_score = torch.where(better, score, source_score)
        source_index = torch.where(better, index + rows.start, source_index)
    return Best(target_index, target_score, source_index, source_score)


@torch.no_grad()
def count_better_and_equal(
    source: Tensor, target: Tensor, truth: Tensor, *, block_size: int | None = None, mib: int | None = None
) -> tuple[Tensor, Tensor]:
    """How many targets are more similar to source row i than target row truth[i], and how many equally (it included).

    Equal means within 1e-6 in float32 and 1e-12 in float64: the same two vectors give slightly different products at
    different places of a matrix product.
    """
    tolerance = 1e-12 if source.dtype == torch.float64 else 1e-6
    better, equal = torch.empty_like(truth), torch.empty_like(truth)
    for rows in row_blocks(source, 2 * width(target), block_size, mib):
        block = source[rows] @ target.T
        block -= block.gather(1, truth[rows, None])
        better[rows] = (block > tolerance).sum(1)
        equal[rows] = (block >= -tolerance).sum(1) - better[rows]
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
    """int64 [n, k]: the k nearest targets of each source row, in no particular order among near ties."""
    found = torch.empty(len(source), k, dtype=torch.int64, device=source.device)
    for rows in row_blocks(source, width(target), block_size, mib):
        found[rows] = nearness(source[rows], target, metric).topk(k, dim=1).indices
    return found


def nearness(source: Tensor, target: Tensor, metric: str) -> Tensor:
    """[b, m]: larger is nearer; the cosine of unit vectors, or a negated distance."""
    if metric == "cosine":
        return source @ target.T
    if metric == "euclidean":
        return -torch.cdist(source, target)
    return -torch.cdist(source, target, p=1.0)
