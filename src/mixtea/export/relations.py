"""Write similar relations, attribute predicates and classes, one function per format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from mixtea.export.identifiers import SSSOM_PREFIXES, Curies, IriAssigner, drop_blank_nodes, known_prefixes
from mixtea.export.metadata import MappingMetadata
from mixtea.export.quoting import raise_unsupported
from mixtea.export.rdf import Triple
from mixtea.export.sssom import check_rows, entity_columns, format_numbers, write_slots
from mixtea.export.tables import Rows, check_text, write_columns
from mixtea.graph.graph import SIDES
from mixtea.relations.alignment import Relations

JUSTIFICATION = "semapv:InstanceBasedMatching"
COUNTS = ("count", "source_count", "target_count")
EXTENSIONS = {f"ext_{name}": "xsd:double" for name in COUNTS}
SSSOM_TYPES = {"relation": "rdf property", "attribute": "rdf property", "class": "rdfs class"}  # as SSSOM calls them
EQUIVALENT_PREDICATES = {
    "relation": "owl:equivalentProperty",
    "attribute": "owl:equivalentProperty",
    "class": "owl:equivalentClass",
}
SUB_PREDICATES = {"relation": "rdfs:subPropertyOf", "attribute": "rdfs:subPropertyOf", "class": "rdfs:subClassOf"}
RELATED_MATCH = "skos:relatedMatch"  # narrower or broader than the inverse, for which there is no word


def as_table(write: Callable[[Rows, Path], int]) -> Callable[[Relations, Path, MappingMetadata], int]:
    """Turn a writer of tables into one of relations, with all columns."""

    def written(relations: Relations, path: Path, metadata: MappingMetadata) -> int:
        head = metadata.slots() | metadata.tool_slots()
        return write(Rows(relations.to_frame(), "relations", relations.links_from, head, kind="id"), path)

    return written


def write_relations_parquet(relations: Relations, path: Path, metadata: MappingMetadata) -> int:
    """Write all columns."""
    check_text(Rows(relations.frame, "relations", kind="id"), path)
    write_columns(relations.frame, path, metadata)
    return len(relations)


def relation_triples(relations: Relations, path: Path, metadata: MappingMetadata) -> Iterator[Triple]:
    """Yield a triple per row; where the source is broader, the target is its sub-property or subclass."""
    for row in _with_iris(relations, path, metadata).itertuples(index=False):
        predicate, ends = _predicate(row), (row.source_iri, row.target_iri)
        if predicate == "skos:narrowMatch":
            predicate, ends = SUB_PREDICATES[row.kind], ends[::-1]
        prefix, _, name = predicate.partition(":")
        yield ends[0], SSSOM_PREFIXES[prefix] + name, ends[1]


def write_relations_sssom(relations: Relations, path: Path, metadata: MappingMetadata) -> int:
    """Write one row per pair, the score as its confidence."""
    rows = _with_iris(relations, path, metadata)
    check_rows(rows, relations, path, "id")
    curies = Curies(known_prefixes(relations, metadata))
    predicates = [_predicate(row) for row in rows.itertuples(index=False)]
    types = [SSSOM_TYPES[kind] for kind in rows["kind"]]
    columns = (
        entity_columns(rows, relations, curies)
        | {
            "predicate_id": predicates,
            "mapping_justification": [metadata.justification] * len(rows),
            "subject_type": types,
            "object_type": types,
            "confidence": format_numbers(rows["score"]),
        }
        | {f"ext_{name}": format_numbers(rows[name]) for name in COUNTS}
    )
    curies.require({*predicates, metadata.justification})
    write_slots(columns, path, metadata, metadata.tool_slots(), curies, EXTENSIONS)
    return len(rows)


def _predicate(row: Any) -> str:
    """Return the predicate from source to target that SSSOM allows."""
    if row.relation in ("narrower", "broader") and row.inverse:
        return RELATED_MATCH
    words = {"equal": EQUIVALENT_PREDICATES[row.kind], "inverse": "owl:inverseOf", "narrower": SUB_PREDICATES[row.kind]}
    return words.get(row.relation, "skos:narrowMatch")


def _with_iris(relations: Relations, path: Path, metadata: MappingMetadata) -> pd.DataFrame:
    """Add the columns source_iri and target_iri; drop rows of blank nodes."""
    rows = relations.to_frame()
    problems: dict[str, str] = {}
    for side in SIDES:
        graph = getattr(relations, side)
        ids = {"relation": graph.relations, "attribute": graph.attributes.predicate.texts(), "class": graph.ids}
        namings = {kind: IriAssigner(ids[kind], side, metadata) for kind in rows["kind"].unique()}
        both = zip(rows["kind"], rows[side], strict=True)
        rows[f"{side}_iri"] = pd.Series([namings[kind](one) for kind, one in both], index=rows.index, dtype=object)
        problems |= {one: what for naming in namings.values() for one, what in naming.problems.items()}
    raise_unsupported(path, problems, "id")
    return drop_blank_nodes(rows, path)
