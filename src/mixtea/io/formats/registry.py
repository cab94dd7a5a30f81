"""The table of formats: endings, recognition and readers, one row per format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mixtea.errors import DataError, Problems
from mixtea.graph.builder import GraphData, header_note, triple_data
from mixtea.io.columns.rows import RowTable
from mixtea.io.formats import recognise
from mixtea.io.formats.alignment import read_alignment
from mixtea.io.formats.headers import LINK_HEADERS, TRIPLE_HEADERS, Headers
from mixtea.io.formats.json_records import read_json_links, read_json_rows
from mixtea.io.formats.link_tables import LinkTable, identity_links, prefix_tables
from mixtea.io.formats.obo import read_obo, read_obo_links
from mixtea.io.formats.rdf import read_rdf, read_rdf_links
from mixtea.io.formats.recognise import Recogniser
from mixtea.io.formats.sssom import read_sssom
from mixtea.io.formats.tables import read_text_columns
from mixtea.io.formats.tsv import Table, drop_empty_labels
from mixtea.io.formats.typed_tables import ColumnRequest, TypedTable, read_excel, read_parquet, read_sqlite
from mixtea.io.formats.wide_tables import columns_to_graph, find_wide_header, read_wide_table
from mixtea.io.head import head_of
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.table_layout import check_separator

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
        return read_wide_table(path, kind, *found, problems)
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
