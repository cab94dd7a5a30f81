"""Read what is given as a graph or as links: a file or an object, without importing any library to tell them apart.

Data frames, Arrow tables, arrays and rows become tables of text; integers become text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from mixtea.errors import DataError, Problems, shorten
from mixtea.graph.builder import GraphData, triple_data
from mixtea.io.columns.rows import RowTable
from mixtea.io.formats.cell_values import MAX_EXACT_INTEGER, value_column
from mixtea.io.formats.link_tables import LinkTable, parse_confidences
from mixtea.io.formats.tsv import Table, drop_empty_labels, object_array
from mixtea.io.formats.typed_tables import CONFIDENCE_NAMES
from mixtea.io.formats.wide_tables import columns_to_graph, is_entity_table
from mixtea.io.safe.limits import HALF_A_CHARACTER, MEND, UnreadableError, truncate_rows
from mixtea.io.safe.sandboxed.table_child import find_header, normalise_header
from mixtea.io.table_layout import LINK_HEADERS, TRIPLE_HEADERS, Headers, is_id_name, too_few_columns
from mixtea.messages import is_whole

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
        return InMemory(_frame_of_records(value), name, FRAME)
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


def _frame_of_records(records: list[dict[Any, Any]]) -> pd.DataFrame:
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


NO_ID = "Write an id there, or leave the row out"
ARROW = "__arrow_c_stream__"


Columns = tuple[list[str], list[Any], np.ndarray]  # names, values as they were given, and rows, from 1


def read_table_object(thing: Any, path: Path, problems: Problems) -> GraphData | RowTable:
    """Read triples, or an entity per row if the column names are those of such a table."""
    if isinstance(thing, np.ndarray):
        thing = _frame_of_array(thing, path, TRIPLE_HEADERS)
    if isinstance(thing, pd.DataFrame):
        thing = _with_ids_of_index(thing)
        if any(isinstance(name, str) for name in thing.columns):
            names, lines = [str(name) for name in thing.columns], np.arange(1, len(thing) + 1)
            if is_entity_table(path, names):
                cells = [_cells(thing.iloc[:, place]) for place in range(len(names))]
                columns = [value_column(*named, path, lines, problems) for named in zip(names, cells, strict=True)]
                return columns_to_graph(path, columns, lines, problems)
        elif len(thing.columns) > len(TRIPLE_HEADERS[0]):
            todo = f"Name them: {_needed(TRIPLE_HEADERS)}; or id and what the others hold, for an entity in each row."
            raise UnreadableError(path, None, "", f"{len(thing.columns)} columns without names", todo)
    return triple_data(as_table(thing, path, TRIPLE_HEADERS, problems))


def _with_ids_of_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Move an index whose name is that of ids into the first column, as a CSV file would have it."""
    name = frame.index.name
    is_first = isinstance(name, str) and is_id_name(name) and name not in frame.columns
    return frame.reset_index() if is_first else frame


def _cells(column: pd.Series) -> list[Any]:
    """Return the values of a column; 32-bit floats as they are written, 0.1 and not 0.10000000149."""
    values = column.to_numpy()
    if values.dtype in (np.float16, np.float32):
        return [float(str(value)) for value in values]
    return column.to_numpy(dtype=object).tolist()


def as_table(thing: Any, path: Path, headers: Headers, problems: Problems) -> Table:
    """Read the columns of a fitting header, else the first."""
    if isinstance(thing, np.ndarray):
        thing = _frame_of_array(thing, path, headers)
    is_frame = isinstance(thing, pd.DataFrame)
    names, values, rows = _of_frame(thing, path, headers) if is_frame else _of_rows(thing, path, headers, problems)
    if not len(thing):
        problems.add(path, None, "", "empty", f"It needs rows of {', '.join(headers[0])}.")
    texts = [_texts(column) for column in values]
    bad = np.zeros(len(rows), dtype=bool)
    for name, column, text in zip(names, values, texts, strict=True):
        here = np.array([one is None for one in text], dtype=bool)
        for place in truncate_rows(problems, path, np.flatnonzero(here)):
            what, todo = _why_no_id(column[place], name, thing.index[place] if is_frame else None)
            problems.add(path, int(rows[place]), "", what, todo)
        bad |= here
    columns = tuple(object_array([one or "" for one in text])[~bad] for text in texts)
    return drop_empty_labels(Table(path, columns, rows[~bad]), problems)


