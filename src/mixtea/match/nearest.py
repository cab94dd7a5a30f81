"""Nearest neighbours (Eq. 1): the k targets nearest to each source, by Faiss where it is installed or streamed."""

from __future__ import annotations

import importlib.util

import numpy as np
import torch
from torch import Tensor

from mixtea.similarity import row_blocks, top_k, unit

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

    Nearness is the cosine, or the negated Euclidean or Manhattan distance. `engine` is "faiss", "streamed" or "auto"
    (Faiss on CPU if it is installed). Either engine only proposes k + 8 candidates; nearness is then computed pair by
    pair in float64, so both give the same answer, and the lower row wins a tie.
    """
    source, target = source_vectors.detach(), target_vectors.detach()
    if metric == "cosine":
        source, target = unit(source), unit(target)
    k = min(k, len(target))
    wider = min(k + SPARE, len(target))
    use_faiss = engine == "faiss" or (engine == "auto" and source.device.type == "cpu" and has_faiss())
    if use_faiss and len(source):
        candidates = _faiss(source, target, wider, metric)
    else:
        candidates = top_k(source, target, wider, metric, mib=mib)
    return _rescored(source, target, candidates.sort(dim=1).values, k, metric, mib)


def has_faiss() -> bool:
    return importlib.util.find_spec("faiss") is not None


def _faiss(source: Tensor, target: Tensor, k: int, metric: str) -> Tensor:
    import faiss

    kind = {"cosine": faiss.METRIC_INNER_PRODUCT, "euclidean": faiss.METRIC_L2, "manhattan": faiss.METRIC_L1}[metric]
    index = faiss.IndexFlat(target.shape[1], kind)
    queries, items = (np.ascontiguousarray(t.cpu().numpy(), dtype=np.float32) for t in (source, target))
    index.add(items)
    return torch.from_numpy(index.search(queries, k)[1]).to(source.device)


def _rescored(
    source: Tensor, target: Tensor, candidates: Tensor, k: int, metric: str, mib: int | None
) -> tuple[Tensor, Tensor]:
    scores = torch.empty(len(source), k, dtype=torch.float64, device=source.device)
    rows_found = torch.empty(len(source), k, dtype=torch.int64, device=source.device)
    for rows in row_blocks(source, candidates.shape[1] * source.shape[1] * 16, mib=mib):
        pairs = target[candidates[rows]].double()
        exact = _pair_nearness(source[rows, None].double(), pairs, metric)
        order = exact.argsort(dim=1, descending=True, stable=True)[:, :k]
        scores[rows], rows_found[rows] = exact.gather(1, order), candidates[rows].gather(1, order)
    return scores.to(source.dtype), rows_found


def _pair_nearness(source: Tensor, target: Tensor, metric: str) -> Tensor:
    if metric == "cosine":
        return (source * target).sum(-1)
    return -torch.linalg.vector_norm(source - target, ord=1 if metric == "manhattan" else 2, dim=-1)
