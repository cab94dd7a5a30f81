"""An RDF file as a part of a graph: IRIs and blank nodes are entities, literals are attributes and names."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mixtea.data.formats.rdf import Statements, find_line
from mixtea.data.names import NAMING, Names
from mixtea.data.part import Part
from mixtea.errors import Problems

if TYPE_CHECKING:
    from pyoxigraph import Quad

RANDOM = re.compile(r"[0-9a-f]{24,32}")  # a name that the parser gives to a blank node without one
OURS = re.compile(r"(f|anon)\d+\.")
ALL_NAMED = frozenset({"N-Triples", "N-Quads"})


def rdf_part(path: Path, kind: str, problems: Problems, *, languages: Sequence[str], file_number: int = 1) -> Part:
    """Read a file: entities and predicates in the order in which they come.

    The loop is what takes the time of reading: each term's text is asked for once and numbered by a dictionary.
    """
    from pyoxigraph import BlankNode, Literal, NamedNode

    entities: defaultdict[str, int] = defaultdict(count().__next__)
    predicates: defaultdict[str, int] = defaultdict(count().__next__)
    triples, attributes = array("q"), array("q")
    names, blank = Names(languages), BlankNodes(file_number, anonymous=kind not in ALL_NAMED)
    strange = 0
    statements = Statements(path, kind)
    subject: Any
    value: Any
    for quad in statements:
        subject, value = quad.subject, quad.object
        value_kind = type(value)
        if type(subject) is NamedNode:
            label = subject.value
        elif type(subject) is BlankNode:
            label = blank(subject.value)
        else:
            strange += 1
            continue
        word = quad.predicate.value
        if value_kind is NamedNode:
            triples.append(entities[label])
            triples.append(predicates[word])
            triples.append(entities[value.value])
        elif value_kind is Literal:
            attributes.extend((entities[label], predicates[word]))
            if word in NAMING:
                names.offer(label, word, value.value, value.language or "")
        elif value_kind is BlankNode:
            triples.extend((entities[label], predicates[word], entities[blank(value.value)]))
        else:
            strange += 1
    if strange:
        _report_triple_terms(path, kind, strange, problems)
    return Part(
        _labels(entities), _labels(predicates), _rows(triples, 3), _rows(attributes, 2), names.best, statements.prefixes
    )


class BlankNodes:
    """Labels for the blank nodes of one file that no other file of the side has, the same at every reading.

    A name stays in the first file and gets the file's number in the others. Without a name (`[]`) it is a number.

    >>> BlankNodes(1, anonymous=True)("x"), BlankNodes(2, anonymous=True)("x")
    ('_:x', '_:f2.x')
    """

    def __init__(self, file_number: int, *, anonymous: bool) -> None:
        self.file_number, self.anonymous = file_number, anonymous
        self.numbers: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        if self.anonymous and RANDOM.fullmatch(name):
            return f"_:anon{self.file_number}.{self.numbers.setdefault(name, len(self.numbers) + 1)}"
        return f"_:{name}" if self.file_number == 1 and not OURS.match(name) else f"_:f{self.file_number}.{name}"


def _labels(numbered: dict[str, int]) -> np.ndarray:
    labels = np.empty(len(numbered), dtype=object)
    labels[:] = list(numbered)
    return labels


def _rows(flat: array[int], columns: int) -> np.ndarray:
    return np.frombuffer(flat, dtype=np.int64).reshape(-1, columns) if flat else np.empty((0, columns), dtype=np.int64)


def _report_triple_terms(path: Path, kind: str, n: int, problems: Problems) -> None:
    first: list[str] = []

    def is_strange(quad: Quad) -> bool:
        from pyoxigraph import BlankNode, Literal, NamedNode

        found = not isinstance(quad.subject, NamedNode | BlankNode) or not isinstance(
            quad.object, NamedNode | BlankNode | Literal
        )
        if found:
            first.append(str(quad.triple))
        return found

    line = find_line(path, kind, wanted=is_strange)
    what = f"{n:,} statement{'s' if n > 1 else ''} about a triple (RDF 1.2), the first"
    todo = "Remove them, or state them with an entity of their own in place of the triple."
    problems.add(path, line, first[0] if first else "", what, todo)
