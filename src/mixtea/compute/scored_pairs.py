"""Pairs of two sides with columns of numbers about them, as NumPy arrays or torch tensors alike.

Everything here is linear in the number of pairs. Torch is imported only where tensors come in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mixtea.compute.arrays import as_arrays, as_numpy, as_tensors, to_tensor

if TYPE_CHECKING:
    from mixtea.graph.joint_index import OpenIndex

Array = Any  # of NumPy or of torch; all arrays of an object or a call are of the same kind
NO_SCORE = -float("inf")
SCORE = "score."  # begins the name of a column with the scores of an opinion


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs (source, target) of n x m with columns of numbers, each pair once.

    ScoredPairs, opinions, beliefs, candidates and stored answers are this with different columns.

    Parameters
    ----------
    source, target
        int [p]: the two ends of each pair. Tensors ascend by source, then target; NumPy arrays may have any order.
    shape
        n and m, how many rows and columns there are.
    columns
        By name, an array [p, ...] with a row per pair; `pairs.belief` is `pairs.columns["belief"]`.
    space
        The index that `source` and `target` belong to: None for entities of each graph, else open entities.

    Examples
    --------
    >>> pairs = ScoredPairs(np.array([0, 0, 1]), np.array([1, 2, 0]), (2, 3), {"belief": np.array([0.9, 0.1, 0.5])})
    >>> pairs.where(pairs.belief > 0.3).target.tolist()
    [1, 0]
    >>> pairs.look_up(np.array([0, 1]), np.array([2, 2]), "belief", missing=0.0).tolist()
    [0.1, 0.0]
    """

    source: Array
    target: Array
    shape: tuple[int, int]
    columns: Mapping[str, Array] = field(default_factory=dict)
    space: OpenIndex | None = None

    @classmethod
    def of(cls, ends: Any, shape: tuple[int, int], **columns: Array) -> Self:
        """Make pairs of an array [p, 2] of links, or of the two ends."""
        source, target = ends.T if hasattr(ends, "T") else ends
        return cls(source, target, shape, columns)

    def __post_init__(self) -> None:
        vars(self).update(self.columns)

    def __len__(self) -> int:
        return len(self.source)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no column {name!r}")

    @property
    def ends(self) -> tuple[Array, Array]:
        return self.source, self.target

    @property
    def key(self) -> Array:
        """Return int64 [p]: one number per pair, source * m + target."""
        return self.key_of(self.source, self.target)

    def key_of(self, source: Array, target: Array) -> Array:
        return source * max(self.shape[1], 1) + target

    @property
    def scores(self) -> dict[str, Array]:
        """Return the columns with scores, by opinion."""
        return {name.removeprefix(SCORE): values for name, values in self.columns.items() if name.startswith(SCORE)}

    def with_columns(self, **columns: Array) -> Self:
        """Return the same pairs with further columns, or others of the same name."""
        return replace(self, columns={**self.columns, **columns})

    def where(self, kept: Array) -> Self:
        """Select pairs by a mask or by their places, with their columns."""
        columns = {name: values[kept] for name, values in self.columns.items()}
        return replace(self, source=self.source[kept], target=self.target[kept], columns=columns)

    @cached_property
    def _sorted_key(self) -> tuple[Array, Array | None]:
        """Return the keys, ascending, and the places of the pairs in that order, None where they ascend already."""
        key = self.key
        if not isinstance(key, np.ndarray) or (key[1:] > key[:-1]).all():
            return key, None
        order = np.argsort(key)
        return key[order], order

    def find(self, source: Array, target: Array) -> tuple[Array, Array]:
        """Return the place of each pair among these (0 for others), and whether it is among them."""
        wanted = self.key_of(source, target)
        key, order = self._sorted_key
        if not len(key):
            return wanted * 0, wanted != wanted
        if isinstance(key, np.ndarray):
            place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
            found = key[place] == wanted
            return np.where(found, place if order is None else order[place], 0), found
        import torch

        place = torch.searchsorted(key, wanted).clamp_(max=len(key) - 1)
        found = key[place] == wanted
        return place.where(found, 0), found

    def look_up(self, source: Array, target: Array, column: str | np.ndarray, missing: float) -> np.ndarray:
        """Return the values of a column, given by name or as it is, of some pairs; `missing` for others (NumPy)."""
        values = self.columns[column] if isinstance(column, str) else column
        if not len(self):
            return np.full(len(source), missing)
        place, found = self.find(source, target)
        return np.where(found, values[place], missing)

    def are_among(self, links: np.ndarray) -> np.ndarray:
        """Return bool [p]: which pairs are among the links [l, 2] (NumPy)."""
        return np.isin(self.key, self.key_of(links[:, 0], links[:, 1]))

    def without(self, others: ScoredPairs | None) -> Self:
        """Remove the pairs that are among others between the same rows."""
        return self if others is None or not len(others) else self.where(~others.find(self.source, self.target)[1])

    def row_sum(self, values: Array) -> Array:
        return group_sum(self.source, values, self.shape[0])

    def column_sum(self, values: Array) -> Array:
        return group_sum(self.target, values, self.shape[1])

    def row_max(self, values: Array) -> Array:
        """Return [n]: the greatest value of each source, -inf where it has no pair."""
        return group_max(self.source, values, self.shape[0])

    def column_max(self, values: Array) -> Array:
        return group_max(self.target, values, self.shape[1])

    def best_of_rows(self, values: Array) -> Array:
        """Return bool [p]: the first of the greatest of each source."""
        return _first(values == self.row_max(values)[self.source], self.source, self.shape[0])

    def best_of_columns(self, values: Array) -> Array:
        """Return bool [p]: the first of the greatest of each target."""
        return _first(values == self.column_max(values)[self.target], self.target, self.shape[1])

    def top_k(self, values: Array, k: int) -> Self:
        """Select the k greatest values of each source and of each target, to nine digits of their range (torch)."""
        best = top_k_mask(self.source, values, self.shape[0], k)
        return self.where(best | top_k_mask(self.target, values, self.shape[1], k))

    def of_rows(self, rows: Array) -> Self:
        """Select the pairs of some sources, which become rows 0, 1, 2, ... (torch)."""
        place = positions(rows, self.shape[0])
        found = self.where(place[self.source] >= 0)
        return replace(found, source=place[found.source], shape=(len(rows), self.shape[1]), space=None)

    def among_first(self, n: int, m: int) -> Self:
        """Select the pairs between the first n sources and the first m targets."""
        if (n, m) == self.shape:
            return self
        return replace(self.where((self.source < n) & (self.target < m)), shape=(n, m), space=None)

    def reindex(self, space: OpenIndex | None) -> Self:
        """Return the pairs by another index, None for entities; those with an end that is not in it are left out."""
        if space is self.space:
            return self
        by_entity = self if self.space is None else self.space.to_entities(self)
        return by_entity if space is None else space.to_open(by_entity)

    @cached_property
    def by_entity(self) -> Self:
        """Return the pairs by entity index, as NumPy arrays."""
        return self.reindex(None).numpy()

    def numpy(self) -> Self:
        """Return the same pairs with NumPy arrays."""
        return replace(
            self, source=as_numpy(self.source), target=as_numpy(self.target), columns=as_arrays(self.columns)
        )

    def to(self, like: Any) -> Self:
        """Return the same pairs, in the same order, with tensors on the device of the tensor `like`."""
        columns = as_tensors(self.columns, like.device)
        source, target = (to_tensor(end, like.device).long() for end in self.ends)
        return replace(self, source=source, target=target, columns=columns)

    def sorted(self) -> Self:
        """Return the pairs ascending by source, then target (NumPy)."""
        return self.where(np.lexsort((self.target, self.source)))

    def to_dense(self, column: str = "confidence") -> Array:
        """Return the values of a column as a matrix [n, m], to look at small examples (torch)."""
        values = self.columns[column]
        return values.new_zeros(self.shape).index_put_((self.source, self.target), values, accumulate=True)

    def score_of(self, opinion: str, source: int, target: int) -> float | None:
        """Return the score of a pair; None where the opinion or the pair is missing (NumPy)."""
        found = self.weight_of(opinion, source, target)
        return None if found is None or np.isnan(found) else found

    def weight_of(self, opinion: str, source: int, target: int) -> float | None:
        """Return the score of a pair, NaN where it is not among these; None without an opinion on it (NumPy)."""
        values = self.columns.get(SCORE + opinion)
        if values is None:
            return None
        place, found = self.find(np.array([source]), np.array([target]))
        if not found[0]:
            return float("nan")
        return None if np.isnan(values[place[0]]) else float(values[place[0]])


