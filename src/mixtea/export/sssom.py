"""Mappings in SSSOM/TSV: https://mapping-commons.github.io/sssom/spec-formats-tsv/

Predicted mappings are justified by `MappingMetadata.justification` and their evidence. Given links keep the slots of
the SSSOM file that they came from; the others have semapv:UnspecifiedMatching, since their origin is unknown. For the
same reason tool and date are in each row, not in the head, where links were given.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Table
from pathlib import Path

import pandas as pd

from mixtea.decide.mapping import GIVEN as GIVEN_LINK
from mixtea.decide.mapping import MAPPED, Mapping
from mixtea.export.identifiers import (
    Curies,
    add_iris,
    is_iri,
    known_prefixes,
    labels_of,
    optional_texts,
    rows_to_write,
)
from mixtea.export.metadata import MappingMetadata
from mixtea.export.quoting import (
    character_problem,
    plain_line,
    quoted,
    raise_unsupported,
    surrogate_label_problems,
    yaml_text,
)
from mixtea.io.formats.link_tables import parse_confidences
from mixtea.io.formats.sssom import REFERENCES, SLOTS, Slots
from mixtea.relations.alignment import Relations
from mixtea.runs.atomic import atomic_file
from mixtea.voters.base import EvidenceKind
from mixtea.voters.registry import built_in_evidence

JUSTIFICATIONS: dict[str, str] = {  # by kind of evidence
    "structure": "semapv:StructuralMatching",
    "lexical": "semapv:LexicalMatching",
    "semantic": "semapv:SemanticSimilarityThresholdMatching",
    "human": "semapv:ManualMappingCuration",
}
BY_STRUCTURE, BY_SEVERAL = JUSTIFICATIONS["structure"], "semapv:CompositeMatching"
GIVEN_JUSTIFICATION = "semapv:UnspecifiedMatching"
ALWAYS_FILLED = ("predicate_id", "mapping_justification")  # of given links, by a default if one has none
REQUIRED = ("subject_id", "predicate_id", "object_id", "mapping_justification")
FIRST_SLOTS = ("subject_id", "subject_label", "predicate_id", "predicate_modifier", "object_id", "object_label")
NO_TERM_FOUND = "sssom:NoTermFound"
EXTENSIONS = {
    "ext_runner_up": "linkml:Uriorcurie",
    "ext_runner_up_probability": "xsd:double",
    "ext_voters": "xsd:string",
    "ext_evidence": "xsd:string",
    "ext_decision": "xsd:string",
}
IMPLIED_DECISIONS = {MAPPED, GIVEN_LINK}  # decisions that every row implies


def write_sssom(mapping: Mapping, path: Path, metadata: MappingMetadata) -> int:
    """Write one row per mapping; source entities without a target have sssom:NoTermFound in its place.

    `ext_decision` is the reason for no target, and marks what is mapped anyway or is a further target.
    """
    rows = add_iris(rows_to_write(mapping, metadata), mapping, path, metadata)
    check_rows(rows, mapping, path)
    curies = Curies(known_prefixes(mapping, metadata))
    shared = metadata.tool_slots() if not rows["given"].any() else {}
    columns = add_link_slots(_columns(rows, mapping, metadata, curies), rows, mapping, curies)
    columns = {name: values for name, values in columns.items() if name not in shared}
    write_slots(columns, path, metadata, shared, curies, EXTENSIONS)
    return int(rows["target"].notna().sum())


def write_slots(
    columns: dict[str, list[str]], path: Path, metadata: MappingMetadata, shared: dict[str, str], curies: Curies,
    extensions: dict[str, str],
) -> None:  # fmt: skip
    """Write columns by slot name, with slots that all rows share and the types of extensions."""
    names = [*(name for name in FIRST_SLOTS if name in columns), *(name for name in columns if name not in FIRST_SLOTS)]
    columns = {name: columns[name] for name in names if name in REQUIRED or any(columns[name])}
    used = {name: kind for name, kind in extensions.items() if name in columns}
    used |= dict.fromkeys((f"ext_{name}" for name in metadata.id_notes()), "xsd:anyURI")
    head = "".join(f"#{line}\n" for line in _head(used, metadata, shared, curies))
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(head + "\t".join(columns) + "\n")
        rows = zip(*columns.values(), strict=True)
        file.writelines("\t".join(quoted(field, "\t") for field in row) + "\n" for row in rows)


def check_rows(rows: pd.DataFrame, mapping: Mapping | Relations, path: Path, kind: str = "entity") -> None:
    """Refuse labels that are not valid text, and IRIs whose last character readers strip."""
    graphs = {"source": mapping.source, "target": mapping.target}
    problems: dict[str, str] = {}
    for side, graph in graphs.items():
        ids = optional_texts(rows[side])
        problems |= surrogate_label_problems(ids, labels_of(ids, graph))
    for column in (name for name in rows.columns if name.endswith("_iri")):
        ends = (iri for iri in optional_texts(rows[column]) if iri and iri[-1].isspace())
        problems |= {iri: character_problem(iri[-1], "which readers of SSSOM strip from its end") for iri in ends}
    raise_unsupported(path, problems, kind)


def entity_columns(rows: pd.DataFrame, mapping: Mapping | Relations, curies: Curies) -> dict[str, list[str]]:
    """Return ids and labels of both ends; sssom:NoTermFound where there is no target.

    Labels are one line: the label of the entity if it has one, else its id if that is not an IRI.
    """
    columns: dict[str, list[str]] = {}
    for slot, side, graph in (("subject", "source", mapping.source), ("object", "target", mapping.target)):
        ids, iris = optional_texts(rows[side]), optional_texts(rows[f"{side}_iri"])
        labels = zip(labels_of(ids, graph), ids, iris, strict=True)
        columns[f"{slot}_id"] = [curies.contract(iri) if iri else NO_TERM_FOUND for iri in iris]
        columns[f"{slot}_label"] = [
            plain_line(label or (id or "") * (iri not in (None, id))) for label, id, iri in labels
        ]
    curies.require({c for c in columns["object_id"] if c == NO_TERM_FOUND})
    return columns


def _columns(rows: pd.DataFrame, mapping: Mapping, metadata: MappingMetadata, curies: Curies) -> dict[str, list[str]]:
    """Return the slots of a mapping, each a column of text."""
    given, runner_up = rows["given"].tolist(), optional_texts(rows["runner_up_iri"])
    predicted = justifications(rows, metadata, mapping.evidence_kinds)
    columns = entity_columns(rows, mapping, curies) | {
        "predicate_id": [metadata.predicate] * len(rows),
        "mapping_justification": [
            GIVEN_JUSTIFICATION if is_given else why for is_given, why in zip(given, predicted, strict=True)
        ],
    }
    curies.require({c for name in ("predicate_id", "mapping_justification") for c in columns[name]})
    tool = {name: ["" if is_given else value for is_given in given] for name, value in metadata.tool_slots().items()}
    decisions = [decision or "" for decision in optional_texts(rows["decision"])]
    return columns | tool | {
        "confidence": format_numbers(rows["probability"]),
        "ext_runner_up": [curies.contract(iri) if iri else "" for iri in runner_up],
        "ext_runner_up_probability": format_numbers(rows["runner_up_probability"]),
        "ext_voters": [voters or "" for voters in optional_texts(rows["voters"])],
        "ext_evidence": [evidence or "" for evidence in optional_texts(rows["evidence"])],
        "ext_decision": [""] * len(rows) if IMPLIED_DECISIONS.issuperset(decisions) else decisions,
    }  # fmt: skip


def format_numbers(column: pd.Series) -> list[str]:
    return ["" if pd.isna(value) else f"{value:.6f}" for value in column.tolist()]


def _head(
    extensions: dict[str, str], metadata: MappingMetadata, shared: dict[str, str], curies: Curies
) -> Iterator[str]:
    """Yield the metadata as YAML lines, in the order of SSSOM's slots."""
    curies.require([*extensions.values(), *(["mixtea:"] if extensions else [])])
    graphs = {"subject_source": metadata.source_name, "object_source": metadata.target_name}
    sources = {slot: curies.contract(metadata.graph_iri(name)) for slot, name in graphs.items()}
    slots = metadata.slots() | sources | shared | {f"ext_{name}": iri for name, iri in metadata.id_notes().items()}
    yield "curie_map:"
    for name, namespace in sorted(curies.used.items()):
        yield f"  {yaml_text(name)}: {yaml_text(namespace)}"
    yield from (f"{name}: {yaml_text(value)}" for name, value in slots.items())
    if extensions:
        yield "extension_definitions:"
    for name, kind in extensions.items():
        yield from (
            f"  - slot_name: {name}",
            f"    property: mixtea:{name.removeprefix('ext_')}",
            f"    type_hint: {kind}",
        )


