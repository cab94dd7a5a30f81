"""Names and description of each entity as two texts, for sentence models."""

from __future__ import annotations

import numpy as np

from mixtea.graph.graph import Graph
from mixtea.graph.prefixes import BUILT_IN, expand
from mixtea.text.names import entity_names

DESCRIPTION_PREDICATES = (
    "rdfs:comment", "skos:definition", "schema:description", "sdo:description", "dcterms:description", "dc:description",
    "obo:IAO_0000115", "oboInOwl:hasDefinition",
)  # fmt: skip
DESCRIPTION_IRIS = frozenset(expand(name, BUILT_IN) for name in DESCRIPTION_PREDICATES)
MAX_TEXT_LENGTH = 4096  # characters: more than a model of sentences reads


def entity_texts(graph: Graph) -> list[tuple[str, str]]:
    """Return names and description of each entity, "" where there is none.

    They are apart because often one graph describes what the other only names.
    """
    names: list[list[str]] = [[] for _ in range(graph.n_entities)]
    descriptions: list[list[str]] = [[] for _ in range(graph.n_entities)]
    attributes = graph.attributes
    describes = np.array([text in DESCRIPTION_IRIS for text in attributes.predicate.texts()], dtype=bool)[
        attributes.predicate.codes
    ]
    for found, entity, text in (
        (names, *entity_names(graph)),
        (descriptions, attributes.entity[describes], attributes.value.take(describes)),
    ):
        for index, said in zip(entity.tolist(), text.tolist(), strict=True):
            found[index].append(said.strip()[:MAX_TEXT_LENGTH])
    return [(_joined(ours), _joined(said)) for ours, said in zip(names, descriptions, strict=True)]


def _joined(parts: list[str]) -> str:
    return ". ".join(filter(None, parts))[:MAX_TEXT_LENGTH]
