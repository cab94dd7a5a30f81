"""Values of two entities side by side, compared as the voter of attributes compares them; and columns. No torch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from mixtea.graph.graph import Graph
from mixtea.graph.task import Task
from mixtea.relations.alignment import Triples, compare_attributes, normalized_value
from mixtea.relations.neighbours import weighted_pairs
from mixtea.text.names import label_text, last_part
from mixtea.voters.attribute_values import Column
from mixtea.voters.attributes import MAX_VALUES_COMPARED, AttributeOpinions, best_pairs, is_similar

SAME, ALIKE, DIFFERS, LEFT, RIGHT, PENDING = "same", "alike", "differs", "left", "right", "pending"
LABEL_COLUMN = "label"  # the column of a label that no attribute states
PlacePairs = list[tuple[int, int]]  # of values that are paired, among those of either side

KeyOf = Callable[[int, int], Hashable]  # what values that belong together share, by side and place; None for nothing


class ShownValue(NamedTuple):
    """A value of an entity and its column: a predicate, or a relation whose other end has this name."""

    column: str
    text: str
    language: str = ""
    datatype: str = ""
    is_relation: bool = False


class Row(NamedTuple):
    """Two values that are compared, or one that the other side does not have; `likeness` is in [0, 1]."""

    state: str
    left: ShownValue | None
    right: ShownValue | None
    likeness: float = 0.0


def shown_values(graph: Graph, number: int) -> list[ShownValue]:
    """Return all values of an entity in the order of its file, after the further labels that no attribute states."""
    held = [ShownValue(*row) for row in graph.attributes_of(number)]
    stated = {one.text for one in held if graph.is_name(one.column)}
    labels = [ShownValue(LABEL_COLUMN, *label) for label in graph.labels_of(number)[1:] if label[0] not in stated]
    return [*labels, *held]


def local_part(name: str) -> str:
    """Return the last part of a predicate's name, without case."""
    return last_part(name.rstrip("/#:")).casefold()


@dataclass(frozen=True)
class SideBySide:
    """Pairs the values of entities: by the columns that the voter compares, by equal names, then equal values.

    `opinions` may take long to make. Without them no columns of other names are compared, and different values are
    PENDING.
    """

    task: Task
    opinions: Callable[[], AttributeOpinions] | None = None

    def __call__(self, source: int, target: int, most: int) -> tuple[list[Row], int]:
        """Return at most so many rows, shared values first, each side in its file's order; and how many there are."""
        left, right = shown_values(self.task.source, source), shown_values(self.task.target, target)
        n, m, opinions = len(left), len(right), None
        if (left or right) and self.opinions is not None:
            opinions = self.opinions()
            left, right = left + _named_ends(opinions, 0, source), right + _named_ends(opinions, 1, target)
        pairing = _Pairing((left, right), self.shared_columns, opinions)
        pairs = sorted(pairing.pairs())
        rows = [pairing.row(*pair) for pair in pairs[:most]]
        alone = [Row(LEFT, left[place], None) for place in sorted(pairing.open[0]) if place < n]
        alone += [Row(RIGHT, None, right[place]) for place in sorted(pairing.open[1]) if place < m]
        return [*rows, *alone[: most - len(rows)]], len(pairs) + len(alone)

    @cached_property
    def shared_columns(self) -> set[str]:
        """Return the local names of columns that both graphs have."""
        ours, theirs = (
            {local_part(name) for name in graph.attributes.predicate.texts()}
            for graph in (self.task.source, self.task.target)
        )
        return ours & theirs


class _Pairing:
    """The values of two entities while they are paired: those in `open` are not yet."""

    def __init__(
        self,
        sides: tuple[list[ShownValue], list[ShownValue]],
        shared_columns: set[str],
        opinions: AttributeOpinions | None,
    ) -> None:
        self.sides, self.shared_columns, self.opinions = sides, shared_columns, opinions
        self.open = [set(range(len(side))) for side in sides]
        self.keys = [[normalized_value(value.text, value.datatype) for value in side] for side in sides]
        self.compared = [] if opinions is None else opinions.columns_compared
        known = [set[Column](), set[Column]()] if opinions is None else opinions.columns_known
        self.columns = [[_column(value, of) for value in side] for side, of in zip(sides, known, strict=True)]

    def pairs(self) -> PlacePairs:
        """Return the places of values that belong together, each once."""
        by_column: list[KeyOf] = [partial(self._in_column, columns) for columns in self.compared]
        return [pair for key_of in (*by_column, self._name, self._value_alone) for pair in self._pass(key_of)]

    def row(self, one: int, other: int) -> Row:
        left, right = self.sides[0][one], self.sides[1][other]
        if self.keys[0][one] == self.keys[1][other]:
            return Row(SAME, left, right, 1.0)
        likeness = self._likeness([one], [other]).item()
        if np.isnan(likeness):
            return Row(PENDING, left, right)
        return Row(ALIKE if is_similar(likeness) else DIFFERS, left, right, likeness)

    def _in_column(self, columns: tuple[Column, Column], side: int, place: int) -> Hashable:
        return self.columns[side][place] == columns[side] or None

    def _name(self, side: int, place: int) -> Hashable:
        value = self.sides[side][place]
        return None if value.is_relation else local_part(value.column)

    def _value_alone(self, side: int, place: int) -> Hashable:
        """Return the value, where the other side has no such column."""
        is_compared = self.columns[side][place] in {ends[side] for ends in self.compared}
        return (
            None if is_compared or self._name(side, place) in {None, *self.shared_columns} else self.keys[side][place]
        )

    def _pass(self, key_of: KeyOf) -> PlacePairs:
        """Pair open values that have the same key."""
        found: PlacePairs = []
        ours, theirs = (_grouped(sorted(places), partial(key_of, side)) for side, places in enumerate(self.open))
        for key in ours:
            found += self._matched(ours[key], theirs.get(key, []))
        for side, places in enumerate(self.open):
            places.difference_update(pair[side] for pair in found)
        return found

    def _matched(self, ours: list[int], theirs: list[int]) -> PlacePairs:
        """Pair equal values, then the most alike first."""
        waiting = _grouped(theirs, self.keys[1].__getitem__)
        found = [(one, same.pop(0)) for one in ours if (same := waiting.get(self.keys[0][one]))]
        used = [{pair[side] for pair in found} for side in (0, 1)]
        ours, theirs = (
            [place for place in of if place not in done][:MAX_VALUES_COMPARED]
            for of, done in zip((ours, theirs), used, strict=True)
        )
        likeness = np.nan_to_num(self._likeness(ours, theirs))
        return [*found, *((ours[i], theirs[j]) for (i, j), _ in best_pairs(likeness))]

    def _likeness(self, ours: list[int], theirs: list[int]) -> np.ndarray:
        """Compute [p, q]: how alike the voter finds values; NaN for those that it does not cover."""
        found = np.full((len(ours), len(theirs)), np.nan)
        if self.opinions is None or not found.size:
            return found
        numbers = [
            np.array([_number(self.opinions, self.sides[side][place]) for place in of])
            for side, of in enumerate((ours, theirs))
        ]
        known = [np.flatnonzero(of >= 0) for of in numbers]
        found[np.ix_(*known)] = self.opinions.likeness(*(of[at] for of, at in zip(numbers, known, strict=True)))
        return found


