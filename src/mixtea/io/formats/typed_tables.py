"""Read tables whose cells have types: Parquet, a sheet of Excel, a table or a query of SQLite."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from mixtea.errors import MissingExtraError, Problems, shorten
from mixtea.io.formats.headers import TRIPLE_HEADERS, Headers
from mixtea.io.formats.table_process import ColumnRequest, TableParser, TypedTable, read_cells, run_parser
from mixtea.io.formats.tsv import Table
from mixtea.io.named_parts import SQLITE_MAGIC, NamedPart, split_name
from mixtea.io.safe.open import COMPRESSED, open_regular
from mixtea.io.safe.problems import UnreadableError
from mixtea.io.safe.sandbox import Process
from mixtea.io.safe.sandboxed.excel_child import MAGIC as EXCEL_MAGIC
from mixtea.io.safe.sandboxed.parquet_child import MAGIC as PARQUET_MAGIC
from mixtea.io.safe.sandboxed.table_child import ONE_SELECT

T = TypeVar("T")
EXCEL = TableParser("Excel", "excel_child", EXCEL_MAGIC, ("pyarrow", "numpy", "openpyxl", "et_xmlfile"))
COUNT_NOTES = {  # what is left out, or taken otherwise: one, several
    "empty": ("1 empty row is left out", "{:,} empty rows are left out"),
    "unnamed": ("1 column without a name is left out", "{:,} columns without a name are left out"),
    "merged": ("1 range of merged cells: its first cell alone has a value",
               "{:,} ranges of merged cells: the first cell of each alone has a value"),
    "unsaved": ("1 formula without a stored value is taken as empty: open the workbook, and save it",
                "{:,} formulas without a stored value are taken as empty: open the workbook, and save it"),
    "errors": ("1 cell with an error, such as #N/A, is taken as empty",
               "{:,} cells with an error, such as #N/A, are taken as empty"),
}  # fmt: skip
SQLITE = TableParser("SQLite", "sqlite_child", SQLITE_MAGIC)
FIRST_KEYWORD = re.compile(r"(?>(?:\s++|--[^\n]*+(?:\n|$)|/\*.*?\*/)*+)(\w*+)", re.DOTALL)
MAX_QUERY_SHOWN = 40  # characters of a query shown
MAKE_WHOLE = "Close the program that writes it; or copy it whole: sqlite3 FILE \".backup 'copy.db'\"."


def read_typed_table(path: Path, kind: str, problems: Problems) -> TypedTable:
    """Read the columns of a triple header, else all of them, by name."""
    return _read(path, kind, ColumnRequest(TRIPLE_HEADERS, or_all=True), problems)


def read_typed_columns(path: Path, kind: str, headers: Headers, problems: Problems, *, links: bool = False) -> Table:
    """Read the columns of a header, else the first; of `links` also their relation. Lines are row numbers."""
    cells = _read(path, kind, ColumnRequest(headers, links=links), problems)
    if not len(cells.lines):
        problems.add(path, None, "", "the file is empty", f"It needs rows of {len(cells.columns)} columns.")
    return Table(path, cells.columns, cells.lines, notes=cells.notes)


def _read(path: Path, kind: str, wanted: ColumnRequest, problems: Problems) -> TypedTable:
    if kind != "Parquet":
        problems.by_row.add(path)
    return TYPED_FORMATS[kind](path, wanted)


def read_parquet(path: Path, wanted: ColumnRequest) -> TypedTable:
    """Read columns of Parquet: labels, which are text or integers; values of any type where all columns are read.

    Only a column named as in `CONFIDENCE_NAMES` may hold floats.
    """
    return run_parser(TableParser("Parquet", "parquet_child", PARQUET_MAGIC), path, path, wanted, read_cells)[0]


def run_parquet_parser(path: Path, script: str, headers: Headers, take: Callable[[Process], T]) -> T:
    """Return what `take` makes of the stream of another script that parses Parquet."""
    return run_parser(TableParser("Parquet", script, PARQUET_MAGIC), path, path, ColumnRequest(headers), take)[0]


def read_excel(path: Path, wanted: ColumnRequest) -> TypedTable:
    """Read columns of the sheet that the path names (`people.xlsx#Sheet name`), else of the first one."""
    if find_spec("openpyxl") is None:
        raise MissingExtraError(f"{path}: reading Excel needs openpyxl: pip install 'mixtea[excel]'.")
    about = split_name(path)
    cells, found = run_parser(EXCEL, path, about.file, wanted, read_cells, sheet=about.part)
    return cells._replace(notes=tuple(_sheet_notes(about.file, about.part, found, wanted)))


def _sheet_notes(file: Path, part: str, found: dict[str, Any], wanted: ColumnRequest) -> list[str]:
    """Return notes on which sheet and header are read, and what is left out."""
    notes, header = [], found["header"]
    if found["n_sheets"] > 1 and not part:
        other = f"{file.name}#{found['sheets'][1]}"
        sheet = f"the sheet {shorten(found['sheet'])} is read, the first of {found['n_sheets']:,}"
        notes.append(f"{sheet}; another one is named behind the file: {other}")
    if not (header["known"] or wanted.or_all):
        notes.append(f"row {header['line']:,}, {', '.join(map(shorten, header['names']))}, is read as the header")
    counts = ((COUNT_NOTES[name], n) for name, n in found["counts"].items() if n)
    return [*notes, *(words[n > 1].format(n) for words, n in counts)]


def read_sqlite(path: Path, wanted: ColumnRequest) -> TypedTable:
    """Read columns of the table, view or query that the path names, else of the only table."""
    about = split_name(path)
    _check_query(path, about.query)
    uri = "" if about.file.suffix.lower() in COMPRESSED else _uri(path, about)
    return run_parser(SQLITE, path, about.file, wanted, read_cells, uri=uri, table=about.part, query=about.query)[0]


def _check_query(path: Path, query: str) -> None:
    """Raise an error that quotes the beginning of a text that is not a reading query."""
    word = FIRST_KEYWORD.match(query)[1]  # type: ignore[index]
    if query and word.upper() not in ("SELECT", "WITH"):
        raise UnreadableError(path, None, query[:MAX_QUERY_SHOWN].strip(), "no query that reads:", ONE_SELECT)


def _uri(path: Path, about: NamedPart) -> str:
    """Return the address by which SQLite reads an immutable file; a log beside it would hold changes."""
    for ending in ("-wal", "-journal"):
        log = about.file.with_name(about.file.name + ending)
        if log.is_file() and _has_content(log):
            what = f"changes that are not in the file yet lie beside it, in {log.name}"
            raise UnreadableError(path, None, "", what, MAKE_WHOLE)
    return about.file.absolute().as_uri() + "?mode=ro&immutable=1"


def _has_content(log: Path) -> bool:
    """Return whether a log has a beginning; a finished one may be overwritten with zeros."""
    with open_regular(log) as file:
        return bool(file.read(1).strip(b"\0"))


TYPED_FORMATS: dict[str, Callable[[Path, ColumnRequest], TypedTable]] = {
    "Parquet": read_parquet,
    "Excel": read_excel,
    "SQLite": read_sqlite,
}
