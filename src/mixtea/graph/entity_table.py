"""Tables with rows about entities, in columns: attribute triples, and the base of labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from mixtea.graph.text_column import TextColumn

TEXT_ARRAYS = ("data", "offsets", "codes")  # of a column of texts


@dataclass(frozen=True, eq=False)
class EntityTable:
    """A table whose rows are about entities; those of a graph are sorted by entity, so that its rows are adjacent.

    `entity` (int32 [n]) is the index of the entity per row; the other columns are as long. `COLUMN_TYPES` is the type
    of each column: TextColumn, or the dtype of its array.
    """

    COLUMN_TYPES: ClassVar[dict[str, Any]] = {"entity": np.int32}
    entity: np.ndarray

    @classmethod
    def empty(cls) -> Self:
        """Return a table without rows."""
        return cls.from_columns(*([] for _ in cls.COLUMN_TYPES))

    @classmethod
    def from_columns(cls, *columns: Iterable[Any]) -> Self:
        """Make a table of texts and numbers; columns that are missing are empty texts or zeros."""
        found: list[Any] = []
        for place, kind in enumerate(cls.COLUMN_TYPES.values()):
            if kind is TextColumn:
                given = columns[place] if place < len(columns) else [""] * len(found[0])
                found.append(TextColumn.from_texts(given))
            else:
                given = columns[place] if place < len(columns) else [0] * len(found[0])
                found.append(np.array(given, dtype=kind))
        return cls(*found)

    @classmethod
    def concat(cls, tables: Sequence[Self]) -> Self:
        """Concatenate the rows of tables."""

        def column(name: str, kind: Any) -> Any:
            parts = [getattr(table, name) for table in tables]
            return TextColumn.concat(parts) if kind is TextColumn else np.concatenate(parts)

        return cls(*(column(name, kind) for name, kind in cls.COLUMN_TYPES.items()))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Make the table that `arrays` returned these for."""

        def column(name: str, kind: Any) -> Any:
            return (
                TextColumn(*(arrays[f"{name}.{part}"] for part in TEXT_ARRAYS)) if kind is TextColumn else arrays[name]
            )

        return cls(*(column(name, kind) for name, kind in cls.COLUMN_TYPES.items()))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all columns as arrays; a column of texts has three."""
        found: dict[str, np.ndarray] = {}
        for name, column in self._columns().items():
            is_text = isinstance(column, TextColumn)
            found |= {f"{name}.{part}": getattr(column, part) for part in TEXT_ARRAYS} if is_text else {name: column}
        return found

    def __len__(self) -> int:
        return len(self.entity)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays().values())

    def take(self, rows: np.ndarray) -> Self:
        """Select rows, by index or as a mask."""
        return self._each(lambda column: column.take(rows) if isinstance(column, TextColumn) else column[rows])

    def subset(self, stays: np.ndarray) -> Self:
        """Select the rows of the entities to keep (bool [n]), which are renumbered."""
        return self.take(stays[self.entity]).moved(np.cumsum(stays) - 1)

    def moved(self, place: np.ndarray) -> Self:
        """Renumber entities: i becomes `place[i]`."""
        return replace(self, entity=place[self.entity].astype(np.int32))

    def drop_duplicates(self, *names: str) -> Self:
        """Keep the first of the rows that are equal in these columns, and the texts that are still used."""
        columns = {
            name: column.codes if isinstance(column, TextColumn) else column for name, column in self._columns().items()
        }
        kept = self
        if not _is_ascending(columns[names[0]], columns[names[1]]):
            repeated = pd.DataFrame({name: columns[name] for name in names}).duplicated().to_numpy()
            kept = self.take(~repeated) if repeated.any() else self
        return kept._each(lambda column: column.compact() if isinstance(column, TextColumn) else column)

    def rows_of(self, index: int) -> range:
        """Return the indices of the rows of an entity, in a sorted table."""
        key = np.int32(index)  # a number of another type would have the whole column copied
        return range(*(int(np.searchsorted(self.entity, key, side)) for side in ("left", "right")))

    def _columns(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.COLUMN_TYPES}

    def _each(self, change: Callable[[Any], Any]) -> Self:
        return replace(self, **{name: change(column) for name, column in self._columns().items()})


def _is_ascending(first: np.ndarray, second: np.ndarray) -> bool:
    """Return whether rows ascend strictly, by the first column and then by the second.

    Then no two rows are equal, which is faster to check than by hashing them.
    """
    steps = first[1:] > first[:-1]
    return bool((steps | ((first[1:] == first[:-1]) & (second[1:] > second[:-1]))).all())


@dataclass(frozen=True, eq=False)
class Attributes(EntityTable):
    """Attribute triples: an entity, a predicate, and a literal with its language and datatype, "" where it has none.

    >>> found = Attributes.from_columns([1, 0, 1], ["age", "age", "age"], ["007", "42", "007"]).as_set()
    >>> found.entity.tolist(), found.value.tolist()
    ([0, 1], ['42', '007'])
    """

    COLUMN_TYPES: ClassVar = {"entity": np.int32} | dict.fromkeys(
        ("predicate", "value", "language", "datatype"), TextColumn
    )
    predicate: TextColumn
    value: TextColumn
    language: TextColumn
    datatype: TextColumn

    def as_set(self) -> Self:
        """Return each triple once, sorted by entity and then as read."""
        in_order = bool((self.entity[:-1] <= self.entity[1:]).all())
        return (self if in_order else self.take(np.argsort(self.entity, kind="stable"))).drop_duplicates(
            *self.COLUMN_TYPES
        )
