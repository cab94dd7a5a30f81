"""Read tables whose cells have types: Parquet, a sheet of Excel, a table or a query of SQLite.

Each is parsed in another process: damaged files can crash a parser, and contain wrong sizes.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np

from mixtea.errors import MissingExtraError, shorten
from mixtea.graph.text_arrays import from_arrow
from mixtea.graph.text_column import TextColumn
from mixtea.io.formats.cell_values import VALUE_KINDS, CodedColumn, Column, typed_texts
from mixtea.io.paths import SQLITE_MAGIC, NamedPart, split_name
from mixtea.io.safe.limits import MIB, UnreadableError, current_limits
from mixtea.io.safe.open import BLOCK, COMPRESSED, open_input, open_regular
from mixtea.io.safe.sandbox import WRITE_AGAIN, Process
from mixtea.io.safe.sandboxed.excel_child import MAGIC as EXCEL_MAGIC
from mixtea.io.safe.sandboxed.parquet_child import MAGIC as PARQUET_MAGIC
from mixtea.io.safe.sandboxed.table_child import ONE_SELECT
from mixtea.io.table_layout import Headers, too_few_columns
from mixtea.messages import visible

NEEDS_NO_NUMPY = 18  # pyarrow since then
MEMORY_PER_BYTE = 32  # memory for a dictionary of labels, which a column may hold as a whole, compressed
MAX_TYPE = 100  # characters
CONFIDENCE_NAMES = ("confidence", "probability", "measure", "similarity", "score")
T = TypeVar("T")


class TableParser(NamedTuple):
    """A script that parses one format, the libraries it needs, and the `magic` that files begin with."""

    kind: str
    script: str
    magic: bytes
    libraries: tuple[str, ...] = ("pyarrow", "numpy")


class ColumnRequest(NamedTuple):
    """Columns to read: those of a fitting header, else the first or `or_all`; `links` adds their relation."""

    headers: Headers
    or_all: bool = False
    links: bool = False


class TypedTable(NamedTuple):
    """Columns of texts [n] with their names, their `lines` [n], and notes for the user."""

    names: list[str]
    columns: tuple[TextColumn, ...]
    lines: np.ndarray
    notes: tuple[str, ...] = ()

    def by_name(self) -> list[Column]:
        """Return the columns without their empty cells."""
        return [CodedColumn(*named) for named in zip(self.names, self.columns, strict=True)]


def run_parser(
    parser: TableParser, path: Path, file: Path, wanted: ColumnRequest, take: Callable[[Process], T], **about: Any
) -> tuple[T, dict[str, Any]]:
    """Return what `take` makes of the parser's stream, and the parser's report; errors name `path`.

    The parser gets the limits and `about`.
    """
    import pyarrow as pa

    folders = [_folder(library) for library in parser.libraries]
    with (
        unpack(file, parser) as content,
        Process(path, parser.script, parser.kind, _request(content, wanted) | about, folders).start(
            content, feed=False
        ) as process,
    ):
        try:
            taken = take(process)
        except (pa.ArrowException, LookupError, OSError, ValueError):  # of a stream that the end of the process has cut
            taken = None
        found = process.result()
    what = found.get("what")
    if what or taken is None:
        raise _error(parser, path, wanted, found, what or "damaged")
    return taken, found


def _folder(library: str) -> Path:
    """Return where a library is installed, without importing it."""
    found = find_spec(library)
    return Path((found and found.origin) or "").parent.parent


def _error(parser: TableParser, path: Path, wanted: ColumnRequest, found: dict[str, Any], what: str) -> UnreadableError:
    if "todo" in found:
        return UnreadableError(path, found.get("line"), "", visible(what), visible(found["todo"]))
    if what == "columns":
        return too_few_columns(path, found["names"], wanted.headers)
    if what == "type":
        todo = "Write it as text, or leave it out." if wanted.or_all else "Labels are text; whole numbers become text."
        reason = f"a column of type {visible(found['type'], MAX_TYPE)}:"
        return UnreadableError(path, None, found["name"], reason, todo)
    return UnreadableError(path, None, "", f"not {parser.kind} ({visible(what)})", WRITE_AGAIN)


@contextmanager
def unpack(path: Path, parser: TableParser) -> Iterator[IO[bytes]]:
    """Open a file of the system; compressed ones are unpacked into a file without a name."""
    with open_input(path) as file:
        if file.peek(len(parser.magic))[: len(parser.magic)] != parser.magic:
            what = f"not {parser.kind} (it does not begin as {parser.kind} does)"
            raise UnreadableError(path, None, "", what, WRITE_AGAIN)
        if path.suffix.lower() not in COMPRESSED:
            yield file
            return
        with ExitStack() as stack:
            with _disk_errors(path):  # without a buffer, which could not be closed where a disk is full
                copy: Any = stack.enter_context(tempfile.TemporaryFile(buffering=0))
            while rest := memoryview(file.read(BLOCK)):
                with _disk_errors(path):
                    while rest:
                        rest = rest[copy.write(rest) :]
            copy.seek(0)
            yield copy


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Report errors of the temporary folder as such."""
    try:
        yield
    except OSError as error:
        what = f"cannot be unpacked into the temporary folder {visible(tempfile.tempdir or '')} ({error.strerror})"
        todo = "Make room there, name another folder by TMPDIR, or unpack the file yourself."
        raise UnreadableError(path, None, "", what, todo) from None


