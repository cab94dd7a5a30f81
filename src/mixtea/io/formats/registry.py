"""The formats by name, and what each can be read as: a graph, links, or both. endings.py says which a file has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mixtea.errors import Problems
from mixtea.graph.builder import Part, header_note, triple_part
from mixtea.io.columns.rows import RowTable
from mixtea.io.endings import RDF_FORMATS
from mixtea.io.formats.alignment import read_alignment
from mixtea.io.formats.headers import LINK_HEADERS, TRIPLE_HEADERS
from mixtea.io.formats.json_links import read_json_links
from mixtea.io.formats.json_rows import json_rows_part
from mixtea.io.formats.link_tables import LinkTable, equal_only, with_tables
from mixtea.io.formats.obo import obo_part, read_obo_links
from mixtea.io.formats.rdf_graph import rdf_part
from mixtea.io.formats.rdf_links import read_rdf_links
from mixtea.io.formats.sssom import read_sssom
from mixtea.io.formats.tables import read_columns
from mixtea.io.formats.typed_tables import TYPED, whole_table
from mixtea.io.formats.wide_tables import named_part, wide_header, wide_table
from mixtea.io.head import head_of
from mixtea.io.safe.problems import UnreadableError
from mixtea.io.separators import check_separator


class Format(NamedTuple):
    """How a file of a format is read; None for what it cannot hold. Readers get the path and the format's name."""

    read_graph: Callable[[Path, str, Problems], Part | RowTable] | None
    read_links: Callable[[Path, str, Problems], LinkTable]


def rdf_graph(path: Path, kind: str, problems: Problems) -> Part:
    """Read a graph in one of RDF's formats; an UnreadableError if it states nothing."""
    part = rdf_part(path, kind, problems)
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


def _table_graph(path: Path, kind: str, problems: Problems) -> Part | RowTable:
    head = head_of(path)
    check_separator(path, head)
    if found := wide_header(head, kind):
        return wide_table(path, kind, *found, problems)
    table = read_columns(path, kind, TRIPLE_HEADERS, problems)
    return replace(triple_part(table), notes=(*table.notes, *header_note(table)))


def _typed_graph(path: Path, kind: str, problems: Problems) -> Part | RowTable:
    cells = whole_table(path, kind, problems)
    part = named_part(path, cells.by_name(), cells.lines, problems)
    return replace(part, notes=(*cells.notes, *part.notes))


def _table_links(path: Path, kind: str, problems: Problems) -> LinkTable:
    found = equal_only(read_columns(path, kind, LINK_HEADERS, problems, links=True))
    return found if kind in TYPED else with_tables(found, path, kind, problems)


def _sssom_links(path: Path, kind: str, problems: Problems) -> LinkTable:
    return read_sssom(path, problems)


FORMATS = {
    **{name: Format(rdf_graph, read_rdf_links) for name in RDF_FORMATS},
    **{name: Format(_table_graph, _table_links) for name in ("TSV", "CSV")},
    **{name: Format(_typed_graph, _table_links) for name in TYPED},
    "SSSOM": Format(None, _sssom_links),
    "JSON": Format(lambda path, kind, problems: rdf_graph(path, "JSON-LD", problems), read_json_links),
    "JSON lines": Format(json_rows_part, read_json_links),
    "Alignment": Format(None, read_alignment),
    "OBO": Format(obo_part, read_obo_links),
}


def read_part(path: Path, kind: str, problems: Problems) -> Part | RowTable:
    """Read a graph from a file of the format `kind`, or a table with an entity per row."""
    reader = FORMATS[kind].read_graph
    if reader is None:
        raise UnreadableError(path, None, "", f"links ({kind}), where a graph is needed", "Name a file of triples.")
    return reader(path, kind, problems)
