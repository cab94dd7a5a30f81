"""Nearest neighbours (Eq. 1): the k targets nearest to each source, by Faiss where it is installed or streamed."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mixtea.errors import MissingExtraError
from mixtea.similarity import row_blocks, top_k, unit

SMALL = 2000  # below it an index is not worth building
SPARE = 8  # candidates beyond k, so that near ties at the edge are decided by the exact re-scoring


def nearest(
    source_vectors: Tensor,
    target_vectors: Tensor,
    k: int = 1,
    metric: str = "cosine",
    *,
    engine: str = "auto",
    mib: int | None = None,
) -> tuple[Tensor, Tensor]:
    """e_j = argmin_j d(e_i, e_j) (Eq. 1), for the k best: (nearness [n, k], target rows [n, k]), best first.

    Nearness is the cosine, or the negated Euclidean or Manhattan distance. `engine` is "faiss" or "streamed", both
    exact, "auto" (Faiss on CPU if it is installed), or "ivf" or "hnsw", which may miss some. Every engine only proposes
    k + 8 candidates; nearness is then computed pair by pair in float64, so both exact engines give the same answer, and
    the lower row wins a tie.
    """
    source, target = source_vectors.detach(), target_vectors.detach()
    if metric == "cosine":
        source, target = unit(source), unit(target)
    k = min(k, len(target))
    wider = min(k + SPARE, len(target))
    if engine == "auto":
        engine = "faiss" if source.device.type == "cpu" and has_faiss() else "streamed"
    if engine == "streamed" or not len(source):
        candidates = top_k(source, target, wider, metric, mib=mib)
    else:
        candidates = approximate(source, target, wider, engine, metric)
    return _rescored(source, target, candidates.sort(dim=1).values, k, metric, mib)


def has_faiss() -> bool:
    return importlib.util.find_spec("faiss") is not None


def approximate(source: Tensor, target: Tensor, k: int, kind: str, metric: str = "cosine") -> Tensor:
    """int64 [n, k]: the targets nearest to each source row that a Faiss index finds, the last one again if it is short.

    `kind` is "ivf" (inverted lists), "hnsw" (a graph of neighbours) or "faiss" (exact). Vectors are unit for cosine.
    """
    if not has_faiss():
        raise MissingExtraError(f"search={kind} needs Faiss: pip install 'mixtea[faiss]'.")
    queries, items = (np.ascontiguousarray(t.cpu().numpy(), dtype=np.float32) for t in (source, target))
    index = _index(kind, items, metric)
    found = index.search(queries, k)[1]
    for place in range(1, k):
        found[:, place] = np.where(found[:, place] < 0, found[:, place - 1], found[:, place])
    return torch.from_numpy(np.maximum(found, 0)).to(source.device)


def _index(kind: str, items: np.ndarray, metric: str) -> Any:
    import faiss

    n, d = items.shape
    measure = {"cosine": faiss.METRIC_INNER_PRODUCT, "euclidean": faiss.METRIC_L2, "manhattan": faiss.METRIC_L1}[metric]
    lists = max(1, int(2 * n**0.5))
    index: Any
    if kind == "faiss" or n < SMALL:
        index = faiss.IndexFlat(d, measure)
    elif kind == "hnsw":
        index = faiss.IndexHNSWFlat(d, 32, measure)
        index.hnsw.efSearch = 128
    else:
        index = faiss.index_factory(d, f"IVF{lists},Flat", measure)
        index.nprobe = max(8, lists // 64)
        index.train(items)
    index.add(items)
    return index


def _rescored(
    source: Tensor, target: Tensor, candidates: Tensor, k: int, metric: str, mib: int | None
) -> tuple[Tensor, Tensor]:
    scores = torch.empty(len(source), k, dtype=torch.float64, device=source.device)
    rows_found = torch.empty(len(source), k, dtype=torch.int64, device=source.device)
    for rows in row_blocks(0, len(source), candidates.shape[1] * source.shape[1] * 16, source.device, mib=mib):
        pairs = target[candidates[rows]].double()
        exact = _pair_nearness(source[rows, None].double(), pairs, metric)
        again = candidates[rows, 1:] == candidates[rows, :-1]  # sorted, so a candidate named twice follows itself
        exact[:, 1:].masked_fill_(again, -torch.inf)
        order = exact.argsort(dim=1, descending=True, stable=True)[:, :k]
        scores[rows], rows_found[rows] = exact.gather(1, order), candidates[rows].gather(1, order)
    return scores.to(source.dtype), rows_found


def _pair_nearness(source: Tensor, target: Tensor, metric: str) -> Tensor:
    if metric == "cosine":
        return (source * target).sum(-1)
    return -torch.linalg.vector_norm(source - target, ord=1 if metric == "manhattan" else 2, dim=-1)
