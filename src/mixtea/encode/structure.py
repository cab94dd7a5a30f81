"""Sparse arrays of two graphs that the encoders of student and teacher share."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from mixtea.compute.arrays import to_tensor
from mixtea.config import Config
from mixtea.graph.graph import Graph
from mixtea.graph.joint_index import joint_triples

# torch says once that its compressed rows are in beta, and that it trusts our indices as we ask it to
warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
warnings.filterwarnings("ignore", message="Sparse invariant checks are implicitly disabled")


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Undirected neighbours in compressed rows: row i's neighbours are `column[start[i]:start[i + 1]]`.

    `row` names the row of each edge, `reverse` the position of the same edge seen from its other end, so the
    transpose of a matrix with these edges has the values `values[reverse]` at the same places.
    """

    start: Tensor
    row: Tensor
    column: Tensor
    reverse: Tensor


@dataclass(frozen=True, eq=False)
class Mean:
    """A fixed sparse averaging matrix [n, r] and its transpose, both in compressed rows."""

    matrix: Tensor
    transposed: Tensor


@dataclass(frozen=True, eq=False)
class Structure:
    """Both graphs in joint indices: source entities first, then target entities."""

    n_source: int
    n_target: int
    n_relations: int
    neighbours: Adjacency
    outward: Mean
    inward: Mean

    @property
    def n_entities(self) -> int:
        return self.n_source + self.n_target

    def to(self, device: torch.device, dtype: torch.dtype) -> Structure:
        return _moved(self, device, dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Structure:
        """Return itself: it is never written to, and torch cannot copy compressed rows."""
        return self


def _moved(value: Any, device: torch.device, dtype: torch.dtype) -> Any:
    """Move every tensor inside nested dataclasses to `device`, floating-point ones as `dtype`."""
    if isinstance(value, Tensor):
        return value.to(device, dtype if value.is_floating_point() else None)
    if isinstance(value, Structure | Adjacency | Mean):
        return replace(value, **{name: _moved(part, device, dtype) for name, part in vars(value).items()})
    return value


def build_structure(source: Graph, target: Graph, config: Config) -> Structure:
    """Number both graphs together and build neighbours and relation means."""
    (head, relation, tail), n_relations = joint_triples((source, target), shared_relations=config.shared_relations)
    n = source.n_entities + target.n_entities
    means = (_mean(entity, relation, n, n_relations, config.relation_mean) for entity in (head, tail))
    neighbours = _adjacency(head, tail, n, config.self_connection)
    return Structure(source.n_entities, target.n_entities, n_relations, neighbours, *means)


def _adjacency(head: np.ndarray, tail: np.ndarray, n: int, self_connection: bool) -> Adjacency:
    keys = np.concatenate([head * n + tail, tail * n + head])
    if self_connection:
        keys = np.concatenate([keys, np.arange(n) * (n + 1)])
    keys = np.unique(keys)
    row, column = keys // n, keys % n
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=n), out=start[1:])
    reverse = np.searchsorted(keys, column * n + row)
    return Adjacency(*(to_tensor(a) for a in (start, row, column, reverse)))


def _mean(entity: np.ndarray, relation: np.ndarray, n: int, n_relations: int, kind: str) -> Mean:
    """Return rows that average the relation vectors at each entity (Eq. 4-5): over occurrences, or over the set."""
    counts = sp.coo_matrix((np.ones(len(entity)), (entity, relation)), shape=(n, n_relations)).tocsr()
    if kind == "set":
        counts.data[:] = 1.0
    total = np.asarray(counts.sum(axis=1)).ravel()
    matrix = sp.csr_matrix(sp.diags(1.0 / np.maximum(total, 1.0)) @ counts)
    return Mean(_compressed(matrix), _compressed(matrix.T.tocsr()))


def _compressed(matrix: sp.csr_matrix) -> Tensor:
    start, column, values = (
        to_tensor(part) for part in (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)
    )
    return torch.sparse_csr_tensor(start, column, values, matrix.shape, check_invariants=False)
