"""The three index spaces of a task, and the ways from one to another.

An *entity index* numbers the entities of one graph. A *joint index* numbers those of all graphs of a task, graph after
graph. An *open index* numbers the entities of a side that are to be mapped, in random order. They are different types,
so that a type checker finds where one is taken for another; arrays are those of NumPy or of torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NewType, TypeVar

import numpy as np

from mixtea.compute.arrays import to_tensor
from mixtea.compute.scored_pairs import ScoredPairs, pairs_of_keys, positions
from mixtea.graph.graph import Graph

if TYPE_CHECKING:
    import torch

    from mixtea.graph.task import Task

    class Indices:
        """An array of whole numbers, of NumPy or torch."""

        def __getitem__(self, place: Any) -> Any: ...
        def __len__(self) -> int: ...
        def __ge__(self, other: Any) -> Any: ...
        def __array__(self) -> np.ndarray: ...
        def __getattr__(self, name: str) -> Any: ...

else:
    Indices = object

EntityIndex = NewType("EntityIndex", Indices)
JointEntities = NewType("JointEntities", Indices)
OpenRows = NewType("OpenRows", Indices)
PairsT = TypeVar("PairsT", bound=ScoredPairs)


@dataclass(frozen=True)
class JointIndex:
    """Joint numbering of the entities of all graphs: those of the first graph, then those of the second, and so on.

    Examples
    --------
    >>> joint = JointIndex((3, 2))
    >>> joint.of_entities(1, np.array([0, 1])).tolist(), joint.to_entities(1, np.array([3, 4])).tolist()
    ([3, 4], [0, 1])
    >>> joint.of_pairs(np.array([[2, 0]])).tolist(), joint.side_of(np.array([2, 3])).tolist()
    ([[2, 3]], [0, 1])
    """

    sizes: tuple[int, ...]

    @property
    def n(self) -> int:
        return sum(self.sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """Return the sizes of the first two graphs, whose pairs are looked at."""
        return self.sizes[0], self.sizes[1]

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Return the joint index of the first entity of each graph."""
        return tuple(sum(self.sizes[:side]) for side in range(len(self.sizes)))

    def of_entities(self, side: int, entities: Any) -> JointEntities:
        return entities + self.offsets[side]

    def to_entities(self, side: int, joint: Any) -> EntityIndex:
        return joint - self.offsets[side]

    def of_entity(self, side: int, entity: int) -> int:
        return entity + self.offsets[side]

    def to_entity(self, side: int, joint: int) -> int:
        return joint - self.offsets[side]

    def side_of(self, joint: Any) -> Any:
        """Return the graph of each joint index, of an array of NumPy."""
        return np.searchsorted(self.offsets, joint, side="right") - 1

    def of_pairs(self, pairs: Any) -> Any:
        """Return pairs [p, 2] of entities of the first two graphs by joint index."""
        return self._shifted(pairs, self.offsets[1])

    def to_pairs(self, joint: Any) -> Any:
        """Return pairs [p, 2] by joint index by the entities of the first two graphs."""
        return self._shifted(joint, -self.offsets[1])

    def rows(self, side: int) -> slice:
        """Return the slice of a graph's entities among all."""
        return slice(self.offsets[side], self.offsets[side] + self.sizes[side])

    def _shifted(self, pairs: Any, by: int) -> Any:
        found = pairs + 0  # a copy, of NumPy and torch alike
        found[:, 1] += by
        return found


