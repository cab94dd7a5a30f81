"""Tables whose cells have types, by their formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mixtea.errors import Problems
from mixtea.io.formats.excel import excel_cells
from mixtea.io.formats.headers import TRIPLE_HEADERS, Headers
from mixtea.io.formats.parquet import parquet_cells
from mixtea.io.formats.sqlite import sqlite_cells
from mixtea.io.formats.table_process import Cells, Wanted
from mixtea.io.formats.tsv import Table

TYPED: dict[str, Callable[[Path, Wanted], Cells]] = {
    "Parquet": parquet_cells,
    "Excel": excel_cells,
    "SQLite": sqlite_cells,
}


def whole_table(path: Path, kind: str, problems: Problems) -> Cells:
    """The columns that a header of triples names, else all of them, by their names."""
    return _read(path, kind, Wanted(TRIPLE_HEADERS, or_all=True), problems)


def typed_columns(path: Path, kind: str, headers: Headers, problems: Problems, *, links: bool = False) -> Table:
    """The columns that a header names, else the first; of `links` also their relation. Rows stand for lines."""
    cells = _read(path, kind, Wanted(headers, links=links), problems)
    if not len(cells.lines):
        problems.add(path, None, "", "the file is empty", f"It needs rows of {len(cells.columns)} columns.")
    return Table(path, cells.columns, cells.lines, notes=cells.notes)


def _read(path: Path, kind: str, wanted: Wanted, problems: Problems) -> Cells:
    if kind != "Parquet":
        problems.by_row.add(path)
    return TYPED[kind](path, wanted)
