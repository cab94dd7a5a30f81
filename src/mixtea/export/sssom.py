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
from mixtea.export.curies import Curies, known_prefixes
from mixtea.export.identifiers import add_iris, labels_of, optional_texts, rows_to_write
from mixtea.export.link_metadata import add_link_slots
from mixtea.export.metadata import MappingMetadata
from mixtea.export.quoting import (
    character_problem,
    plain_line,
    raise_unsupported,
    surrogate_label_problems,
    tsv_text,
    yaml_text,
)
from mixtea.graph.graph import Graph
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
    """Write columns by slot name, in SSSOM's order, with slots that all rows share and the types of extensions."""
    columns = {name: values for name, values in columns.items() if name in _REQUIRED or any(values)}
    used = {name: kind for name, kind in extensions.items() if name in columns}
    used |= dict.fromkeys((f"ext_{name}" for name in metadata.id_notes()), "xsd:anyURI")
    head = "".join(f"#{line}\n" for line in _head(used, metadata, shared, curies))
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(head + "\t".join(columns) + "\n")
        file.writelines("\t".join(map(tsv_text, row)) + "\n" for row in zip(*columns.values(), strict=True))


_REQUIRED = ("subject_id", "predicate_id", "object_id", "mapping_justification")


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


def _columns(rows: pd.DataFrame, mapping: Mapping, metadata: MappingMetadata, curies: Curies) -> dict[str, list[str]]:
    """Return the slots in SSSOM's order, each a column of text."""
    given = rows["given"].tolist()
    subject, target, runner_up = (optional_texts(rows[f"{name}_iri"]) for name in ("source", "target", "runner_up"))
    source_labels = display_labels(optional_texts(rows["source"]), subject, mapping.source)
    target_labels = display_labels(optional_texts(rows["target"]), target, mapping.target)
    columns = {
        "subject_id": [curies.contract(iri or "") for iri in subject],
        "subject_label": source_labels,
        "predicate_id": [metadata.predicate] * len(rows),
        "object_id": [curies.contract(iri) if iri else NO_TERM_FOUND for iri in target],
        "object_label": target_labels,
        "mapping_justification": [
            GIVEN_JUSTIFICATION if is_given else why
            for is_given, why in zip(given, justifications(rows, metadata, mapping.evidence_kinds), strict=True)
        ],
    }
    curies.require({c for name in ("predicate_id", "mapping_justification") for c in columns[name]})
    curies.require({c for c in columns["object_id"] if c == NO_TERM_FOUND})
    tool = {name: ["" if is_given else value for is_given in given] for name, value in metadata.tool_slots().items()}
    return columns | tool | {
        "confidence": format_numbers(rows["probability"]),
        "ext_runner_up": [curies.contract(iri) if iri else "" for iri in runner_up],
        "ext_runner_up_probability": format_numbers(rows["runner_up_probability"]),
        "ext_voters": [voters or "" for voters in optional_texts(rows["voters"])],
        "ext_evidence": [evidence or "" for evidence in optional_texts(rows["evidence"])],
        "ext_decision": _decisions(rows),
    }  # fmt: skip


def _decisions(rows: pd.DataFrame) -> list[str]:
    """Return the decision about each source; all empty if every row is mapped or given."""
    found = [decision or "" for decision in optional_texts(rows["decision"])]
    return [""] * len(rows) if IMPLIED_DECISIONS.issuperset(found) else found


def display_labels(ids: list[str | None], iris: list[str | None], graph: Graph) -> list[str]:
    """Return labels in one line: the entity's label if it has one, else its id if that is not an IRI."""
    found = zip(labels_of(ids, graph), ids, iris, strict=True)
    return [plain_line(label or (id or "") * (iri not in (None, id))) for label, id, iri in found]


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
    known = {**built_in_evidence(), **kinds}
    return [_justification(evidence or "", known) for evidence in optional_texts(rows["evidence"])]


def _justification(evidence: str, kinds: Table[str, EvidenceKind]) -> str:
    supporting = {part.partition("=")[0] for part in evidence.split() if "=+" in part}
    found = {JUSTIFICATIONS[kinds.get(name, "lexical")] for name in supporting} or {BY_STRUCTURE}
    return found.pop() if len(found) == 1 else BY_SEVERAL


def shared_justification(rows: pd.DataFrame, metadata: MappingMetadata, kinds: Table[str, EvidenceKind]) -> str:
    """Return one term for all predicted mappings together."""
    found = set(justifications(rows[~rows["given"]], metadata, kinds)) or {metadata.justification}
    return found.pop() if len(found) == 1 else BY_SEVERAL
