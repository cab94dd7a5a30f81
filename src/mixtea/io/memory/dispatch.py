"""Dispatch on what is given as a graph or as links, a file or an object, without importing any library."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mixtea.errors import DataError, Problems
from mixtea.graph.builder import GraphData
from mixtea.io.columns.rows import RowTable
from mixtea.io.formats.headers import LINK_HEADERS
from mixtea.io.formats.link_tables import LinkTable, parse_confidences
from mixtea.io.formats.typed_tables import CONFIDENCE_NAMES
from mixtea.io.memory.frames import ARROW, as_table, frame_of_arrow, read_table_object
from mixtea.io.safe.sandboxed.table_child import normalise_header

FRAME, ARRAY, ROWS = "data frame", "array", "rows"
RDFLIB, NETWORKX, GRAPH = "rdflib graph", "NetworkX graph", "mixtea graph"
OBJECT_KINDS = {("pandas", "DataFrame"): FRAME, ("numpy", "ndarray"): ARRAY} | {
    ("rdflib", "Graph"): RDFLIB, ("networkx", "Graph"): NETWORKX, ("mixtea", "Graph"): GRAPH,
}  # fmt: skip
ACCEPTED = (
    "a path, a data frame, an Arrow table, rows of text, a NumPy array, an rdflib or a NetworkX graph, "
    "or a list of such"
)


@dataclass(frozen=True, eq=False)
class InMemory:
    """An object in place of a file; `name` is the argument that it was given as."""

    thing: Any
    name: str
    kind: str

    @property
    def path(self) -> Path:
        """Return what takes the place of a path in messages."""
        return Path(f"{self.name} ({self.kind})")

    def part(self, problems: Problems) -> GraphData | RowTable:
        """Read the object as a graph."""
        problems.by_row.add(self.path)
        if self.kind == GRAPH:
            raise DataError(f"{self.path}: read already. Give it alone, or what it was read from with the others.")
        if self.kind == RDFLIB:
            from mixtea.io.memory.graphs import read_rdflib

            return read_rdflib(self.thing, self.path, problems)
        if self.kind == NETWORKX:
            from mixtea.io.memory.graphs import read_networkx

            return read_networkx(self.thing, self.path, problems)
        return read_table_object(self.thing, self.path, problems)

    def links(self, problems: Problems) -> LinkTable:
        """Read the object as links, by ids or labels."""
        problems.by_row.add(self.path)
        if self.kind == RDFLIB:
            from mixtea.io.memory.graphs import read_rdflib_links

            return read_rdflib_links(self.thing, self.path, problems)
        if self.kind == GRAPH:
            raise DataError(f"{self.path}: links are pairs of ids, not a graph.")
        if self.kind == NETWORKX:
            raise DataError(f"{self.path}: links are pairs of ids, not a graph. Give list(graph.edges()).")
        thing = _with_confidences(self.thing) if self.kind == ROWS else self.thing
        table = as_table(thing, self.path, LINK_HEADERS, problems)
        return LinkTable(table.path, table.columns, table.lines, confidences=_confidences(thing, table.lines))


Input = Path | InMemory


def parse_inputs(value: Any, name: str) -> list[Input]:
    """Return the files and objects given as the argument `name`; a dictionary holds tables by their names."""
    if value is None:
        return []
    if isinstance(value, Mapping) and name.endswith("links"):
        value = list(value.items())
    if isinstance(value, Mapping) and value and all(
        isinstance(name, str) and name and name.isprintable() and not isinstance(table, str)
        for name, table in value.items()
    ):  # fmt: skip
        return [one for called, thing in value.items() for one in parse_inputs(thing, called)]
    if (one := _single_input(value, name)) is not None:
        return [one]
    items = list(_items(value, name))
    found = [(item, _single_input(item, f"{name} {place}")) for place, item in enumerate(items, 1)]
    for item, one in found:
        if one is None:
            raise DataError(f"{name}: {_type_name(item)} among several. Each is {ACCEPTED.partition(', or')[0]}.")
    return [one for _, one in found if one is not None]


def path_of(one: Input) -> Path:
    return one.path if isinstance(one, InMemory) else one


def _single_input(value: Any, name: str) -> Input | None:
    """Return the value as one input; None if it may be several."""
    if isinstance(value, str | PathLike):
        return Path(value)
    for (package, kind), word in OBJECT_KINDS.items():
        if _is(value, package, kind):
            return InMemory(value, name, word)
    if hasattr(value, ARROW) and not _is(value, "pandas", "Series"):
        return InMemory(frame_of_arrow(value, f"{name}: {_type_name(value)}"), name, FRAME)
    if isinstance(value, Iterable) and not isinstance(value, Collection | bytes | Mapping):
        value = list(value)  # what can be gone through once only
    if isinstance(value, set | frozenset) and any(map(_is_row, value)):
        value = sorted(value, key=lambda row: [str(field) for field in row])  # a set has no order of its own
    if isinstance(value, list | tuple) and any(map(_is_row, value)):
        return InMemory(value, name, ROWS)
    if isinstance(value, list) and value and all(isinstance(record, dict) for record in value):
        return InMemory(_frame_of(value), name, FRAME)
    return None


def _with_confidences(rows: Any) -> Any:
    """Return rows of source, target and a number as a data frame with confidences; others as they are."""
    if not all(
        isinstance(row, list | tuple) and len(row) == 3 and isinstance(row[2], int | float | np.number)
        and not isinstance(row[2], bool) for row in rows
    ):  # fmt: skip
        return rows
    return pd.DataFrame(rows, columns=["source", "target", "confidence"], dtype=object)


def _confidences(thing: Any, lines: np.ndarray) -> np.ndarray | None:
    """Return the confidences of the rows `lines` (from 1), if a data frame has such a column."""
    if not isinstance(thing, pd.DataFrame):
        return None
    names = [normalise_header(str(name)) for name in thing.columns]
    place = next((names.index(name) for name in CONFIDENCE_NAMES if name in names), None)
    return None if place is None else parse_confidences([str(value) for value in thing.iloc[lines - 1, place]])


def _frame_of(records: list[dict[Any, Any]]) -> pd.DataFrame:
    """Make a data frame of objects: pandas' own types would need whole text, and make 1 beside None 1.0."""
    names = pd.Index(list(dict.fromkeys(name for record in records for name in record)), dtype=object)
    return pd.DataFrame(records, columns=names, dtype=object)


def _items(value: Any, name: str) -> Iterable[Any]:
    if hasattr(value, "to_pandas"):
        raise DataError(f"{name}: {_type_name(value)} is not read. Give {name}.to_pandas().")
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping) or _is(value, "pandas", "Series"):
        raise DataError(f"{name}: {_type_name(value)} is not read. Give {ACCEPTED}.")
    return value


def _is_row(value: Any) -> bool:
    """Return whether a value is one row of a table: a sequence of fields, not of files or tables."""
    is_row = isinstance(value, list | tuple) or (_is(value, "numpy", "ndarray") and value.ndim == 1)
    return is_row and not any(isinstance(field, list | tuple) for field in value)


def _is(value: Any, package: str, name: str) -> bool:
    return any(c.__name__ == name and c.__module__.partition(".")[0] == package for c in type(value).__mro__)


def _type_name(value: Any) -> str:
    """Return the value's type in words."""
    kind = type(value)
    where = "" if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}."
    return f"an object of type {where}{kind.__name__}"