def justifications(rows: pd.DataFrame, metadata: MappingMetadata, kinds: Table[str, EvidenceKind]) -> list[str]:
    """Return the term of each predicted mapping: that of the metadata or, where this is structure, by its evidence.

    `kinds` are the kinds of evidence of voters from outside. Evidence of several kinds is a composite matching.
    """
    if metadata.justification != BY_STRUCTURE:
        return [metadata.justification] * len(rows)
    known, terms = {**built_in_evidence(), **kinds}, []
    for evidence in optional_texts(rows["evidence"]):
        supporting = {part.partition("=")[0] for part in (evidence or "").split() if "=+" in part}
        found = {JUSTIFICATIONS[known.get(name, "lexical")] for name in supporting} or {BY_STRUCTURE}
        terms.append(found.pop() if len(found) == 1 else BY_SEVERAL)
    return terms


def shared_justification(rows: pd.DataFrame, metadata: MappingMetadata, kinds: Table[str, EvidenceKind]) -> str:
    """Return one term for all predicted mappings together."""
    found = set(justifications(rows[~rows["given"]], metadata, kinds)) or {metadata.justification}
    return found.pop() if len(found) == 1 else BY_SEVERAL


def add_link_slots(
    columns: dict[str, list[str]], rows: pd.DataFrame, mapping: Mapping, curies: Curies
) -> dict[str, list[str]]:
    """Replace the default SSSOM slots of given links by those of the file that they came from."""
    own = _link_slots(rows, mapping)
    if not own:
        return columns
    found = dict(columns)
    for name in SLOTS:
        found[name] = list(columns.get(name, [""] * len(rows)))
        for place, slots in own.items():
            said = _written(name, slots.get(name, ""), curies)
            found[name][place] = said or (found[name][place] if name in ALWAYS_FILLED else "")
    last = [name for name in found if name.startswith("ext_")]
    first = [name for name in columns if name not in (*last, *SLOTS[2:])]
    return {name: found[name] for name in (*first, *SLOTS[2:], *last)}


def _link_slots(rows: pd.DataFrame, mapping: Mapping) -> dict[int, Slots]:
    """Return by row the slots of given links that have some; a file may hold them in the opposite direction."""
    slots = mapping.slots
    ends = zip(rows["source"], rows["target"], rows["given"], strict=True)
    found = ((place, slots.get((s, t)) or slots.get((t, s))) for place, (s, t, given) in enumerate(ends) if given)
    return {place: said for place, said in found if said}


def _written(name: str, text: str, curies: Curies) -> str:
    """Return a slot as SSSOM writes it; "" if its value is invalid."""
    if name in REFERENCES:
        return "|".join(curies.contract(one) for one in text.split("|") if is_iri(one))
    return "" if name == "confidence" and parse_confidences([text]) is None else plain_line(text)
