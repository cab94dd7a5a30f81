"""Interpret statements whose object is a node without a name: an OWL expression, a list, or a text."""

from __future__ import annotations

from mixtea.graph.labels import NO_LABEL, label_rank
from mixtea.graph.prefixes import BUILT_IN, OWL, expand, iris

MEMBER = BUILT_IN["rdf"] + "_"
TYPE, SUBCLASS, EQUIVALENT = (expand(name, BUILT_IN) for name in ("rdf:type", "rdfs:subClassOf", "owl:equivalentClass"))
ON_PROPERTY, INVERSE, AND, NOT = (OWL + word for word in ("onProperty", "inverseOf", "intersectionOf", "complementOf"))
LIST = iris("rdf:first", "rdf:rest")
FILLERS = iris("owl:someValuesFrom", "owl:allValuesFrom", "owl:hasValue", "owl:onClass", "owl:onDataRange")
ONE_OF = iris("owl:unionOf", "owl:oneOf")
NEGATING = iris(
    "owl:disjointWith", "owl:complementOf", "rdfs:domain", "rdfs:range"
)  # of others holds what stands there
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