class OpenIndex:
    """The entities of both sides that are to be mapped, in random order; their places are the open indices.

    `rows` are their joint indices. Link files list both sides in the same order, and ties go to the first: each side is
    shuffled on its own. Entities with triples come first, `n_with_triples` of each side; others are open only where a
    voter can judge them, and the student does not learn about them.
    """

    def __init__(self, rows: tuple[Any, Any], sizes: tuple[int, ...], n_with_triples: tuple[int, int]) -> None:
        self.rows, self.joint, self.n_with_triples = rows, JointIndex(sizes), n_with_triples
        first, second = (positions(side, self.joint.n) for side in rows)
        self.place_of = first.maximum(second)

    @property
    def sizes(self) -> tuple[int, int]:
        return self.joint.shape

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows[0]), len(self.rows[1])

    @cached_property
    def own(self) -> tuple[EntityIndex, EntityIndex]:
        """Return the entity indices of each side."""
        return self.joint.to_entities(0, self.rows[0]), self.joint.to_entities(1, self.rows[1])

    @cached_property
    def rows_with_triples(self) -> tuple[Any, Any]:
        return self.rows[0][: self.n_with_triples[0]], self.rows[1][: self.n_with_triples[1]]

    def places(self, side: int, entities: Any) -> OpenRows:
        """Return the open index of each entity of a side, -1 for one that is not open."""
        return self.place_of[self.joint.of_entities(side, entities)]

    def pairs(self, source: Any, target: Any) -> ScoredPairs:
        """Make pairs of entity indices, in any order; those that are not open are left out."""
        row, column = self.places(0, source), self.places(1, target)
        is_open = (row >= 0) & (column >= 0)
        return self.open_pairs(pairs_of_keys(row[is_open] * self.shape[1] + column[is_open], self.shape))

    def of_entities(self, pairs: np.ndarray) -> ScoredPairs:
        """Make pairs of an array [p, 2] of entity indices; those that are not open are left out."""
        return self.pairs(*ScoredPairs.of(pairs, self.joint.shape).to(self.rows[0]).ends)

    def open_pairs(self, pairs: ScoredPairs) -> ScoredPairs:
        """Return pairs whose rows are open indices, with this as their space."""
        return replace(pairs, space=self)

    def to_open(self, pairs: PairsT) -> PairsT:
        """Return pairs of entities, each once, by open index, with their columns; others are left out."""
        pairs = pairs.to(self.rows[0])
        row, column = self.places(0, pairs.source), self.places(1, pairs.target)
        is_open = (row >= 0) & (column >= 0)
        key, order = (row[is_open] * self.shape[1] + column[is_open]).sort()
        columns = {name: values[is_open][order] for name, values in pairs.columns.items()}
        m = max(self.shape[1], 1)
        return replace(pairs, source=key // m, target=key % m, shape=self.shape, columns=columns, space=self)

    def to_entities(self, pairs: PairsT) -> PairsT:
        """Return pairs by entity index, in the order that they have."""
        source, target = self.own
        ends = source[pairs.source], target[pairs.target]
        return replace(pairs, source=ends[0], target=ends[1], shape=self.joint.shape, space=None)

    def not_in(self, pairs: Any) -> tuple[Any, Any]:
        """Return the open indices of each side that are in none of the pairs [p, 2] of entity indices."""
        found = []
        for side, own in enumerate(self.own):
            is_free = own.new_ones(self.sizes[side]).bool()
            is_free[pairs[:, side]] = False
            found.append(is_free[own].nonzero().flatten())
        return found[0], found[1]

    def mask_without_triples(self, pairs: ScoredPairs, scores: Any) -> Any:
        """Set the scores of pairs to NaN where an end has no triples, so that structure has no evidence."""
        if self.n_with_triples == self.shape:
            return scores
        unknown = (pairs.source >= self.n_with_triples[0]) | (pairs.target >= self.n_with_triples[1])
        return scores.masked_fill(unknown, float("nan"))


def find_open_entities(
    task: Task, generator: torch.Generator, device: torch.device, *, without_triples: bool = False
) -> OpenIndex:
    """Return the unlabelled entities of a task, shuffled; also those without triples if wanted."""
    import torch

    def shuffled(entities: np.ndarray) -> torch.Tensor:
        order = torch.randperm(len(entities), generator=generator, device=generator.device)
        return to_tensor(entities, order.device)[order].to(device)

    connected = [shuffled(entities) for entities in task.unlabelled()]
    rows = connected
    if without_triples:
        alone = [
            shuffled(np.setdiff1d(np.flatnonzero(graph.isolated()), task.closed_entities(side)))
            for side, graph in enumerate((task.source, task.target))
        ]
        rows = [torch.cat(parts) for parts in zip(connected, alone, strict=True)]
    joint = task.joint_index
    by_joint = (joint.of_entities(0, rows[0]), joint.of_entities(1, rows[1]))
    return OpenIndex(by_joint, joint.sizes, (len(connected[0]), len(connected[1])))


def joint_triples(graphs: Sequence[Graph], *, shared_relations: bool) -> tuple[np.ndarray, int]:
    """Return [3, t]: head, relation, tail of all triples in joint indices, graph after graph; and how many relations.

    Relations of the same name in several graphs are one where they are shared.
    """
    relation_of, n_relations = relation_numbers(graphs, shared_relations)
    joint = JointIndex(tuple(graph.n_entities for graph in graphs))
    parts = [
        np.stack([g.triples[:, 0] + shift, relation_of[side][g.triples[:, 1]], g.triples[:, 2] + shift])
        for side, (g, shift) in enumerate(zip(graphs, joint.offsets, strict=True))
    ]
    return np.concatenate(parts, axis=1), n_relations


def relation_numbers(graphs: Sequence[Graph], shared: bool) -> tuple[list[np.ndarray], int]:
    """Return per graph the joint index of each relation, and their number; equal names have one if `shared`."""
    if not shared:
        joint = JointIndex(tuple(graph.n_relations for graph in graphs))
        return [np.arange(joint.n)[joint.rows(side)] for side in range(len(graphs))], joint.n
    number: dict[str, int] = {}
    found = [
        np.array([number.setdefault(name, len(number)) for name in graph.relations], dtype=np.int64) for graph in graphs
    ]
    return found, len(number)
