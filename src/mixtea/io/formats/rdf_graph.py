"""Read an RDF file as a graph: IRIs are entities, literals are attribute values."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mixtea.errors import Problems
from mixtea.graph.builder import GraphData
from mixtea.graph.prefixes import BUILT_IN, expand
from mixtea.graph.terms import without_vocabulary
from mixtea.io.rdf.blank_nodes import collapse_blank_nodes
from mixtea.io.rdf.mend import NO_BASE
from mixtea.io.rdf.parse import Statements, find_line, read_mending

if TYPE_CHECKING:
    from pyoxigraph import Quad

TEXT_TYPES = frozenset(expand(name, BUILT_IN) for name in ("xsd:string", "rdf:langString"))  # of plain text


def read_rdf(path: Path, kind: str, problems: Problems) -> GraphData:
    """Read a file: entities and predicates in their order of appearance, without blank nodes."""
    part, mending = read_mending(path, kind, problems, partial(_read_columns, problems))
    part = without_vocabulary(collapse_blank_nodes(part, path))
    if not mending:
        return part
    base, ontology = mending.used_base, "" if part.ontology == NO_BASE else part.ontology
    return replace(part, ontology=ontology, notes=(*part.notes, mending.note()), base=base)


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
