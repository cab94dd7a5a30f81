"""What can be read about each entity, as one text: its label, what describes it, its other labels; else its name."""

from __future__ import annotations

import re
from urllib.parse import unquote

import numpy as np

from mixtea.data.graph import Graph
from mixtea.data.prefixes import BUILT_IN, expand

DESCRIBING = (
    "rdfs:comment", "skos:definition", "schema:description", "sdo:description", "dcterms:description", "dc:description",
    "obo:IAO_0000115", "oboInOwl:hasDefinition",
)  # fmt: skip
IRIS = frozenset(expand(name, BUILT_IN) for name in DESCRIBING)
LONGEST = 4096  # characters: more than a model of sentences reads
WORD = re.compile(r"[^\W\d_]{2}")


def entity_texts(graph: Graph) -> list[str]:
    """A text an entity, "" for one of which nothing can be read."""
    found: list[list[str]] = [[] for _ in range(graph.n_entities)]
    labels, attributes = graph.labels, graph.attributes
    first = np.diff(labels.entity, prepend=-1) > 0  # the table is sorted, the label to show before others
    describes = np.array([text in IRIS for text in attributes.predicate.texts()], dtype=bool)[
        attributes.predicate.codes
    ]
    for rows, entity, text in (
        (first, labels.entity, labels.text),
        (describes, attributes.entity, attributes.value),
        (~first, labels.entity, labels.text),
    ):
        for index, said in zip(entity[rows].tolist(), text.take(rows).tolist(), strict=True):
            found[index].append(said.strip()[:LONGEST])
    return [
        ". ".join(filter(None, parts))[:LONGEST] or name_of(str(one))
        for parts, one in zip(found, graph.ids, strict=True)
    ]


def name_of(entity: str) -> str:
    """The last part of an IRI as words; "" where it has none.

    >>> name_of("http://dbpedia.org/resource/New_York"), name_of("http://www.wikidata.org/entity/Q64")
    ('New York', '')
    """
    last = re.split("[/#]", entity.rstrip("/#"))[-1]
    words = unquote(last).replace("_", " ").strip()[:LONGEST]
    return words if WORD.search(words) and not entity.startswith("_:") else ""
