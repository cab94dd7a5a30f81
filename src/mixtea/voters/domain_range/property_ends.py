"""Domains and ranges of properties, and the classes above classes, as a graph states them. No torch."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, identity

from mixtea.graph.graph import Graph
from mixtea.graph.prefixes import BUILT_IN, expand, iris

DOMAIN = iris("rdfs:domain", "schema:domainIncludes", "sdo:domainIncludes")
RANGE = iris("rdfs:range", "schema:rangeIncludes", "sdo:rangeIncludes")
SUBCLASS = iris("rdfs:subClassOf")
MAX_STEPS_UP = 20  # of a hierarchy: it may be a chain of any length, or a circle
TEXT, NUMBER, DATE, TRUTH = range(4)
VALUE_KINDS = ("text", "number", "date", "true or false")
_KIND_OF_WORD = {
    TEXT: "string normalizedString token language Name NCName anyURI langString PlainLiteral",
    NUMBER: "decimal integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger "
    "unsignedLong unsignedInt unsignedShort unsignedByte float double rational real",
    DATE: "date dateTime dateTimeStamp time gYear gYearMonth gMonth gMonthDay gDay duration dayTimeDuration "
    "yearMonthDuration",
    TRUTH: "boolean",
}
KIND_OF_DATATYPE = {  # rdfs:Literal is missing: it may be anything
    BUILT_IN[prefix] + word: kind
    for kind, words in _KIND_OF_WORD.items()
    for word in words.split()
    for prefix in ("xsd", "rdf", "owl")
}


class PropertyEnds(NamedTuple):
    """The ends of the properties of a graph with n entities; the rows of all that are not properties are empty.

    Several classes of one end are taken for their union, as people mean it.

    Attributes
    ----------
    domain, range : csr_matrix [n, n]
        1 where the property has the class as its domain, or as its range.
    values : csr_matrix [n, 4]
        1 where the property has values of this kind (`VALUE_KINDS`).
    above : csr_matrix [n, n]
        1 where the second is the first, or a superclass of it.
    """

    domain: csr_matrix
    range: csr_matrix
    values: csr_matrix
    above: csr_matrix


def property_ends(graph: Graph) -> PropertyEnds:
    """Collect what a graph states with rdfs:domain, rdfs:range and rdfs:subClassOf, or schema.org's words for it."""
    domain, range_, subclass = (_classes(graph, words) for words in (DOMAIN, RANGE, SUBCLASS))
    needed = domain.nnz or range_.nnz  # else nobody asks what is above a class
    return PropertyEnds(domain, range_, _kinds_of_values(graph), closed(subclass) if needed else subclass)


def closed(steps: csr_matrix) -> csr_matrix:
    """Return 1 from each row to itself and to all rows that at most `MAX_STEPS_UP` steps lead to."""
    found = csr_matrix(identity(steps.shape[0], dtype=np.float32))
    newest = found
    for _ in range(MAX_STEPS_UP):
        reached = as_ones(newest @ steps)
        newest = reached - reached.multiply(found)
        newest.eliminate_zeros()
        if not newest.nnz:
            break
        found = csr_matrix(found + newest)
    return found


def above_kinds() -> csr_matrix:
    """Return 1 from each kind of values to itself and to text, which can hold values of every kind."""
    kinds = np.arange(len(VALUE_KINDS))
    return _ones(np.r_[kinds, kinds], np.r_[kinds, np.full(len(kinds), TEXT)], (len(kinds), len(kinds)))


def as_ones(matrix: csr_matrix) -> csr_matrix:
    """Replace every number that is not 0 by 1."""
    found = csr_matrix(matrix, dtype=np.float32)
    found.eliminate_zeros()
    found.data[:] = 1
    return found


def _kinds_of_values(graph: Graph) -> csr_matrix:
    """Look up the datatypes of ranges: they are not entities, so that they are stated as values."""
    of = graph.attributes
    rows = of.take(_among(of.predicate.texts(), RANGE)[of.predicate.codes])
    kinds = [KIND_OF_DATATYPE.get(expand(datatype, BUILT_IN), -1) for datatype in rows.value.tolist()]
    known = np.array(kinds, dtype=np.int64) >= 0
    shape = (graph.n_entities, len(VALUE_KINDS))
    return _ones(rows.entity[known], np.array(kinds, dtype=np.int64)[known], shape)


def _classes(graph: Graph, words: Collection[str]) -> csr_matrix:
    """Return 1 from head to tail of the triples with one of these predicates."""
    rows = graph.triples[_among(graph.relations, words)[graph.triples[:, 1]]]
    return _ones(rows[:, 0], rows[:, 2], (graph.n_entities, graph.n_entities))


def _among(texts: Collection[str], words: Collection[str]) -> np.ndarray:
    """Return bool: the texts that are one of the words, written as IRIs or with a prefix."""
    return np.array([expand(str(text), BUILT_IN) in words for text in texts], dtype=bool)


def _ones(row: np.ndarray, column: np.ndarray, shape: tuple[int, int]) -> csr_matrix:
    return as_ones(csr_matrix((np.ones(len(row), dtype=np.float32), (row, column)), shape=shape))
