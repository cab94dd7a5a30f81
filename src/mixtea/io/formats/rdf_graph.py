"""Read an RDF file as a graph: IRIs are entities, literals are attribute values."""

from __future__ import annotations

from array import array
from collections import defaultdict
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mixtea.errors import Problems
from mixtea.graph.builder import GraphData
from mixtea.graph.entity_table import Attributes
from mixtea.graph.prefixes import BUILT_IN, expand
from mixtea.graph.terms import without_vocabulary
from mixtea.graph.text_column import TextBuilder, TextColumn
from mixtea.io.rdf.blank_nodes import BLANK, collapse_blank_nodes
from mixtea.io.rdf.mend import NO_BASE
from mixtea.io.rdf.parse import Statements, find_line, read_mending

if TYPE_CHECKING:
    from pyoxigraph import Literal, Quad

TEXT_TYPES = frozenset(expand(name, BUILT_IN) for name in ("xsd:string", "rdf:langString"))  # of plain text


def read_rdf(path: Path, kind: str, problems: Problems) -> GraphData:
    """Read a file: entities and predicates in their order of appearance, without blank nodes."""
    part, mending = read_mending(path, kind, problems, partial(_number_statements, problems))
    part = without_vocabulary(collapse_blank_nodes(part, path))
    if not mending:
        return part
    base, ontology = mending.used_base, "" if part.ontology == NO_BASE else part.ontology
    return replace(part, ontology=ontology, notes=(*part.notes, mending.note()), base=base)


def _number_statements(problems: Problems, statements: Statements) -> GraphData:
    """Number what the statements name.

    The loop is what takes the time of reading: each term's text is asked for once and numbered by a dictionary.
    """
    from pyoxigraph import BlankNode, Literal, NamedNode

    entities: defaultdict[str, int] = defaultdict(count().__next__)
    predicates: defaultdict[str, int] = defaultdict(count().__next__)
    triples, literals = array("q"), LiteralCollector()
    strange = 0
    subject: Any
    value: Any
    for quad in statements:
        subject, value = quad.subject, quad.object
        value_kind = type(value)
        if type(subject) is NamedNode:
            head = subject.value
        elif type(subject) is BlankNode:
            head = BLANK + subject.value
        else:
            strange += 1
            continue
        word = quad.predicate.value
        if value_kind is NamedNode:
            triples.append(entities[head])
            triples.append(predicates[word])
            triples.append(entities[value.value])
        elif value_kind is Literal:
            literals.add(entities[head], predicates[word], value)
        elif value_kind is BlankNode:
            triples.extend((entities[head], predicates[word], entities[BLANK + value.value]))
        else:
            strange += 1
    if strange:
        _report_triple_terms(statements, strange, problems)
    attributes = literals.attributes(list(predicates))
    return GraphData(_names(entities), _names(predicates), _rows(triples), attributes, prefixes=statements.prefixes)


class LiteralCollector:
    """Attribute triples under construction, in columns."""

    def __init__(self) -> None:
        self.entity, self.predicate, self.language, self.datatype = (array("i") for _ in range(4))
        self.value = TextBuilder()
        self.languages: defaultdict[str, int] = defaultdict(count().__next__)
        self.datatypes: defaultdict[str, int] = defaultdict(count().__next__)

    def add(self, entity: int, predicate: int, literal: Literal) -> None:
        self.entity.append(entity)
        self.predicate.append(predicate)
        self.value.append(literal.value)
        self.language.append(self.languages[literal.language or ""])
        self.datatype.append(self.datatypes[literal.datatype.value])

    def attributes(self, predicates: list[str]) -> Attributes:
        """Return the table; text without a language or datatype has "" for both."""
        datatypes = ["" if name in TEXT_TYPES else name for name in self.datatypes]
        return Attributes(
            np.array(self.entity, dtype=np.int32), TextColumn.coded(predicates, np.array(self.predicate)),
            self.value.column(), TextColumn.coded(list(self.languages), np.array(self.language)),
            TextColumn.coded(datatypes, np.array(self.datatype)),
        )  # fmt: skip


def _names(numbered: dict[str, int]) -> np.ndarray:
    words = np.empty(len(numbered), dtype=object)
    words[:] = list(numbered)
    return words


def _rows(flat: array[int]) -> np.ndarray:
    return np.frombuffer(flat, dtype=np.int64).reshape(-1, 3) if flat else np.empty((0, 3), dtype=np.int64)


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
