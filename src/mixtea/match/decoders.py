"""Decoders: from scored candidate pairs to a ranking of each row's candidates. All are linear in the pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components, min_weight_full_bipartite_matching
from torch import Tensor

from mixtea.compute.memory import enough_memory
from mixtea.compute.pairs import FEWER_PAIRS, Pairs, rank_within
from mixtea.vote.normalise import csls

ASSIGNED = 1000.0  # added to the score of an assigned pair: far above any logarithm of a belief
LEAST_LOG = -60.0
ASSIGNED_FROM, UNLIKELY = 20, -7.0  # candidates of a row that take part in an assignment, and their least logarithm


@enough_memory(FEWER_PAIRS)
def decide(pairs: Pairs, scores: Tensor, belief: Tensor, decoder: str) -> Tensor:
    """A number a pair by which each row's candidates are ranked, greatest first, by one of DECODERS.

    All are rounded, so that twins tie whatever the order of the sums behind them.
    """
    return DECODERS[decoder](pairs, scores, belief)


def _nearest(pairs: Pairs, scores: Tensor, belief: Tensor) -> Tensor:
    """The scores as they are."""
    return scores.round(decimals=6)


def _csls(pairs: Pairs, scores: Tensor, belief: Tensor) -> Tensor:
    """The scores normalised by both neighbourhoods."""
    return csls(pairs, scores).round(decimals=6)


def _sinkhorn(pairs: Pairs, scores: Tensor, belief: Tensor) -> Tensor:
    """The logarithm of the belief."""
    return belief.log().clamp_(min=LEAST_LOG).round(decimals=4)


def _one_to_one(pairs: Pairs, scores: Tensor, belief: Tensor) -> Tensor:
    """The same, after the pairs of the best assignment, in which every source and target occurs once."""
    ranking = _sinkhorn(pairs, scores, belief)
    return ranking + ASSIGNED * assign(pairs, ranking)


DECODERS: dict[str, Callable[[Pairs, Tensor, Tensor], Tensor]] = {
    "nearest": _nearest,
    "csls": _csls,
    "sinkhorn": _sinkhorn,
    "one_to_one": _one_to_one,
}


def assign(pairs: Pairs, logs: Tensor) -> Tensor:
    """bool a pair: the one-to-one mapping of the greatest total of logarithms of belief (SciPy's sparse assignment).

    Only a row's 20 best candidates above UNLIKELY, and its very best, take part; so the problem falls into small ones
    that share no entity, each solved on its own. A row whose candidates are all taken by better ones stays without.
    Equal totals are decided by position: callers shuffle the sides.
    """
    n, m = pairs.shape
    rank = rank_within(pairs.source, logs, n)
    kept = (rank < ASSIGNED_FROM) & ((logs > UNLIKELY) | (rank == 0))
    row, column, gain = (a[kept].cpu().numpy() for a in (pairs.source, pairs.target, logs.double()))
    chosen = np.full(n, -1, dtype=np.int64)
    for part in _parts(row, column, n, m):
        rows, own = np.unique(row[part], return_inverse=True)
        columns, place = np.unique(column[part], return_inverse=True)
        chosen[rows] = np.append(columns, -1)[_assigned(own, place, gain[part], len(rows), len(columns))]
    return torch.from_numpy(chosen).to(pairs.target.device)[pairs.source] == pairs.target


def _parts(row: np.ndarray, column: np.ndarray, n: int, m: int) -> list[np.ndarray]:
    """The candidates by connected component of the rows and columns that they join."""
    graph = coo_matrix((np.ones(len(row), dtype=np.int8), (row, n + column)), shape=(n + m, n + m))
    component = connected_components(graph, directed=False)[1][row]
    order = np.argsort(component, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(component[order])) + 1) if len(order) else []


def _assigned(row: np.ndarray, column: np.ndarray, gain: np.ndarray, n: int, m: int) -> np.ndarray:
    """[n]: the column of each row, m for none."""
    if n == 1:
        return column[[gain.argmax()]]
    cost = gain.max() - gain + 1.0
    alone = np.arange(n)  # a place of its own for every row, dearer than any candidate
    rows, columns = np.concatenate([row, alone]), np.concatenate([column, m + alone])
    costs = np.concatenate([cost, np.full(n, cost.max() + 1.0)])
    found = min_weight_full_bipartite_matching(csr_matrix((costs, (rows, columns)), shape=(n, m + n)))
    return np.minimum(found[1][np.argsort(found[0])], m)


@enough_memory(FEWER_PAIRS)
def ranked(pairs: Pairs, ranking: Tensor, k: int) -> Tensor:
    """int64 [n, k]: the places of each row's k best pairs, best first, -1 where a row has fewer."""
    rank = rank_within(pairs.source, ranking, pairs.shape[0])
    kept = rank < k
    out = torch.full((pairs.shape[0], k), -1, device=rank.device)
    out[pairs.source[kept], rank[kept]] = torch.arange(len(pairs), device=rank.device)[kept]
    return out
