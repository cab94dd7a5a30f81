"""Collapse blank nodes and text nodes into direct triples.

A statement whose object is a node without a name is an OWL expression, a list, or leads to a text.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from mixtea.graph.builder import GraphData, distinct_triples, without_unreferenced
from mixtea.graph.entity_table import Attributes
from mixtea.graph.labels import NO_LABEL, label_rank
from mixtea.graph.prefixes import BUILT_IN, OWL, expand, iris
from mixtea.graph.text_column import TextColumn
from mixtea.io.safe.limits import current_limits, limit_exceeded

BLANK = "_:"
AXIOM = tuple(OWL + word for word in ("annotatedSource", "annotatedProperty", "annotatedTarget"))
UNREACHED = "{:,} blank nodes that no entity leads to are left out: without an IRI they cannot be mapped"
UNKNOWN, NONE = -2, -1  # in place of a predicate's number: it has no name; there is none
FREE_STEPS, STATEMENTS_PER_STEP = 100_000, 50  # steps that any file may take; of max_expansion, a step a statement


def collapse_blank_nodes(part: GraphData, path: Path) -> GraphData:
    """Return the data without such nodes: `A subClassOf [onProperty p; someValuesFrom C]` becomes (A, p, C).

    A node with several incoming statements is entered only from entities, so that the walk ends.
    """
    hidden = np.fromiter((name.startswith(BLANK) for name in part.ids), dtype=bool, count=len(part.ids))
    hidden |= _text_nodes(part)
    if not hidden.any():
        return part
    part = replace(part, triples=distinct_triples(part.triples))
    walk = _Walk(part, hidden, path)
    for head, predicate, node in part.triples[~hidden[part.triples[:, 0]] & hidden[part.triples[:, 2]]].tolist():
        walk.follow(head, predicate, node)
    n_alone = walk.count_unreached()
    for node in walk.subjects:
        walk.add_axiom(node)
    found = without_unreferenced(walk.part_without_nodes())
    return replace(found, notes=(*found.notes, UNREACHED.format(n_alone))) if n_alone or not len(found.ids) else found


def _text_nodes(part: GraphData) -> np.ndarray:
    """Return bool [n], the nodes with a text whose incoming statements are all synonyms, labels or definitions."""
    leads = np.array([word in TEXTS for word in part.predicates], dtype=bool)
    found = np.zeros(len(part.ids), dtype=bool)
    if leads.any():
        also = leads | (part.predicates == AXIOM[2])
        has_text = np.zeros(len(part.ids), dtype=bool)
        has_text[part.attributes.entity] = True
        found[part.triples[leads[part.triples[:, 1]], 2]] = True
        found[part.triples[~also[part.triples[:, 1]], 2]] = False
        found &= has_text
    return found


class _Walk:
    """A walk from entities through hidden nodes to the entities and texts behind them."""

    def __init__(self, part: GraphData, hidden: np.ndarray, path: Path) -> None:
        self.part, self.hidden, self.path = part, hidden, path
        self.words = [str(word) for word in part.predicates]
        self.number = {word: number for number, word in enumerate(self.words)}
        self.n_leading = np.bincount(part.triples[:, 2], minlength=len(part.ids))
        self.arcs = _RowsByEntity(part.triples[:, 0], hidden)
        self.inner = part.triples[self.arcs.rows, 1:]
        self.texts = _RowsByEntity(part.attributes.entity, hidden)
        self.subjects = np.flatnonzero(hidden & (self.arcs.counts() + self.texts.counts() > 0)).tolist()
        self.reached = np.zeros(len(part.ids), dtype=bool)
        self.of_text = np.array([self._numbered(text) for text in part.attributes.predicate.texts()], dtype=np.int64)
        self.known: dict[tuple[Callable[..., str | None], int, int, int], int] = {}
        self.triples, self.values = array("q"), array("q")  # (head, predicate, tail); (entity, predicate, row)
        n = len(part.triples) + len(part.attributes)
        self.steps = max(FREE_STEPS, current_limits().max_expansion * n // STATEMENTS_PER_STEP)

    def follow(self, head: int, predicate: int, node: int) -> None:
        """Add the statements behind a node under the predicate that leads to it."""
        predicate = self._numbered(SUBCLASS) if self.words[predicate] == AND else predicate
        waiting = [(node, predicate, False)]
        while waiting:
            node, predicate, turned = waiting.pop()
            arcs = self._arcs_of(node)
            on, turned = self._restricted(arcs, turned)
            for inner, value in arcs:
                now = self._meaning(collapsed_predicate, predicate, inner, on)
                if now >= 0 and not self.hidden[value]:
                    self.triples.extend((value, now, head) if turned else (head, now, value))
                elif now >= 0 and self.n_leading[value] == 1:
                    waiting.append((value, now, turned))
            for row in self.texts.of(node):
                now = self._meaning(collapsed_text_predicate, predicate, self._predicate_of(row), on)
                if now >= 0 and not turned:
                    self.values.extend((head, now, row))

    def add_axiom(self, node: int) -> None:
        """Add the statement that an annotated axiom is about."""
        arcs = self._arcs_of(node)
        head, annotated, tail = (self._value(arcs, word) for word in AXIOM)
        if min(head, annotated) < 0 or self.hidden[head] or self.hidden[annotated]:
            return
        predicate = self._numbered(str(self.part.ids[annotated]))
        if tail < 0:
            target = self.number.get(AXIOM[2], NONE)
            for row in self.texts.of(node):
                if self._predicate_of(row) == target:
                    self.values.extend((head, predicate, row))
        elif self.hidden[tail]:
            self.follow(head, predicate, tail)
        else:
            self.triples.extend((head, predicate, tail))

    def _predicate_of(self, row: int) -> int:
        return int(self.of_text[self.part.attributes.predicate.codes[row]])

    def _arcs_of(self, node: int) -> list[tuple[int, int]]:
        arcs: list[tuple[int, int]] = self.inner[self.arcs.places(node)].tolist()
        self.reached[node] = True
        self.steps -= 1 + len(arcs)
        if self.steps < 0:
            what = "nodes without a name that are joined to far more entities than there are statements"
            raise limit_exceeded(self.path, None, what, "max_expansion")
        return arcs

    def _restricted(self, arcs: list[tuple[int, int]], turned: bool) -> tuple[int, bool]:
        """Return the predicate that a node restricts, NONE if it is not a restriction, and whether it is inverted."""
        named = self._value(arcs, ON_PROPERTY)
        if named < 0:
            return NONE, turned
        inverse = bool(self.hidden[named])
        named = self._value(self._arcs_of(named), INVERSE) if inverse else named
        if named < 0 or self.hidden[named]:
            return UNKNOWN, False
        return self._numbered(str(self.part.ids[named])), inverse

    def _value(self, arcs: list[tuple[int, int]], word: str) -> int:
        """Return the node that an arc of this name leads to, -1 without one."""
        number = self.number.get(word, NONE)
        return next((value for inner, value in arcs if inner == number), -1)

    def count_unreached(self) -> int:
        """Count the nodes that were not reached, except those of axioms and expressions."""
        own = np.array([word.startswith(OWL) or word in LIST for word in self.words])
        alone = (i for i in self.subjects if not self.reached[i] and str(self.part.ids[i]).startswith(BLANK))
        return sum(not own[self.inner[self.arcs.places(node), 0]].any() for node in alone)

    def _meaning(self, of: Callable[..., str | None], predicate: int, inner: int, on: int) -> int:
        """Return the number of the collapsed predicate, NONE without one."""
        key = (of, predicate, inner, on)
        if on != UNKNOWN and key not in self.known:
            word = of(self.words[predicate], self.words[inner], None if on == NONE else self.words[on])
            self.known[key] = NONE if word is None else self._numbered(word)
        return self.known.get(key, NONE)

    def _numbered(self, word: str) -> int:
        if word not in self.number:
            self.number[word] = len(self.words)
            self.words.append(word)
        return self.number[word]

    def part_without_nodes(self) -> GraphData:
        """Return the statements about entities, then those found behind nodes."""
        old, of = self.part.triples, self.part.attributes
        plain = old[~self.hidden[old[:, [0, 2]]].any(axis=1)]
        entity, predicate, row = np.array(self.values, dtype=np.int64).reshape(-1, 3).T
        texts = of.take(row)
        found = replace(texts, entity=entity.astype(np.int32), predicate=TextColumn.coded(self.words, predicate))
        attributes = Attributes.concat([of.take(~self.hidden[of.entity]), found])
        triples = distinct_triples(np.concatenate([plain, np.array(self.triples, dtype=np.int64).reshape(-1, 3)]))
        words = np.empty(len(self.words), dtype=object)
        words[:] = self.words
        return replace(self.part, predicates=words, triples=triples, attributes=attributes)


class _RowsByEntity:
    """The rows of a column of entities that are about hidden nodes, by entity."""

    def __init__(self, column: np.ndarray, hidden: np.ndarray) -> None:
        rows = np.flatnonzero(hidden[column])
        self.rows = rows[np.argsort(column[rows], kind="stable")]
        self.starts = np.searchsorted(column[self.rows], np.arange(len(hidden) + 1))

    def counts(self) -> np.ndarray:
        return np.diff(self.starts)

    def of(self, entity: int) -> list[int]:
        found: list[int] = self.rows[self.places(entity)].tolist()
        return found

    def places(self, entity: int) -> slice:
        """Return the slice of `rows` that belongs to the entity."""
        return slice(self.starts[entity], self.starts[entity + 1])


MEMBER = BUILT_IN["rdf"] + "_"
TYPE, SUBCLASS, EQUIVALENT = (expand(name, BUILT_IN) for name in ("rdf:type", "rdfs:subClassOf", "owl:equivalentClass"))
ON_PROPERTY, INVERSE, AND, NOT = (OWL + word for word in ("onProperty", "inverseOf", "intersectionOf", "complementOf"))
LIST = iris("rdf:first", "rdf:rest")
FILLERS = iris("owl:someValuesFrom", "owl:allValuesFrom", "owl:hasValue", "owl:onClass", "owl:onDataRange")
ONE_OF = iris("owl:unionOf", "owl:oneOf")
NEGATING = iris("owl:disjointWith", "owl:complementOf", "rdfs:domain", "rdfs:range")  # what is there holds of others
TEXTS = iris(  # lead to nodes that hold a text
    "oboInOwl:hasExactSynonym", "oboInOwl:hasRelatedSynonym", "oboInOwl:hasBroadSynonym", "oboInOwl:hasNarrowSynonym",
    "oboInOwl:hasSynonym", "oboInOwl:hasDefinition", "skosxl:prefLabel", "skosxl:altLabel", "skosxl:hiddenLabel",
)  # fmt: skip
TEXT = iris("rdf:value", "skosxl:literalForm")


def collapsed_predicate(outer: str, inner: str, on: str | None = None) -> str | None:
    """Return the predicate of (A, ?, C) for A `outer` [`inner` C], where the node may restrict the property `on`.

    None where A and C are unrelated.

    >>> collapsed_predicate("rdfs:subClassOf", OWL + "someValuesFrom", "part_of")
    'part_of'
    >>> collapsed_predicate("city", MEMBER + "1")
    'city'
    """
    if inner in LIST or inner.startswith(MEMBER):
        return outer
    if on is not None:
        return on if inner in FILLERS and outer not in NEGATING else None
    of_class = outer in (SUBCLASS, EQUIVALENT)
    if inner == AND:
        return SUBCLASS if of_class else outer
    if inner in ONE_OF:
        return inner if of_class else outer
    if inner == NOT:
        return inner if of_class else None
    if inner == TYPE or (inner.startswith(OWL) and inner != INVERSE):
        return None
    return inner


def collapsed_text_predicate(outer: str, inner: str, on: str | None = None) -> str | None:
    """Return the predicate where C is a text: the name of a node is a value of A under A's predicate.

    >>> collapsed_text_predicate("oboInOwl:hasExactSynonym", "rdfs:label")
    'oboInOwl:hasExactSynonym'
    >>> collapsed_text_predicate("address", "street")
    'street'
    """
    return outer if inner in TEXT or label_rank(inner) != NO_LABEL else collapsed_predicate(outer, inner, on)
