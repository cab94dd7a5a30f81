"""Nearest neighbours (Eq. 1): the k targets nearest to each source, by Faiss where it is installed or streamed."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mixtea.compute.arrays import as_numpy, to_tensor
from mixtea.compute.memory import FEWER_PAIRS, enough_memory, row_blocks, sweep
from mixtea.compute.scored_pairs import ScoredPairs, pairs_of_keys
from mixtea.compute.similarity import (
    Groups,
    aligned_rows,
    groups_of_equal_rows,
    products_by_row,
    similarities,
    tie_tolerance,
    top_k,
    unit,
    width,
)
from mixtea.errors import MissingExtraError

MIN_INDEXED_TARGETS = 10_000  # targets; below it an index is not worth building
FAISS_BYTES = 256 << 20  # that it may take beside the vectors; where there is less, it crashes
SPARE_CANDIDATES = 8  # candidates beyond k, so that near ties at the edge are decided by the exact re-scoring


@enough_memory()
def nearest(
    source_vectors: Tensor,
    target_vectors: Tensor,
    k: int = 1,
    metric: str = "cosine",
    *,
    engine: str = "auto",
    mib: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Find e_j = argmin_j d(e_i, e_j) (Eq. 1), the k best: (nearness [n, k], target rows [n, k]), best first.

    Nearness is the cosine, or the negated Euclidean or Manhattan distance. `engine` is "faiss" or "streamed", both
    exact, "auto" (Faiss on CPU if it is installed), or "ivf" or "hnsw", which may miss some. Every engine only proposes
    k + 8 different vectors; nearness is then computed pair by pair in float64. Targets that differ in it by rounding
    alone are ordered by row, and twins, rows with exactly the same vector, follow each other: so both exact engines
    give the same answer.
    """
    source, target = source_vectors.detach(), target_vectors.detach()
    if metric == "cosine":
        source, target = unit(source), unit(target)
    k = min(k, len(target))
    groups = groups_of_equal_rows(target)
    different = groups.members[groups.start].sort().values  # the first row of each group
    wider = min(k + SPARE_CANDIDATES, len(different))
    if engine == "auto":
        fast = source.device.type == "cpu" and has_faiss() and _room_for_faiss(source, target)
        engine = "faiss" if fast else "streamed"
    among = target if len(different) == len(target) else target.index_select(0, different)
    if engine == "streamed" or not len(source):
        candidates = top_k(source, among, wider, metric, mib=mib)
    else:
        candidates = approximate(source, among, wider, engine, metric)
    scores, places = _rescored(source, among, candidates.sort(dim=1).values, metric, mib)
    if len(different) == len(target):
        return scores[:, :k].to(source.dtype), places[:, :k]
    return _with_twins(scores, groups.of[different[places]], groups, k, source.dtype)