def _grouped(places: Iterable[int], key_of: Callable[[int], Hashable]) -> dict[Hashable, list[int]]:
    """Group places by their keys, without those that have none."""
    found: dict[Hashable, list[int]] = {}
    for place in places:
        if (key := key_of(place)) is not None:
            found.setdefault(key, []).append(place)
    return found


def _column(value: ShownValue, known: set[Column]) -> Column:
    """Return the column of a value as the voter has it, each language of some apart."""
    tagged = Column(f"{value.column}@{value.language.lower().partition('-')[0]}")
    return tagged if tagged in known else Column(value.column, value.is_relation)


def _number(opinions: AttributeOpinions, value: ShownValue) -> int:
    """Return the index of a value, -1 for a translated label; names of entities are known as they are read."""
    keys = ((value.text, value.datatype), (label_text(value.text), ""))
    return next((opinions.number_of[key] for key in keys if key in opinions.number_of), -1)


def _named_ends(opinions: AttributeOpinions, side: int, number: int) -> list[ShownValue]:
    """Return the names of the other ends of relations that the voter compares with literals."""
    of, compared = opinions.sides[side], {ends[side] for ends in opinions.columns_compared}
    rows = zip(*of.of_entity(number), strict=True)
    found = [(of.column(predicate), value) for predicate, value in rows]
    return [
        ShownValue(column.name, opinions.values.literal(value)[0], is_relation=True)
        for column, value in found if column.is_relation and column in compared
    ]  # fmt: skip


class ColumnPair(NamedTuple):
    """Two columns: how many entities have a value, how many pairs have both, and how many of these an equal one."""

    source: str
    target: str
    n_source: int
    n_target: int
    n_both: int
    n_equal: int


def column_pairs(compare: SideBySide, pairs: np.ndarray) -> list[ColumnPair]:
    """List columns that the voter compares or that have the same name, in the order of the source; `pairs` [p, 2]."""
    near = weighted_pairs(pairs[:, 0], pairs[:, 1], np.ones(len(pairs)))
    ours, theirs, *_ = compare_attributes(compare.task.source, compare.task.target, near)
    informative = [] if compare.opinions is None else compare.opinions().columns_compared
    compared = {
        (_without_language(one.name, ours), _without_language(other.name, theirs)) for one, other in informative
    }
    names = [[(name, local_part(name)) for name in of.names] for of in (ours, theirs)]
    return [
        _counted((ours, one), (theirs, other), pairs)
        for one, (name, local) in enumerate(names[0])
        for other, (there, local_there) in enumerate(names[1])
        if local == local_there or (name, there) in compared
    ]


def _without_language(name: str, of: Triples) -> str:
    """Return the predicate of a column that is one of its languages."""
    return name if name in of.names else name.rpartition("@")[0]


def _counted(first: tuple[Triples, int], second: tuple[Triples, int], pairs: np.ndarray) -> ColumnPair:
    """Count the entities and the pairs that have values of two columns."""
    (ours, one), (theirs, other) = first, second
    rows = [
        pd.DataFrame({side: of.near[of.kind == kind], "value": of.far[of.kind == kind]})
        for side, (of, kind) in (("source", first), ("target", second))
    ]
    filled = [table[side].unique() for side, table in zip(("source", "target"), rows, strict=True)]
    both = np.isin(pairs[:, 0], filled[0]) & np.isin(pairs[:, 1], filled[1])
    joined = pd.DataFrame(pairs[both], columns=["source", "target"]).merge(rows[0]).merge(rows[1])
    n_equal = len(joined[["source", "target"]].drop_duplicates())
    return ColumnPair(ours.names[one], theirs.names[other], len(filled[0]), len(filled[1]), int(both.sum()), n_equal)
