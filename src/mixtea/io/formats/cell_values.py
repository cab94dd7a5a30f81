"""Convert typed cells to the text that a CSV file would hold; a missing value is an empty cell."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from mixtea.errors import Problems, shorten
from mixtea.graph.text_column import TextColumn
from mixtea.io.formats.tsv import object_array
from mixtea.io.safe.limits import HALF_A_CHARACTER, MEND, truncate_rows
from mixtea.io.safe.sandboxed.table_child import CELLS
from mixtea.messages import is_whole

MAX_EXACT_INTEGER = 2.0**53  # beyond it, not every whole number can be distinguished from the next
FLOAT, MOMENT, BOOLEAN = "float", "moment", "truth"  # kinds of columns in Parquet; others are text as they are
VALUE_KINDS = (FLOAT, MOMENT, BOOLEAN, CELLS)
CELL_READERS: dict[str, Callable[[str], Any]] = {  # by the letter that a cell of the kind `CELLS` begins with
    "t": str, "b": bool, "n": int, "f": float, "m": datetime.fromisoformat, "o": str,
}  # fmt: skip
MOMENT_TEXT = re.compile(r"(-?\d+-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?")
MIDNIGHT = "00:00:00"
BOOLEANS = {"true": "True", "false": "False"}
PRINTED_TYPES = (date, time, timedelta, Decimal, UUID)  # their str() is what a CSV file holds
LIST_TYPES = (list, tuple, set, frozenset, np.ndarray)
WRITE_AS_TEXT = "Values are texts, numbers, truth values, dates or a list of these: write it so, or leave it out."


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of a column that are not empty: `texts` [k] and the ascending numbers of their `rows` [k].

    A row whose cell holds several values is repeated.
    """

    name: str
    rows: np.ndarray
    texts: np.ndarray

    @cached_property
    def coded(self) -> TextColumn:
        """Return the texts as codes of distinct texts."""
        return TextColumn.from_texts(self.texts)

    @cached_property
    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the code of each cell, and the distinct texts."""
        return self.coded.codes, self.coded.objects()

    @property
    def is_single(self) -> bool:
        """Return whether no row has several values."""
        return not (self.rows[1:] == self.rows[:-1]).any()

    def cells(self, n: int) -> np.ndarray:
        """Return the texts of n rows, empty where there is none; the last of several."""
        found = np.full(n, "", dtype=object)
        found[self.rows] = self.texts
        return found


@dataclass(frozen=True, eq=False, init=False)
class CodedColumn(Column):
    """A column whose texts become Python objects on first use."""

    def __init__(self, name: str, cells: TextColumn) -> None:
        filled = np.diff(cells.offsets) > 0
        rows = np.arange(len(cells)) if filled.all() else np.flatnonzero(filled[cells.codes])
        values = {"name": name, "rows": rows, "coded": cells if filled.all() else cells.take(rows).compact()}
        self.__dict__.update(values)

    @cached_property  # type: ignore[misc] # a field of other columns
    def texts(self) -> np.ndarray:
        """Return the text of each cell."""
        codes, unique = self.distinct
        return unique[codes]


def text_column(name: str, cells: np.ndarray) -> Column:
    """Make a column of texts, one per row, of which some are empty."""
    rows = np.flatnonzero(cells != "")
    return Column(name, rows, cells[rows])


def value_column(name: str, cells: Sequence[Any], path: Path, lines: np.ndarray, problems: Problems) -> Column:
    """Make a column of values of any type, lists included; a cell that is not a value is a problem of its line."""
    rows, values = array("q"), []
    for row, cell in enumerate(cells):
        for value in cell if isinstance(cell, LIST_TYPES) else (cell,):
            if not is_missing(value):
                rows.append(row)
                values.append(value)
    places, texts = np.array(rows, dtype=np.int64), value_texts(values)
    bad = np.array([text is None for text in texts], dtype=bool)
    for place in truncate_rows(problems, path, np.flatnonzero(bad)).tolist():
        problems.add(path, int(lines[places[place]]), "", *_why_no_value(values[place], name))
    return Column(name, places[~bad], object_array([text or "" for text in texts])[~bad])


def is_missing(value: Any) -> bool:
    """Return whether a cell is empty.

    >>> [is_missing(value) for value in (None, "", float("nan"), pd.NaT, pd.NA, np.datetime64("NaT"), 0, False, "NA")]
    [True, True, True, True, True, True, False, False, False]
    """
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, str) and value == ""):
        return True
    return isinstance(value, float | np.floating | np.datetime64 | np.timedelta64 | Decimal) and bool(value != value)


def value_texts(values: Sequence[Any]) -> list[str | None]:
    """Return the values of a column as text, None where a cell is not a value.

    Floats keep their point, unless all of the column are whole numbers: then they are ids or counts, which became
    floats where a cell was missing. Moments of a column that are all at midnight become days.

    >>> value_texts([5.0, 7]), value_texts([5.0, 2.5]), value_texts([True, pd.Timestamp("2020-01-31"), {}])
    (['5', '7'], ['5.0', '2.5'], ['True', '2020-01-31', None])
    """
    floats = [float(value) for value in values if isinstance(value, float | np.floating)]
    whole = all(value.is_integer() and abs(value) < MAX_EXACT_INTEGER for value in floats)
    texts = [value if type(value) is str and is_whole(value) else _text(value, whole) for value in values]
    moments = [place for place, value in enumerate(values) if isinstance(value, datetime | np.datetime64)]
    for place, text in zip(moments, _format_moments([str(texts[place]) for place in moments]), strict=True):
        texts[place] = text
    return texts


def typed_texts(kind: str, texts: list[str]) -> list[str]:
    """Convert the distinct cells of a column, from a parser process, as `value_texts` does; empty ones stay."""
    if kind in (CELLS, FLOAT):
        values = [_typed(kind, text) if text else None for text in texts]
        found = iter(value_texts([value for value in values if not is_missing(value)]))
        return ["" if is_missing(value) else next(found) or "" for value in values]
    if kind == MOMENT:
        days = iter(_format_moments([text for text in texts if text]))
        return [next(days) if text else "" for text in texts]
    return [BOOLEANS.get(text, text) for text in texts]


def _typed(kind: str, text: str) -> Any:
    return CELL_READERS[text[0]](text[1:]) if kind == CELLS else float(text)


def _text(value: Any, whole: bool) -> str | None:
    if isinstance(value, str):
        return str.__str__(value) if is_whole(value) else None
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return str(int(value)) if whole else str(float(str(value)))  # in between, so that 0.1 of 32 bits is 0.1
    if isinstance(value, np.datetime64):
        return str(value)
    return str(value) if isinstance(value, PRINTED_TYPES) else None


def _format_moments(texts: list[str]) -> list[str]:
    """Return dates with times in one notation; days if all of them are at midnight.

    >>> _format_moments(["2020-01-31T10:00:00.500000", "2020-01-31 10:00:00Z"])
    ['2020-01-31 10:00:00.5', '2020-01-31 10:00:00+00:00']
    >>> _format_moments(["2020-01-31 00:00:00.000"])
    ['2020-01-31']
    """
    found = [MOMENT_TEXT.fullmatch(text) for text in texts]
    parts = [match.groups("") if match else (text, "", "", "") for match, text in zip(found, texts, strict=True)]
    if all(clock in (MIDNIGHT, "") and not fraction.strip(".0") and not zone for _, clock, fraction, zone in parts):
        return [day for day, *_ in parts]
    return [_format_moment(*part) for part in parts]


def _format_moment(day: str, clock: str, fraction: str, zone: str) -> str:
    zone = "+00:00" if zone == "Z" else zone if ":" in zone else zone[:3] + ":" * bool(zone) + zone[3:]
    return f"{day} {clock}{fraction.rstrip('0').rstrip('.')}{zone}".strip()


def _why_no_value(value: Any, name: str) -> tuple[str, str]:
    """Return what is wrong with a cell, and what to do."""
    if isinstance(value, str):
        return f"{HALF_A_CHARACTER} column {shorten(name)}, {shorten(value, 40)}", MEND
    if isinstance(value, dict):
        todo = "Make a column of each of its members, or leave it out."
        return f"an object inside an object, in {shorten(name)}: it is not read", todo
    if isinstance(value, LIST_TYPES):
        return f"a list inside a list, in {shorten(name)}: it is not read", "Make one list of them, or leave it out."
    return f"{shorten(name)} is not a value but {type(value).__name__} {shorten(str(value), 40)}", WRITE_AS_TEXT
