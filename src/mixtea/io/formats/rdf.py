"""Read an RDF file as a graph, in which IRIs are entities and literals values, or as links, statements of identity."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mixtea.errors import MAX_VALUE_KEPT, Problems
from mixtea.graph.builder import GraphData
from mixtea.graph.iris import MARK, NOTES
from mixtea.graph.prefixes import merge_prefixes, shorten
from mixtea.graph.terms import without_vocabulary
from mixtea.io.formats.link_tables import (
    CLOSE,
    IDENTITY,
    IDENTITY_NAMES,
    LinkTable,
    close_warning,
    expand_ids,
    left_out_warning,
    link_columns,
)
from mixtea.io.rdf.blank_nodes import collapse_blank_nodes
from mixtea.io.rdf.mend import NO_BASE
from mixtea.io.rdf.parse import Statements, find_line, read_mending
from mixtea.io.safe.limits import UnreadableError

if TYPE_CHECKING:
    from pyoxigraph import Quad


def read_rdf(path: Path, kind: str, problems: Problems) -> GraphData:
    """Read entities and predicates in their order of appearance, without blank nodes; an error if nothing is stated."""
    part, mending = read_mending(path, kind, problems, partial(_read_columns, problems))
    part = without_vocabulary(collapse_blank_nodes(part, path))
    if mending:
        base, ontology = mending.used_base, "" if part.ontology == NO_BASE else part.ontology
        part = replace(part, ontology=ontology, notes=(*part.notes, mending.note()), base=base)
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


def _read_columns(problems: Problems, statements: Statements) -> GraphData:
    found = statements.columns()
    if found.n_strange:
        _report_triple_terms(statements, found.n_strange, problems)
    return found.graph(statements.prefixes)


def _report_triple_terms(statements: Statements, n: int, problems: Problems) -> None:
    first: list[str] = []

    def is_strange(quad: Quad) -> bool:
        from pyoxigraph import BlankNode, Literal, NamedNode

        found = not isinstance(quad.subject, NamedNode | BlankNode) or not isinstance(
            quad.object, NamedNode | BlankNode | Literal
        )
        if found:
            first.append(str(quad.triple))
        return found

    path = statements.path
    line = find_line(path, statements.kind, is_strange, statements.anew())
    what = f"{n:,} statement{'s' if n > 1 else ''} about a triple (RDF 1.2), the first"
    todo = "Remove them, or state them with an entity of their own in place of the triple."
    problems.add(path, line, first[0] if first else "", what, todo)


def read_rdf_links(path: Path, kind: str, problems: Problems) -> LinkTable:
    """Read statements of identity between IRIs; all others are left out with a warning."""
    table, mending = read_mending(path, kind, problems, partial(_links, problems), by_line=True)
    return replace(table, warnings=(f"{path}: {mending.note()}", *table.warnings)) if mending else table


def _links(problems: Problems, statements: Statements) -> LinkTable:
    from pyoxigraph import BlankNode, Literal, NamedNode

    path, no_links = statements.path, list[tuple[int, str]]()
    rows, lines, others, n_close, notes = [], [], Counter[str](), 0, dict[str, str]()
    for subject, predicate, value, _ in statements:
        note = predicate.value.partition(MARK)[2]
        if note in NOTES and isinstance(value, Literal):
            notes[note] = value.value
        elif predicate.value not in IDENTITY:
            others[predicate.value] += 1
        elif isinstance(subject, NamedNode) and isinstance(value, NamedNode):
            rows.append((subject.value, value.value))
            lines.append(statements.line)
            n_close += predicate.value == CLOSE
        elif isinstance(subject, BlankNode) or isinstance(value, BlankNode):
            others["of blank nodes"] += 1
        else:
            end = value if isinstance(subject, NamedNode) else subject
            no_links.append((statements.line, str(end)[:MAX_VALUE_KEPT]))
    for line, end in no_links:  # not before: a file may be read twice
        problems.add(path, line, end, "a link to something without an IRI:", "Name both by IRIs.")
    if not rows:
        todo = f"Links are statements with one of {', '.join(IDENTITY_NAMES)}; is it a graph?"
        raise UnreadableError(path, None, "", f"no links among its {others.total():,} other statements", todo)
    prefixes = merge_prefixes([statements.prefixes])
    warnings = left_out_warning(path, "statement", others, lambda name: shorten(name, prefixes))
    warnings += close_warning(path, n_close)
    columns = link_columns(rows)
    return LinkTable(
        path, columns, np.array(lines), expand_ids(columns, {}, notes), True, warnings, statements.prefixes
    )
