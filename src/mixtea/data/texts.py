"""What can be read about each entity, as two texts: its labels, else its name, and what describes it."""

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


def entity_texts(graph: Graph) -> list[tuple[str, str]]:
    """Names and description of each entity, "" where there is none.

    They are apart because often one graph describes what the other only names.
    """
    names: list[list[str]] = [[] for _ in range(graph.n_entities)]
    descriptions: list[list[str]] = [[] for _ in range(graph.n_entities)]
    labels, attributes = graph.labels, graph.attributes
    describes = np.array([text in IRIS for text in attributes.predicate.texts()], dtype=bool)[
        attributes.predicate.codes
    ]
    for found, entity, text in (
        (names, labels.entity, labels.text),  # sorted, the label to show before others
        (descriptions, attributes.entity[describes], attributes.value.take(describes)),
    ):
        for index, said in zip(entity.tolist(), text.tolist(), strict=True):
            found[index].append(said.strip()[:LONGEST])
    return [
        (_joined(ours) or name_of(str(one)), _joined(said))
        for ours, said, one in zip(names, descriptions, graph.ids, strict=True)
    ]


def _joined(parts: list[str]) -> str:
    return ". ".join(filter(None, parts))[:LONGEST]


def name_of(entity: str) -> str:
    """The last part of an IRI as words; "" where it has none.

    >>> name_of("http://dbpedia.org/resource/New_York"), name_of("http://www.wikidata.org/entity/Q64")
    ('New York', '')
    """
    last = re.split("[/#]", entity.rstrip("/#"))[-1]
    words = unquote(last).replace("_", " ").strip()[:LONGEST]
    return words if WORD.search(words) and not entity.startswith("_:") else ""
