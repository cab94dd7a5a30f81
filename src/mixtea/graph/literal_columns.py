"""Detection of literals among the objects of plain triples: tables do not mark texts, numbers and dates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from shlex import quote

import numpy as np

from mixtea.errors import shorten
from mixtea.graph.builder import GraphData, without_unreferenced
from mixtea.graph.entity_table import Attributes
from mixtea.graph.graph import Graph
from mixtea.graph.labels import NO_LABEL, PLAIN_LABEL_PREDICATES, label_rank
from mixtea.graph.terms import iri_literals

NUMBER = re.compile(r"[+-]?\d[\d.,:/TZ+-]*(?:[eE][+-]?\d+)?|(?:true|false)", re.IGNORECASE)  # dates and times too
PREFIXED_ID = re.compile(r"[\w.-]*:\S+")  # an IRI or an id with a prefix
SENTENCE_WORDS = 6  # words
MIN_LITERAL_SHARE, RARE_FORM_SHARE = 0.8, 0.05  # of a relation's objects; of the graph's subjects
MAX_TRIPLES_SAMPLED, MAX_RELATIONS_SHOWN = 20_000, 5  # triples that are looked at; relations that are told
LITERAL_FORMS = ("number", "word", "words", "sentence")  # of what is no id by its form


def objects_to_literals(part: GraphData, wanted: np.ndarray) -> GraphData:
    """Turn the objects of some predicates (a mask) into values; those of `name` and `label` become labels."""
    words = [
        PLAIN_LABEL_PREDICATES.get(name, name) if here else name
        for name, here in zip(part.predicates, wanted, strict=True)
    ]
    part = replace(part, predicates=np.array(words, dtype=object))
    rows = wanted[part.triples[:, 1]]
    attributes = Attributes.concat([part.attributes, iri_literals(part, rows, "")])
    return without_unreferenced(replace(part, triples=part.triples[~rows], attributes=attributes))


def label_predicates(part: GraphData) -> np.ndarray:
    """Return bool: the predicates of labels, such as rdfs:label, whose objects are plain texts throughout."""
    found = np.array([label_rank(str(name)) != NO_LABEL for name in part.predicates], dtype=bool)
    for word in np.flatnonzero(found):
        objects = np.unique(part.triples[part.triples[:, 1] == word, 2])
        found[word] = len(objects) and not any(id_form(str(id)) == "id" for id in part.ids[objects])
    return found


def literal_warnings(graph: Graph, side: str) -> Iterator[str]:
    """Yield a warning about relations whose objects are never subjects and look like numbers, dates or texts."""
    triples = graph.triples[:: len(graph.triples) // MAX_TRIPLES_SAMPLED + 1]
    relations, values = triples[:, 1], _looks_literal(graph, triples)
    counts = [np.bincount(relations[rows], minlength=graph.n_relations) for rows in (values, values >= 0)]
    doubtful = np.flatnonzero((counts[0] > 0) & (counts[0] >= MIN_LITERAL_SHARE * counts[1]))
    if len(doubtful):
        names = [str(name) for name in graph.relations[doubtful[:MAX_RELATIONS_SHOWN]]]
        more = f" and {len(doubtful) - MAX_RELATIONS_SHOWN} more" if len(doubtful) > MAX_RELATIONS_SHOWN else ""
        such = graph.ids[triples[values & (relations == doubtful[0]), 2][0]]
        way_out = " ".join(f"--literals {quote(name)}" for name in names)
        yield (
            f"the objects of {', '.join(map(shorten, names))}{more} look like values, such as {shorten(such)}, and are "
            f"read as entities of the {side} graph. If they are values: {way_out}"
        )


def _looks_literal(graph: Graph, triples: np.ndarray) -> np.ndarray:
    """Return bool: the triples whose object looks like a literal."""
    is_subject = np.zeros(graph.n_entities, dtype=bool)
    is_subject[graph.triples[:, 0]] = True
    usual = Counter(id_form(str(id)) for id in graph.ids[np.unique(triples[:, 0])])
    rare = {how for how in LITERAL_FORMS if usual[how] < RARE_FORM_SHARE * usual.total()}
    objects, places = np.unique(triples[:, 2], return_inverse=True)
    odd = np.array([id_form(str(id)) in rare for id in graph.ids[objects]], dtype=bool)
    found: np.ndarray = (odd & ~is_subject[objects])[places]
    return found


def id_form(text: str) -> str:
    """Classify how an id is written.

    >>> [id_form(text) for text in ("http://e.org/a", "wd:Q1", "-3.5", "2001-01-31", "Rome", "New York")]
    ['id', 'id', 'number', 'number', 'word', 'words']
    """
    if PREFIXED_ID.fullmatch(text):
        return "id"
    if NUMBER.fullmatch(text):
        return "number"
    n = len(text.split())
    return "word" if n < 2 else "words" if n < SENTENCE_WORDS else "sentence"
