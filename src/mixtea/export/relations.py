"""How relations, attribute predicates and classes are alike, into a file; the file's ending chooses the format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from mixtea.export.csv_file import write_csv_table
from mixtea.export.curies import BUILT_IN, Curies, known_prefixes
from mixtea.export.identifiers import Naming, text_of, without_blank
from mixtea.export.json_file import write_json_table
from mixtea.export.metadata import About, marked
from mixtea.export.parquet import write_columns
from mixtea.export.rdf import write_triples
from mixtea.export.sssom import check_rows, numbers, shown_labels, write_slots
from mixtea.export.tsv import write_table
from mixtea.export.unsupported import half_characters, refuse
from mixtea.graph.iris import SIDES
from mixtea.relations.alignment import Relations

JUSTIFICATION = "semapv:InstanceBasedMatching"
NUMBERS = ("score", "count", "source_count", "target_count")
EXTENSIONS = {f"ext_{name}": "xsd:double" for name in NUMBERS[1:]}
TYPES = {"relation": "rdf property", "attribute": "rdf property", "class": "rdfs class"}  # as SSSOM calls them
EQUAL = {"relation": "owl:equivalentProperty", "attribute": "owl:equivalentProperty", "class": "owl:equivalentClass"}
WITHIN = {"relation": "rdfs:subPropertyOf", "attribute": "rdfs:subPropertyOf", "class": "rdfs:subClassOf"}
RELATED = "skos:relatedMatch"  # narrower or broader than the inverse, for which there is no word


def write_relations_tsv(relations: Relations, path: Path, about: About) -> int:
    """All columns, with a header."""
    frame = relations.to_frame()
    texts = {name: numbers(frame[name]) for name in NUMBERS}
    inverse = ["true" if turned else "false" for turned in frame["inverse"]]
    return write_table(marked(frame.assign(**texts, inverse=inverse), relations.links_from), path, kind="id")


def write_relations_parquet(relations: Relations, path: Path, about: About) -> int:
    """All columns as they are."""
    _refuse_halves(relations, path)
    frame = relations.frame
    kinds = dict.fromkeys(NUMBERS, pa.float64()) | {"inverse": pa.bool_()}
    columns = {name: pa.array(frame[name].tolist(), kinds.get(name, pa.string())) for name in frame.columns}
    write_columns(columns, path, about, {})
    return len(frame)


def write_relations_csv(relations: Relations, path: Path, about: About) -> int:
    """All columns, with a header."""
    _refuse_halves(relations, path)
    return write_csv_table(marked(relations.to_frame(), relations.links_from), path)


def write_relations_json(relations: Relations, path: Path, about: About) -> int:
    """The description, and under `relations` all columns."""
    _refuse_halves(relations, path)
    head = about.slots() | about.tool() | {"links_from": relations.links_from}
    return write_json_table(relations.to_frame(), path, "relations", head)


def _refuse_halves(relations: Relations, path: Path) -> None:
    refuse(path, half_characters([*text_of(relations.frame["source"]), *text_of(relations.frame["target"])]), "id")


def write_relations_ntriples(relations: Relations, path: Path, about: About) -> int:
    return write_triples(_triples(relations, path, about), path, {}, about)


def write_relations_turtle(relations: Relations, path: Path, about: About) -> int:
    prefixes = known_prefixes(relations, about)
    return write_triples(_triples(relations, path, about), path, prefixes, about)


def _triples(relations: Relations, path: Path, about: About) -> Iterator[tuple[str, str, str]]:
    """What RDF can say of each row: where the source is broader, the target is within it."""
    for row in _with_iris(relations, path, about).itertuples(index=False):
        predicate, ends = _predicate(row), (row.source_iri, row.target_iri)
        if predicate == "skos:narrowMatch":
            predicate, ends = WITHIN[row.kind], ends[::-1]
        prefix, _, name = predicate.partition(":")
        yield ends[0], BUILT_IN[prefix] + name, ends[1]


def write_relations_sssom(relations: Relations, path: Path, about: About) -> int:
    """One row a pair, the score as its confidence."""
    rows = _with_iris(relations, path, about)
    check_rows(rows, relations, path, "id")
    curies = Curies(known_prefixes(relations, about))
    predicates = [_predicate(row) for row in rows.itertuples(index=False)]
    types = [TYPES[kind] for kind in rows["kind"]]
    columns = {
        "subject_id": [curies.contract(iri) for iri in rows["source_iri"]],
        "subject_label": shown_labels(text_of(rows["source"]), text_of(rows["source_iri"]), relations.source),
        "predicate_id": predicates,
        "object_id": [curies.contract(iri) for iri in rows["target_iri"]],
        "object_label": shown_labels(text_of(rows["target"]), text_of(rows["target_iri"]), relations.target),
        "mapping_justification": [about.justification] * len(rows),
        "subject_type": types,
        "object_type": types,
        "confidence": numbers(rows["score"]),
    } | {f"ext_{name}": numbers(rows[name]) for name in NUMBERS[1:]}
    curies.need({*predicates, about.justification})
    write_slots(columns, path, about, about.tool(), curies, EXTENSIONS)
    return len(rows)


def _predicate(row: Any) -> str:
    """The predicate from source to target that SSSOM allows."""
    if row.relation in ("narrower", "broader") and row.inverse:
        return RELATED
    words = {"equal": EQUAL[row.kind], "inverse": "owl:inverseOf", "narrower": WITHIN[row.kind]}
    return words.get(row.relation, "skos:narrowMatch")


def _with_iris(relations: Relations, path: Path, about: About) -> pd.DataFrame:
    """The rows with the columns source_iri and target_iri, without those of blank nodes."""
    rows = relations.to_frame()
    problems: dict[str, str] = {}
    for side in SIDES:
        graph = getattr(relations, side)
        ids = {"relation": graph.relations, "attribute": graph.attributes.predicate.texts(), "class": graph.ids}
        namings = {kind: Naming(ids[kind], side, about) for kind in rows["kind"].unique()}
        both = zip(rows["kind"], rows[side], strict=True)
        rows[f"{side}_iri"] = pd.Series([namings[kind](one) for kind, one in both], index=rows.index, dtype=object)
        problems |= {one: what for naming in namings.values() for one, what in naming.problems.items()}
    refuse(path, problems, "id")
    return without_blank(rows, path)