def pairs_of_keys(key: Array, shape: tuple[int, int], *, ascending: bool = False) -> ScoredPairs:
    """Make pairs of keys source * m + target, sorted and without repetitions unless they are `ascending` already."""
    if not ascending:
        key = distinct(key)
    m = max(shape[1], 1)
    return ScoredPairs(key // m, key % m, shape)


def concat(parts: Sequence[ScoredPairs]) -> ScoredPairs:
    """Join pairs that all have the same columns, in the order given (NumPy); a missing score is NaN."""
    names = dict.fromkeys(name for part in parts for name in part.columns)

    def column(name: str) -> np.ndarray:
        like = next(part.columns[name] for part in parts if name in part.columns)
        return np.concatenate([part.columns.get(name, np.full(len(part), np.nan)).astype(like.dtype) for part in parts])

    source, target = (np.concatenate([part.ends[side] for part in parts]) for side in (0, 1))
    return replace(parts[0], source=source, target=target, columns={name: column(name) for name in names})


def union(parts: Sequence[ScoredPairs]) -> ScoredPairs:
    """Return the pairs that are in any of the parts, without columns."""
    if len(parts) == 1:
        return replace(parts[0], columns={}) if parts[0].columns else parts[0]
    keys: list[Array] = [part.key for part in parts]
    if isinstance(keys[0], np.ndarray):
        return pairs_of_keys(np.concatenate(keys), parts[0].shape)
    import torch

    return pairs_of_keys(torch.cat(keys), parts[0].shape)


def scored(scores: Mapping[str, Array]) -> dict[str, Array]:
    """Return columns of the scores of opinions."""
    return {SCORE + name: values for name, values in scores.items()}


def distinct(numbers: Array) -> Array:
    """Return each of the numbers [n] once, ascending.

    >>> distinct(np.array([3, 1, 3]))
    array([1, 3])
    """
    if not isinstance(numbers, np.ndarray):
        return numbers.unique()
    ordered = np.sort(numbers)  # faster than the hash table of np.unique
    return ordered[np.r_[True, ordered[1:] != ordered[:-1]]] if len(ordered) else ordered


def group_sum(line: Array, values: Array, n: int) -> Array:
    """Return [n]: the sum of the values of each line."""
    if isinstance(values, np.ndarray):
        return np.bincount(line, values, minlength=n)
    return values.new_zeros(n).index_add_(0, line, values)


def group_max(line: Array, values: Array, n: int, least: float = NO_SCORE) -> Array:
    """Return [n]: the greatest value of each line, at least `least`."""
    if isinstance(values, np.ndarray):
        found = np.full(n, least)
        np.maximum.at(found, line, values)
        return found
    return values.new_full((n,), least).scatter_reduce_(0, line, values, "amax")


def best_rival(line: np.ndarray, value: np.ndarray, n: int) -> np.ndarray:
    """Return [p]: the greatest value of another one in the line of each; 0 if there is none."""
    best = group_max(line, value, n, 0.0)
    is_best = value >= best[line]
    alone = np.bincount(line[is_best], minlength=n) == 1
    second = group_max(line[~is_best], value[~is_best], n, 0.0)
    return np.where(is_best & alone[line], second[line], best[line])


def are_in(entities: np.ndarray, n: int) -> np.ndarray:
    """Return bool [n]: which numbers below n are among the entities."""
    found = np.zeros(n, dtype=bool)
    found[entities] = True
    return found


def _first(among: Array, line: Array, n: int) -> Array:
    """Return bool [p]: the first of those `among` of each line."""
    if isinstance(among, np.ndarray):
        kept = np.flatnonzero(among)
        found = np.zeros(len(among), dtype=bool)
        found[kept[np.unique(line[kept], return_index=True)[1]]] = True
        return found
    import torch

    place = torch.arange(len(line), device=line.device)
    first = torch.full((n,), len(line), device=line.device)
    first.scatter_reduce_(0, line[among], place[among], "amin")
    return among & (first[line] == place)


def positions(rows: Array, n: int) -> Array:
    """Return [n]: the index of each of n entities in the tensor `rows`, -1 for others."""
    import torch

    place = torch.full((n,), -1, device=rows.device)
    place[rows] = torch.arange(len(rows), device=rows.device)
    return place


def rank_within(line: Array, values: Array, n: int | None = None) -> Array:
    """Return the rank of each value within its line (a row or column, one of n), 0 for the greatest.

    Of equal values the first ranks first.
    """
    order: Array
    if isinstance(values, np.ndarray):
        order = np.lexsort((-values, line))
        sizes = np.bincount(line, minlength=n or 0)
        ranks = np.empty(len(line), dtype=np.int64)
        ranks[order] = np.arange(len(line)) - (np.cumsum(sizes) - sizes)[line[order]]
        return ranks
    import torch

    order = torch.argsort(values, descending=True, stable=True)
    order = order[torch.argsort(line[order], stable=True)]
    size = torch.bincount(line, minlength=n or 0)
    rank = torch.empty_like(line)
    rank[order] = torch.arange(len(line), device=line.device) - (size.cumsum(0) - size)[line[order]]
    return rank


def top_k_mask(line: Array, values: Array, n: int, k: int) -> Array:
    """Return bool: the k greatest values of each line (one of n), to nine digits of their range (torch)."""
    import torch

    if not len(line):
        return torch.zeros_like(line, dtype=torch.bool)
    low, high = values.min().double(), values.max().double()
    order = torch.argsort(line - (values.double() - low) / (high - low).clamp_(min=1e-30) / 2)
    size = torch.bincount(line, minlength=n)
    best = torch.zeros_like(line, dtype=torch.bool)
    first = (size.cumsum(0) - size)[line[order]]
    best[order] = torch.arange(len(line), device=line.device) - first < k
    return best
