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
from mixtea.io.formats.headers import LINK_HEADERS, TRIPLE_HEADERS
from mixtea.io.formats.json_records import read_json_links, read_json_rows
from mixtea.io.formats.link_tables import LinkTable, identity_links, prefix_tables
from mixtea.io.formats.obo import read_obo, read_obo_links
from mixtea.io.formats.rdf import read_rdf, read_rdf_links
from mixtea.io.formats.recognise import Recogniser
from mixtea.io.formats.sssom import read_sssom
from mixtea.io.formats.tables import read_columns
from mixtea.io.formats.typed_tables import TYPED_FORMATS, read_typed_table
from mixtea.io.formats.wide_tables import columns_to_graph, find_wide_header, read_wide_table
from mixtea.io.head import head_of
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.table_layout import check_separator


class Format(NamedTuple):
    """A file format.

    Readers get the path and the name of the format; `read_graph` is None where a format holds links alone. `recognise`
    suffices whatever the ending, `recognise_named` where the ending names this format, `recognise_unnamed` where no
    ending names any. A file of `any_encoding` need not be UTF-8.
    """

    read_graph: Callable[[Path, str, Problems], GraphData | RowTable] | None
    read_links: Callable[[Path, str, Problems], LinkTable]
    endings: tuple[str, ...] = ()
    recognise: Recogniser | None = None
    recognise_named: Recogniser | None = None
    recognise_unnamed: Recogniser | None = None
    suggested_ending: str = ""
    any_encoding: bool = False


def rdf_graph(path: Path, kind: str, problems: Problems) -> GraphData:
    """Read a graph in one of RDF's formats; an UnreadableError if it states nothing."""
    part = read_rdf(path, kind, problems)
    if not len(part.ids) and not any(problem.file == path for problem in problems.found):
        if part.notes:
            todo = "Give them IRIs: without a name they cannot be mapped."
            raise UnreadableError(path, None, "", "nothing but blank nodes", todo)
        todo = (
            "JSON needs @context and @id to be JSON-LD; else save triples as CSV."
            if kind == "JSON-LD"
            else "It needs triples."
        )
        raise UnreadableError(path, None, "", f"no statement: the {kind} file is empty", todo)
    return part


def _table_graph(path: Path, kind: str, problems: Problems) -> GraphData | RowTable:
    head = head_of(path)
    check_separator(path, head)
    if found := find_wide_header(head, kind):
        return read_wide_table(path, kind, *found, problems)
    table = read_columns(path, kind, TRIPLE_HEADERS, problems)
    return replace(triple_data(table), notes=(*table.notes, *header_note(table)))


def _typed_graph(path: Path, kind: str, problems: Problems) -> GraphData | RowTable:
    cells = read_typed_table(path, kind, problems)
    part = columns_to_graph(path, cells.by_name(), cells.lines, problems)
    return replace(part, notes=(*cells.notes, *part.notes))


def _table_links(path: Path, kind: str, problems: Problems) -> LinkTable:
    found = identity_links(read_columns(path, kind, LINK_HEADERS, problems, links=True))
    return found if kind in TYPED_FORMATS else prefix_tables(found, path, kind, problems)


def _json_graph(path: Path, kind: str, problems: Problems) -> GraphData:
    return rdf_graph(path, "JSON-LD", problems)


def _sssom_links(path: Path, kind: str, problems: Problems) -> LinkTable:
    return read_sssom(path, problems)


RDF = (rdf_graph, read_rdf_links)
TEXT_TABLE = (_table_graph, _table_links)
TYPED_TABLE = (_typed_graph, _table_links)
FORMATS = {  # a row per format, in the order in which the beginning of a file is compared with them
    "Parquet": Format(*TYPED_TABLE, (".parquet", ".pq"), recognise.is_parquet),
    "Excel": Format(*TYPED_TABLE, (".xlsx", ".xlsm"), recognise.is_excel),
    "SQLite": Format(*TYPED_TABLE, (".db", ".sqlite", ".sqlite3"), recognise.is_sqlite),
    "Alignment": Format(None, read_alignment, (), recognise.is_alignment, suggested_ending=".rdf"),
    "RDF/XML": Format(*RDF, (".owl", ".rdf", ".xml"), recognise.is_rdf_xml),
    "SSSOM": Format(None, _sssom_links, (".sssom.tsv",), recognise.is_sssom, any_encoding=True),
    "N-Triples": Format(*RDF, (".nt",), recognise.is_triples),
    "N-Quads": Format(*RDF, (".nq",), recognise.is_quads),
    "TriG": Format(*RDF, (".trig",), recognise.is_trig, recognise.may_be_turtle),
    "Turtle": Format(*RDF, (".ttl",), recognise.is_turtle, recognise.may_be_turtle, recognise.may_be_turtle),
    "JSON lines": Format(
        read_json_rows, read_json_links, (".jsonl", ".ndjson"), recognise.is_json_lines, recognise.may_be_json
    ),
    "JSON-LD": Format(*RDF, (".jsonld",), recognise.is_json_ld),
    "OBO": Format(read_obo, read_obo_links, (".obo",), recognise.is_obo),
    "TSV": Format(*TEXT_TABLE, (".tsv",), None, recognise.is_tsv, recognise.is_tsv, any_encoding=True),
    "CSV": Format(*TEXT_TABLE, (".csv",), None, recognise.is_csv_or_tsv, recognise.is_csv, any_encoding=True),
    "JSON": Format(_json_graph, read_json_links, (".json",), None, recognise.is_json),
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