def _request(file: IO[bytes], wanted: ColumnRequest) -> dict[str, Any]:
    """Return the parser's job: columns and limits."""
    import pyarrow as pa

    limits, size = current_limits(), os.fstat(file.fileno()).st_size
    most = limits.bytes_for(size)
    return {
        "mib": limits.max_parser_mib + MEMORY_PER_BYTE * size // MIB,
        "n": len(wanted.headers[0]), "headers": list(wanted.headers), "or_all": wanted.or_all, "links": wanted.links,
        "max_token": limits.max_token_mib * MIB, "max_bytes": most,
        "max_columns": limits.max_columns, "max_rows": limits.max_rows, "numbers": CONFIDENCE_NAMES,
        "without_numpy": int(pa.__version__.partition(".")[0]) >= NEEDS_NO_NUMPY,
        "bytes_limit": "max_gib" if most >= limits.max_gib * 1024 * MIB else "max_expansion",
    }  # fmt: skip


def read_cells(process: Process) -> TypedTable:
    """Read the parser's stream, of which nothing is taken for granted. Rows are numbered unless it has line numbers."""
    import pyarrow as pa

    stream = pa.ipc.open_stream(process.out)
    fields, chunks = list(stream.schema), [list[Any]() for _ in stream.schema]
    for batch in stream:
        batch.validate(full=True)
        for column, found in zip(batch.columns, chunks, strict=True):
            found.append(column)
    lines = None
    if pa.types.is_integer(fields[-1].type):
        lines = pa.chunked_array(chunks.pop(), fields.pop().type).to_numpy()
    columns = tuple(map(_texts, fields, chunks))
    names = [field.name for field in fields]
    return TypedTable(names, columns, np.arange(1, len(columns[0]) + 1) if lines is None else lines)


def _texts(field: Any, chunks: list[Any]) -> TextColumn:
    """Return a column of the stream as text, without an object for each cell."""
    import pyarrow as pa

    if field.type != pa.dictionary(pa.int32(), pa.large_string()):
        raise ValueError(f"a column of {field.type}")
    if not chunks:
        return TextColumn.from_texts(())
    found = pa.chunked_array(chunks).unify_dictionaries()
    codes, texts = np.concatenate([chunk.indices.to_numpy() for chunk in found.chunks]), found.chunk(0).dictionary
    kind = (field.metadata or {}).get(b"kind", b"").decode()
    if kind in VALUE_KINDS:
        return TextColumn.coded(typed_texts(kind, texts.to_pylist()), codes)
    return TextColumn(*from_arrow(texts), codes)


PARQUET = TableParser("Parquet", "parquet_child", PARQUET_MAGIC)
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


def read_parquet(path: Path, wanted: ColumnRequest) -> TypedTable:
    """Read columns of Parquet: labels, which are text or integers; values of any type where all columns are read.

    Only a column named as in `CONFIDENCE_NAMES` may hold floats.
    """
    return run_parser(PARQUET, path, path, wanted, read_cells)[0]


def read_parquet_vectors(path: Path, headers: Headers, take: Callable[[Process], T]) -> T:
    """Return what `take` makes of the stream of ids, rows and vectors."""
    return run_parser(PARQUET, path, path, ColumnRequest(headers), take, vectors=True)[0]


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
        if not log.is_file():
            continue
        with open_regular(log) as file:
            has_content = bool(file.read(1).strip(b"\0"))  # a finished one may be overwritten with zeros
        if has_content:
            what = f"changes that are not in the file yet lie beside it, in {log.name}"
            raise UnreadableError(path, None, "", what, MAKE_WHOLE)
    return about.file.absolute().as_uri() + "?mode=ro&immutable=1"
