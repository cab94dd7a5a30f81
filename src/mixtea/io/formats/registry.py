"""The table of formats: endings, recognition and readers, one row per format; and the format that a file has.

That is the one of its ending, or of its beginning where the ending is missing or wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mixtea.errors import DataError, Problems
from mixtea.graph.builder import GraphData, header_note, triple_data
from mixtea.io.columns.rows import RowTable
from mixtea.io.formats import recognise
from mixtea.io.formats.alignment import read_alignment
from mixtea.io.formats.json_records import read_json_links, read_json_rows
from mixtea.io.formats.link_tables import LinkTable, identity_links, prefix_tables
from mixtea.io.formats.obo import read_obo, read_obo_links
from mixtea.io.formats.rdf import read_rdf, read_rdf_links
from mixtea.io.formats.recognise import BINARY, UNSUPPORTED, Recogniser
from mixtea.io.formats.sssom import read_sssom
from mixtea.io.formats.tables import read_named, read_text_columns
from mixtea.io.formats.tsv import Table, drop_empty_labels
from mixtea.io.formats.typed_tables import ColumnRequest, TypedTable, read_excel, read_parquet, read_sqlite
from mixtea.io.formats.wide_tables import columns_to_graph, find_wide_header
from mixtea.io.head import Head, head_of
from mixtea.io.paths import bare_path, is_prefixed, split_name
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.safe.lines import SAVE_AS_UTF_8, UTF_8, is_like_utf_16
from mixtea.io.table_layout import LINK_HEADERS, TRIPLE_HEADERS, Headers, check_names, check_separator

GraphReader = Callable[[Path, str, Problems], GraphData | RowTable]
LinkReader = Callable[[Path, str, Problems], LinkTable]
ColumnReader = Callable[..., Table]  # of a path, a format, headers, problems, and whether `links` may have a relation


class Format(NamedTuple):
    """A file format.

    Readers get the path and the name of the format; `read_graph` is None where a format holds links alone.
    `read_columns` reads the columns of a header, in formats of tables. `recognise` suffices whatever the ending,
    `recognise_named` where the ending names this format, `recognise_unnamed` where no ending names any. A file of
    `any_encoding` need not be UTF-8.
    """

    read_graph: GraphReader | None
    read_links: LinkReader
    read_columns: ColumnReader | None = None
    endings: tuple[str, ...] = ()
    recognise: Recogniser | None = None
    recognise_named: Recogniser | None = None
    recognise_unnamed: Recogniser | None = None
    suggested_ending: str = ""
    any_encoding: bool = False


def _table_graph(path: Path, kind: str, problems: Problems) -> GraphData | RowTable:
    head = head_of(path)
    check_separator(path, head)
    if found := find_wide_header(head, kind):
        layout, names = found
        check_names(path, layout.header_line, names, layout.places, layout.separator)
        columns, lines, notes = read_named(path, kind, layout, names, problems)
        return RowTable(path, tuple(columns), lines, notes)
    table = drop_empty_labels(read_text_columns(path, kind, TRIPLE_HEADERS, problems), problems)
    return replace(triple_data(table), notes=(*table.notes, *header_note(table)))


def _table_links(path: Path, kind: str, problems: Problems) -> LinkTable:
    table = read_text_columns(path, kind, LINK_HEADERS, problems, links=True)
    return prefix_tables(identity_links(drop_empty_labels(table, problems, n=2)), path, kind, problems)


def _typed(
    read: Callable[[Path, ColumnRequest], TypedTable], *, by_row: bool = True
) -> tuple[GraphReader, LinkReader, ColumnReader]:
    """Return the readers of a format whose tables `read` reads; `by_row` if lines are called rows."""

    def cells(path: Path, wanted: ColumnRequest, problems: Problems) -> TypedTable:
        problems.by_row |= {path} if by_row else set()
        return read(path, wanted)

    def graph(path: Path, kind: str, problems: Problems) -> GraphData | RowTable:
        found = cells(path, ColumnRequest(TRIPLE_HEADERS, or_all=True), problems)
        part = columns_to_graph(path, found.by_name(), found.lines, problems)
        return replace(part, notes=(*found.notes, *part.notes))

    def columns(path: Path, kind: str, headers: Headers, problems: Problems, *, links: bool = False) -> Table:
        found = cells(path, ColumnRequest(headers, links=links), problems)
        if not len(found.lines):
            problems.add(path, None, "", "the file is empty", f"It needs rows of {len(found.columns)} columns.")
        return Table(path, tuple(column.array() for column in found.columns), found.lines, notes=found.notes)

    def links(path: Path, kind: str, problems: Problems) -> LinkTable:
        table = columns(path, kind, LINK_HEADERS, problems, links=True)
        return identity_links(drop_empty_labels(table, problems, n=2))

    return graph, links, columns


def _json_ld(path: Path, kind: str, problems: Problems) -> GraphData:
    return read_rdf(path, "JSON-LD", problems)


RDF = (read_rdf, read_rdf_links, None)
TEXT_TABLE = (_table_graph, _table_links, read_text_columns)
FORMATS = {  # a row per format, in the order in which the beginning of a file is compared with them
    "Parquet": Format(*_typed(read_parquet, by_row=False), (".parquet", ".pq"), recognise.is_parquet),
    "Excel": Format(*_typed(read_excel), (".xlsx", ".xlsm"), recognise.is_excel),
    "SQLite": Format(*_typed(read_sqlite), (".db", ".sqlite", ".sqlite3"), recognise.is_sqlite),
    "Alignment": Format(None, read_alignment, None, (), recognise.is_alignment, suggested_ending=".rdf"),
    "RDF/XML": Format(*RDF, (".owl", ".rdf", ".xml"), recognise.is_rdf_xml),
    "SSSOM": Format(None, read_sssom, None, (".sssom.tsv",), recognise.is_sssom, any_encoding=True),
    "N-Triples": Format(*RDF, (".nt",), recognise.is_triples),
    "N-Quads": Format(*RDF, (".nq",), recognise.is_quads),
    "TriG": Format(*RDF, (".trig",), recognise.is_trig, recognise.may_be_turtle),
    "Turtle": Format(*RDF, (".ttl",), recognise.is_turtle, recognise.may_be_turtle, recognise.may_be_turtle),
    "JSON lines": Format(
        read_json_rows, read_json_links, None, (".jsonl", ".ndjson"), recognise.is_json_lines, recognise.may_be_json
    ),
    "JSON-LD": Format(*RDF, (".jsonld",), recognise.is_json_ld),
    "OBO": Format(read_obo, read_obo_links, None, (".obo",), recognise.is_obo),
    "TSV": Format(*TEXT_TABLE, (".tsv",), None, recognise.is_tsv, recognise.is_tsv, any_encoding=True),
    "CSV": Format(*TEXT_TABLE, (".csv",), None, recognise.is_csv_or_tsv, recognise.is_csv, any_encoding=True),
    "JSON": Format(_json_ld, read_json_links, None, (".json",), None, recognise.is_json),
}


def format_row(kind: str) -> Format:
    """Return the row of a format; a DataError if there is none."""
    if kind not in FORMATS:
        raise DataError(f"{kind} is not a known format: FORMATS in mixtea/io/formats/registry.py has no row for it.")
    return FORMATS[kind]


def read_graph_data(path: Path, kind: str, problems: Problems) -> GraphData | RowTable:
    """Read a graph from a file of the format `kind`, or a table with an entity per row."""
    reader = format_row(kind).read_graph
    if reader is None:
        raise UnreadableError(path, None, "", f"links ({kind}), where a graph is needed", "Name a file of triples.")
    return reader(path, kind, problems)


ENDINGS = {ending: kind for kind, row in FORMATS.items() for ending in row.endings}
UNSUPPORTED_ENDINGS = {
    ".n3": "Notation3", ".hdt": "HDT", ".ofn": "OWL functional syntax",
    ".omn": "Manchester syntax", ".xls": "Excel's old format",
    ".xlsb": "Excel's binary format", ".ods": "OpenDocument", ".zip": "zip", ".bz2": "bzip2", ".xz": "xz",
    ".tar": "tar", ".tgz": "tar", ".7z": "7z",
}  # fmt: skip
SPREADSHEETS = (".xls", ".xlsb", ".ods")


def format_by_ending(path: Path) -> str:
    """Return the format of the ending, under .gz or .zst; without a known ending it is TSV."""
    if is_prefixed(path):
        return "SQLite"
    bare = bare_path(path)
    ending = bare.suffix.lower()
    if long := [kind for end, kind in ENDINGS.items() if end.count(".") > 1 and bare.name.lower().endswith(end)]:
        return long[0]
    if ending in UNSUPPORTED_ENDINGS:
        todo = (
            "Open it, and save it as .xlsx."
            if ending in SPREADSHEETS
            else "Convert it to one of .nt .ttl .rdf .nq .trig .jsonld .obo .tsv .csv .parquet, plain or with .gz or "
            ".zst."
        )
        raise UnreadableError(path, None, "", f"{UNSUPPORTED_ENDINGS[ending]} is not read", todo)
    return ENDINGS.get(ending, "TSV")


def detect_format(path: Path) -> str:
    """Return the format of a file: that of its ending if the content fits, else that of the content."""
    if is_prefixed(path):
        return "SQLite"
    try:
        meant, unknown = format_by_ending(path), None
    except UnreadableError as error:
        if not path.is_file():
            raise
        meant, unknown = "", error
    head = head_of(split_name(path).file)
    found = _detect_by_content(path, head, meant)
    _check_readable(path, head, found)
    if unknown is not None and not found:
        raise unknown
    return found


def _detect_by_content(path: Path, head: Head, meant: str) -> str:
    named = format_row(meant) if meant else None
    looks_so = named and (named.recognise_named or named.recognise)
    if meant == "SSSOM" or (looks_so and looks_so(head)):
        return meant
    for kind in UNSUPPORTED:
        if kind.begins.match(head.text.lstrip()):
            raise UnreadableError(path, None, "", kind.what, kind.todo)
    for name, row in FORMATS.items():
        is_it = (row.recognise_unnamed if meant == "TSV" else None) or row.recognise
        if is_it and is_it(head):
            return name
    return meant


def detect_format_among(path: Path, kinds: Container[str], what: str, todo: str) -> str:
    """Return the format of a file; an error if it is not one of those that can hold `what`."""
    kind = detect_format(path)
    if kind not in kinds:
        raise UnreadableError(path, None, "", f"{kind} holds no {what}", todo)
    return kind


def format_warnings(path: Path, kind: str) -> list[str]:
    """Warn about a file that was read as another format than its ending names."""
    try:
        meant = format_by_ending(path)
    except UnreadableError:
        meant = ""
    expected = (("RDF/XML", "Alignment"), ("TSV", "SSSOM"), ("JSON", "JSON-LD"))
    usual = (meant, kind) in expected or meant == kind or kind not in FORMATS
    if usual:
        return []
    row = FORMATS[kind]
    ending = row.suggested_ending or row.endings[0]
    return [f"{path}: read as {kind}, by its content; the ending {ending} would name it"]


def _check_readable(path: Path, head: Head, kind: str) -> None:
    """Refuse UTF-16 except in text tables; without a mark it would be read as text full of NULs."""
    is_utf_16 = head.encoding.startswith("utf-16") and not (kind and format_row(kind).any_encoding)
    if (is_utf_16 or (head.encoding == UTF_8 and is_like_utf_16(head.data))) and not head.data.startswith(BINARY):
        raise UnreadableError(path, None, "", "UTF-16 text, which is not UTF-8", SAVE_AS_UTF_8)