def _with_twins(scores: Tensor, found: Tensor, groups: Groups, k: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return the first k rows when each of the groups `found` [n, w] gives all its members."""
    size = groups.size[found]
    ends = size.cumsum(1)
    slots = torch.arange(k, device=found.device).expand(len(found), k).contiguous()
    which = torch.searchsorted(ends, slots, right=True)
    within = slots - (ends - size).gather(1, which)
    return scores.gather(1, which).to(dtype), groups.members[groups.start[found.gather(1, which)] + within]


def has_faiss() -> bool:
    return importlib.util.find_spec("faiss") is not None


def _room_for_faiss(source: Tensor, target: Tensor) -> bool:
    """Return whether memory suffices for Faiss, by allocating it unused, which costs nothing."""
    try:
        torch.empty(FAISS_BYTES + 8 * (source.numel() + target.numel()), dtype=torch.uint8)
    except RuntimeError:
        return False
    return True


@enough_memory("Use search=exact, which searches in blocks.")
def approximate(source: Tensor, target: Tensor, k: int, kind: str, metric: str = "cosine") -> Tensor:
    """Return int64 [n, k]: the targets nearest to each source row by a Faiss index.

    `kind` is "ivf" (inverted lists), "hnsw" (a graph of neighbours) or "faiss" (exact). Vectors are unit for cosine.
    """
    if not has_faiss():
        raise MissingExtraError(f"search={kind} needs Faiss: pip install 'mixtea[faiss]'.")
    if not _room_for_faiss(source, target):
        raise MemoryError
    queries, items = (np.ascontiguousarray(as_numpy(t), dtype=np.float32) for t in (source, target))
    index = _index(kind, items, metric)
    found = index.search(queries, k)[1]
    short = (found < 0).any(axis=1)
    if short.any():  # too few in the lists that were looked at
        found[short] = _index("faiss", items, metric).search(queries[short], k)[1]
    return to_tensor(found, source.device)


def _index(kind: str, items: np.ndarray, metric: str) -> Any:
    import faiss

    n, d = items.shape
    measure = {"cosine": faiss.METRIC_INNER_PRODUCT, "euclidean": faiss.METRIC_L2, "manhattan": faiss.METRIC_L1}[metric]
    lists = max(1, int(2 * n**0.5))
    index: Any
    if kind == "faiss" or n < MIN_INDEXED_TARGETS:
        index = faiss.IndexFlat(d, measure)
    elif kind == "hnsw":
        index = faiss.IndexHNSWFlat(d, 32, faiss.METRIC_L2)  # the order of cosines too, as the vectors are unit
        index.hnsw.efConstruction, index.hnsw.efSearch = 100, 256
    else:
        index = faiss.index_factory(d, f"IVF{lists},Flat", measure)
        index.nprobe = max(8, lists // 64)
        index.train(items)
    index.add(items)
    return index


def _rescored(
    source: Tensor, target: Tensor, candidates: Tensor, metric: str, mib: int | None
) -> tuple[Tensor, Tensor]:
    """Return the nearness in float64 of candidates [n, w], ascending per row, and these; best first."""
    scores = torch.empty(candidates.shape, dtype=torch.float64, device=source.device)
    found = torch.empty_like(candidates)
    row_bytes = candidates.shape[1] * source.shape[1] * 16

    def run(mib: int) -> None:
        for rows in row_blocks(0, len(source), row_bytes, source.device, mib=mib):
            exact = _pair_nearness(source[rows, None].double(), target[candidates[rows]].double(), metric)
            order = _order(exact, tie_tolerance(source.dtype))
            scores[rows], found[rows] = exact.gather(1, order), candidates[rows].gather(1, order)

    sweep(run, row_bytes, source.device, mib)
    return scores, found


def _order(scores: Tensor, tolerance: float) -> Tensor:
    """Return the order of scores [n, w], greatest first; those that differ by rounding alone keep their order."""
    ranked = scores.sort(dim=1, descending=True)
    step = torch.zeros_like(ranked.indices)
    step[:, 1:] = ranked.values[:, :-1] - ranked.values[:, 1:] > tolerance
    level = torch.empty_like(step).scatter_(1, ranked.indices, step.cumsum(1))
    return level.argsort(dim=1, stable=True)


def _pair_nearness(source: Tensor, target: Tensor, metric: str) -> Tensor:
    if metric == "cosine":
        return (source * target).sum(-1)
    return -torch.linalg.vector_norm(source - target, ord=1 if metric == "manhattan" else 2, dim=-1)


@enough_memory(FEWER_PAIRS)
@torch.no_grad()
def nearest_pairs(
    source: Tensor, target: Tensor, k: int, *, looking: tuple[Tensor, Tensor] | None = None, mib: int | None = None
) -> ScoredPairs:
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
    row_bytes = width(wide)
    found = torch.empty(len(rows), k, dtype=torch.int64, device=source.device)

    def run(mib: int) -> None:
        for part in row_blocks(0, len(rows), row_bytes, source.device, mib=mib):
            block = source.index_select(0, rows[part])
            near = similarities(block, wide, m) if block.any() else block.new_zeros(1, m)
            found[part] = near.topk(k, dim=1, sorted=False).indices

    sweep(run, row_bytes, source.device, mib)
    return rows.repeat_interleave(k), found.flatten()


@enough_memory(FEWER_PAIRS)
@torch.no_grad()
def cosines(source: Tensor, target: Tensor, pairs: ScoredPairs) -> Tensor:
    """Return source[i] . target[j] of each pair, for unit vectors; of halves, in single precision."""
    start = torch.searchsorted(pairs.source, torch.arange(pairs.shape[0] + 1, device=source.device))
    return products_by_row(source, target, start, pairs.source, pairs.target)