def _of_frame(frame: pd.DataFrame, path: Path, headers: Headers) -> Columns:
    n, names = len(headers[0]), [str(name) for name in frame.columns]
    if len(names) < n:
        raise too_few_columns(path, names, headers)
    places = find_header(names, headers) or list(range(n))
    values = [frame.iloc[:, place].to_numpy(dtype=object).tolist() for place in places]
    return [names[place] for place in places], values, np.arange(1, len(frame) + 1)


def _frame_of_array(array: np.ndarray, path: Path, headers: Headers) -> pd.DataFrame:
    """Make a data frame of an array [rows, columns], or of one of records."""
    if array.dtype.names or (array.ndim == 2 and array.shape[1] == len(headers[0])):
        return pd.DataFrame(array, dtype=object)  # in pandas' own type text must be whole
    shape = f"an array of shape {list(array.shape)}"
    raise UnreadableError(path, None, "", shape, f"It needs [rows, {len(headers[0])}]: {_needed(headers)}.")


def _of_rows(rows: Sequence[Any], path: Path, headers: Headers, problems: Problems) -> Columns:
    n = len(headers[0])
    good = np.array([isinstance(row, list | tuple | np.ndarray) and len(row) == n for row in rows], dtype=bool)
    for place in truncate_rows(problems, path, np.flatnonzero(~good)).tolist():
        row = rows[place]
        what = f"{len(row)} fields:" if isinstance(row, list | tuple | np.ndarray) else f"{type(row).__name__}:"
        problems.add(path, place + 1, str(row), what, f"A row is ({', '.join(headers[0])}).")
    kept = [rows[place] for place in np.flatnonzero(good).tolist()]
    return list(headers[0]), [[row[i] for row in kept] for i in range(n)], np.flatnonzero(good) + 1


def _texts(column: Sequence[Any]) -> list[str | None]:
    """Return each value as an id, None where it is not one; equal ones are one object."""
    texts = [value if type(value) is str else id_text(value) for value in column]
    ids = {text: text if text is not None and is_whole(text) else None for text in dict.fromkeys(texts)}
    return [ids[text] for text in texts]


def id_text(value: Any) -> str | None:
    """Return a text or whole number as an id; None for other values.

    >>> id_text("007"), id_text(7), id_text(7.0), id_text(7.5), id_text(float("nan")), id_text(True)
    ('007', '7', '7', None, None, None)
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating) and float(value).is_integer() and abs(float(value)) < MAX_EXACT_INTEGER:
        return str(int(value))
    return str(value) if isinstance(value, UUID) else None


def _why_no_id(value: Any, name: str, index: Any) -> tuple[str, str]:
    """Return what is wrong with a value, and what to do; `index` is the row's in a data frame."""
    where = "" if index is None else f", index {index}"
    if value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        shown = "None" if value is None else str(value)
        return f"no {name} ({shown}{where})", NO_ID + (": frame.dropna()." if where else ".")
    if isinstance(value, str):
        return f"{HALF_A_CHARACTER} column {name}, {shorten(value, 40)}{where}", MEND
    shown = f"{type(value).__name__} {shorten(str(value), 40)}"
    return f"{name} is not an id but {shown}{where}", "Ids are text or whole numbers: write it as text."


def _needed(headers: Headers) -> str:
    return " or ".join(", ".join(header) for header in headers[:2])


def frame_of_arrow(thing: Any, called: str) -> pd.DataFrame:
    """Make a data frame of objects: in pandas' own types 1 beside a missing value becomes 1.0."""
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(f"{called} is read by pyarrow, which is not installed: pip install pyarrow.") from None
    try:
        table = pa.table(thing)
        table.validate(full=True)
        columns = [_arrow_values(column) for column in table.columns]
    except (pa.ArrowException, ValueError, TypeError) as error:
        reason = (str(error).splitlines() or ["no reason is given"])[0].rstrip(".")
        raise DataError(f"{called} is not a table that Arrow can export ({reason}). Give a data frame.") from None
    frame = pd.concat([pd.Series(values, dtype=object) for values in columns], axis=1) if columns else pd.DataFrame()
    frame.columns = pd.Index(table.column_names, dtype=object)
    return frame


def _arrow_values(column: Any) -> list[Any]:
    """Return the values of a column; 32-bit floats as they are written, 0.1 and not 0.10000000149."""
    import pyarrow as pa

    if column.type == pa.float32():
        column = column.cast(pa.string()).cast(pa.float64())
    return column.to_pylist()
