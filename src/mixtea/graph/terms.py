"""Terms of RDF and OWL: they are not mapped, but show the kind of an entity."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from mixtea.graph.builder import GraphData, without_unreferenced
from mixtea.graph.entity_table import Attributes
from mixtea.graph.prefixes import BUILT_IN, OWL, expand, iris
from mixtea.graph.text_column import TextColumn

VOCABULARIES = tuple(BUILT_IN[name] for name in ("rdf", "rdfs", "owl", "xsd", "skos"))
TYPE = iris("rdf:type") | {"rdf:type"}
NIL = BUILT_IN["rdf"] + "nil"  # also the end of every list
ONTOLOGY, IMPORTS = OWL + "Ontology", OWL + "imports"
IRI = BUILT_IN["xsd"] + "anyURI"  # the datatype of a value that is one
ENTITY_KINDS = ("classes", "properties", "individuals")
CLASS, PROPERTY, INDIVIDUAL = range(3)
CLASSES = iris("owl:Class", "rdfs:Class", "owl:DeprecatedClass", "rdfs:Datatype")
PROPERTIES = iris("rdf:Property") | {
    f"{OWL}{word}Property" for word in ("Object", "Datatype", "Annotation", "Ontology", "Functional", "Deprecated",
        "InverseFunctional", "Symmetric", "Transitive", "Asymmetric", "Reflexive", "Irreflexive")
}  # fmt: skip
CLASS_AXIOMS = iris("rdfs:subClassOf", "owl:equivalentClass", "owl:disjointWith")
PROPERTY_AXIOMS = iris("rdfs:subPropertyOf", "owl:equivalentProperty", "owl:inverseOf")
DOMAIN_AND_RANGE = iris("rdfs:domain", "rdfs:range")  # from a property to a class
DEPRECATED, DEPRECATED_TYPES = iris("owl:deprecated"), iris("owl:DeprecatedClass", "owl:DeprecatedProperty")


NOT_FETCHED = "it imports {}: nothing is fetched. If it matters, name its file as one more of this side."


def without_vocabulary(part: GraphData) -> GraphData:
    """Remove these terms as entities: `A rdf:type owl:Class` and `p rdfs:range xsd:date` become values.

    The header of an ontology is left out; its IRI is kept, and a note is added if it imports others.
    """
    is_word = np.fromiter((name.startswith(VOCABULARIES) for name in part.ids), dtype=bool, count=len(part.ids))
    if not is_word.any():
        return part
    head, _, tail = part.triples.T
    typed = _triples_with(part, TYPE)
    headers = typed[(part.ids == ONTOLOGY)[typed[:, 2]], 0]
    gone = is_word.copy()
    gone[headers] = True
    values = iri_literals(part, is_word[tail] & ~gone[head] & (part.ids != NIL)[tail])
    attributes = Attributes.concat([part.attributes.take(~gone[part.attributes.entity]), values])
    found = without_unreferenced(replace(part, triples=part.triples[~gone[head] & ~gone[tail]], attributes=attributes))
    if not len(found.ids):  # then it is a file about these words
        return part
    notes = (*found.notes, *imports_note(part.ids[_triples_with(part, {IMPORTS})[:, 2]].tolist()))
    return replace(found, ontology=str(part.ids[headers[0]]) if len(headers) else part.ontology, notes=notes)


def imports_note(imported: list[str]) -> tuple[str, ...]:
    """Return a note on the ontologies that a file imports; empty if there are none."""
    others = f" and {len(imported) - 1} more" if len(imported) > 1 else ""
    return (NOT_FETCHED.format(imported[0] + others),) if imported else ()


def iri_literals(part: GraphData, rows: np.ndarray, datatype: str = IRI) -> Attributes:
    """Turn triples (a mask) into attribute triples whose value is the tail's IRI."""
    head, relation, tail = part.triples[rows].T
    texts, codes = np.unique(tail, return_inverse=True)
    zeros = np.zeros(len(head), dtype=np.int64)
    columns = ((list(part.predicates), relation), (list(part.ids[texts]), codes), ([""], zeros), ([datatype], zeros))
    return Attributes(head.astype(np.int32), *(TextColumn.coded(*column) for column in columns))


def types_of(
    ids: np.ndarray, predicates: np.ndarray, triples: np.ndarray, attributes: Attributes
) -> tuple[np.ndarray, list[str]]:
    """Return (int64 [t] entities, [t] IRIs of their types), from triples and values with rdf:type."""
    typed, values = triples[_among(predicates, TYPE)[triples[:, 1]]], type_rows(attributes)
    return np.concatenate([typed[:, 0], values.entity]), [*ids[typed[:, 2]], *values.value.tolist()]


def type_rows(attributes: Attributes) -> Attributes:
    """Select the rows with rdf:type."""
    rows = attributes.take(attributes.predicate.rows_with(TYPE))
    return rows.drop_duplicates(*rows.COLUMN_TYPES)


def entity_kinds(part: GraphData) -> np.ndarray:
    """Return uint8 [n]: CLASS, PROPERTY or INDIVIDUAL, as declared, else as the entity is used."""
    found = np.full(len(part.ids), INDIVIDUAL, dtype=np.uint8)

    def heads(words: Collection[str]) -> np.ndarray:
        rows = part.attributes.predicate.rows_with(words)
        return np.concatenate([_triples_with(part, words)[:, 0], part.attributes.entity[rows]])

    found[np.concatenate([_triples_with(part, words)[:, 2] for words in (TYPE, DOMAIN_AND_RANGE, CLASS_AXIOMS)])] = (
        CLASS
    )
    found[heads(CLASS_AXIOMS)] = CLASS
    found[
        np.concatenate([heads(DOMAIN_AND_RANGE), heads(PROPERTY_AXIOMS), _triples_with(part, PROPERTY_AXIOMS)[:, 2]])
    ] = PROPERTY
    for kind, types in ((PROPERTY, PROPERTIES), (CLASS, CLASSES)):
        found[_declared(part, types)] = kind
    return found


def is_obsolete(part: GraphData) -> np.ndarray:
    """Return bool [n]: the entities that the files mark as deprecated, as OBO's `is_obsolete` does."""
    found = np.zeros(len(part.ids), dtype=bool)
    said = part.attributes.take(part.attributes.predicate.rows_with(DEPRECATED))
    found[said.entity[_among((value.lower() for value in said.value.tolist()), ("true", "1"))]] = True
    found[_declared(part, DEPRECATED_TYPES)] = True
    return found


def _declared(part: GraphData, types: Collection[str]) -> np.ndarray:
    """Return the entities of one of these types."""
    typed, values = _triples_with(part, TYPE), type_rows(part.attributes)
    tails, codes = np.unique(typed[:, 2], return_inverse=True)
    by_triple = _among((expand(str(name), BUILT_IN) for name in part.ids[tails]), types)[codes]
    by_value = _among(values.value.texts(), types)[values.value.codes]
    return np.concatenate([typed[by_triple, 0], values.entity[by_value]])


def _triples_with(part: GraphData, words: Collection[str]) -> np.ndarray:
    """Select the triples with one of these predicates."""
    rows: np.ndarray = part.triples[_among(part.predicates, words)[part.triples[:, 1]]]
    return rows


def _among(texts: Iterable[str], words: Collection[str]) -> np.ndarray:
    """Return bool: the texts that are one of the words."""
    return np.array([text in words for text in texts], dtype=bool)
