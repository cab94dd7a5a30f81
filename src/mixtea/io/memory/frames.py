"""Convert data frames, Arrow tables, arrays and rows to tables of text; integers become text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pandas as pd

from mixtea.errors import DataError, Problems, shorten
from mixtea.graph.builder import GraphData, triple_data
from mixtea.io.columns.rows import RowTable
from mixtea.io.formats.cell_values import MAX_EXACT_INTEGER, value_column
from mixtea.io.formats.headers import TRIPLE_HEADERS, Headers, find_header, is_id_name, too_few_columns
from mixtea.io.formats.tsv import Table, drop_empty_labels, object_array
from mixtea.io.formats.wide_tables import columns_to_graph, is_entity_table
from mixtea.io.safe.limits import HALF_A_CHARACTER, MEND, UnreadableError, truncate_rows
from mixtea.messages import is_whole

NO_ID = "Write an id there, or leave the row out"
ARROW = "__arrow_c_stream__"


class Columns(NamedTuple):
    """Some columns of a table as they were given; `rows` are the numbers of their rows, from 1."""

    names: list[str]
    values: list[Any]
    rows: np.ndarray


def read_table_object(thing: Any, path: Path, problems: Problems) -> GraphData | RowTable:
    """Read triples, or an entity per row if the column names are those of such a table."""
    if isinstance(thing, np.ndarray):
        thing = _frame_of(thing, path, TRIPLE_HEADERS)
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
        thing = _frame_of(thing, path, headers)
    is_frame = isinstance(thing, pd.DataFrame)
    found = _of_frame(thing, path, headers) if is_frame else _of_rows(thing, path, headers, problems)
    if not len(thing):
        problems.add(path, None, "", "empty", f"It needs rows of {', '.join(headers[0])}.")
    texts = [_texts(column) for column in found.values]
    bad = np.zeros(len(found.rows), dtype=bool)
    for name, column, text in zip(found.names, found.values, texts, strict=True):
        here = np.array([one is None for one in text], dtype=bool)
        for place in truncate_rows(problems, path, np.flatnonzero(here)):
            what, todo = _why_no_id(column[place], name, thing.index[place] if is_frame else None)
            problems.add(path, int(found.rows[place]), "", what, todo)
        bad |= here
    columns = tuple(object_array([one or "" for one in text])[~bad] for text in texts)
    return drop_empty_labels(Table(path, columns, found.rows[~bad]), problems)


def _of_frame(frame: pd.DataFrame, path: Path, headers: Headers) -> Columns:
    n, names = len(headers[0]), [str(name) for name in frame.columns]
    if len(names) < n:
        raise too_few_columns(path, names, headers)
    places = find_header(names, headers) or list(range(n))
    values = [frame.iloc[:, place].to_numpy(dtype=object).tolist() for place in places]
    return Columns([names[place] for place in places], values, np.arange(1, len(frame) + 1))


def _frame_of(array: np.ndarray, path: Path, headers: Headers) -> pd.DataFrame:
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
    return Columns(list(headers[0]), [[row[i] for row in kept] for i in range(n)], np.flatnonzero(good) + 1)


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
