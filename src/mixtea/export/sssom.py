"""Mappings in SSSOM/TSV: https://mapping-commons.github.io/sssom/spec-formats-tsv/

Predicted mappings are justified by `About.justification` and what spoke for them. Given links keep what an SSSOM file
said of them; of others nobody knows here who found them and how: semapv:UnspecifiedMatching. For the same reason tool
and date stand in each row, not in the head, where links were given.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mixtea.decide.mapping import GIVEN as GIVEN_LINK
from mixtea.decide.mapping import MAPPED, Mapping
from mixtea.export.curies import Curies, known_prefixes
from mixtea.export.identifiers import labels_of, rows_of, text_of, with_iris
from mixtea.export.justification import justifications
from mixtea.export.link_metadata import with_own_slots
from mixtea.export.metadata import About
from mixtea.export.quoting import plain_line, tsv_text, yaml_text
from mixtea.export.unsupported import half_labels, holds, refuse
from mixtea.graph.graph import Graph
from mixtea.relations.alignment import Relations
from mixtea.runs.atomic import atomic_file

GIVEN = "semapv:UnspecifiedMatching"
NONE_FOUND = "sssom:NoTermFound"
EXTENSIONS = {
    "ext_runner_up": "linkml:Uriorcurie",
    "ext_runner_up_probability": "xsd:double",
    "ext_voters": "xsd:string",
    "ext_evidence": "xsd:string",
    "ext_decision": "xsd:string",
}
PLAIN = {MAPPED, GIVEN_LINK}  # decisions that a row says without a word


def write_sssom(mapping: Mapping, path: Path, about: About) -> int:
    """One row per mapping; source entities without a target have sssom:NoTermFound in its place.

    `ext_decision` says why there is none, and what is mapped anyway or is a further target.
    """
    rows = with_iris(rows_of(mapping, about), mapping, path, about)
    check_rows(rows, mapping, path)
    curies = Curies(known_prefixes(mapping, about))
    shared = about.tool() if not rows["given"].any() else {}
    columns = with_own_slots(_columns(rows, mapping, about, curies), rows, mapping, curies)
    columns = {name: values for name, values in columns.items() if name not in shared}
    write_slots(columns, path, about, shared, curies, EXTENSIONS)
    return int(rows["target"].notna().sum())


def write_slots(
    columns: dict[str, list[str]], path: Path, about: About, shared: dict[str, str], curies: Curies,
    extensions: dict[str, str],
) -> None:  # fmt: skip
    """Columns of text by the names of SSSOM's slots, in its order; slots that all rows share; kinds of extensions."""
    columns = {name: values for name, values in columns.items() if name in _NEEDED or any(values)}
    used = {name: kind for name, kind in extensions.items() if name in columns}
    used |= dict.fromkeys((f"ext_{name}" for name in about.id_notes()), "xsd:anyURI")
    head = "".join(f"#{line}\n" for line in _head(used, about, shared, curies))
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(head + "\t".join(columns) + "\n")
        file.writelines("\t".join(map(tsv_text, row)) + "\n" for row in zip(*columns.values(), strict=True))


_NEEDED = ("subject_id", "predicate_id", "object_id", "mapping_justification")


def check_rows(rows: pd.DataFrame, mapping: Mapping | Relations, path: Path, kind: str = "entity") -> None:
    """Refuse labels that are no text, and IRIs whose last character readers strip."""
    graphs = {"source": mapping.source, "target": mapping.target}
    problems: dict[str, str] = {}
    for side, graph in graphs.items():
        ids = text_of(rows[side])
        problems |= half_labels(ids, labels_of(ids, graph))
    for column in (name for name in rows.columns if name.endswith("_iri")):
        ends = (iri for iri in text_of(rows[column]) if iri and iri[-1].isspace())
        problems |= {iri: holds(iri[-1], "which readers of SSSOM strip from its end") for iri in ends}
    refuse(path, problems, kind)


def _columns(rows: pd.DataFrame, mapping: Mapping, about: About, curies: Curies) -> dict[str, list[str]]:
    """The slots in SSSOM's order, each a column of text."""
    given = rows["given"].tolist()
    subject, target, runner_up = (text_of(rows[f"{name}_iri"]) for name in ("source", "target", "runner_up"))
    source_labels = shown_labels(text_of(rows["source"]), subject, mapping.source)
    target_labels = shown_labels(text_of(rows["target"]), target, mapping.target)
    columns = {
        "subject_id": [curies.contract(iri or "") for iri in subject],
        "subject_label": source_labels,
        "predicate_id": [about.predicate] * len(rows),
        "object_id": [curies.contract(iri) if iri else NONE_FOUND for iri in target],
        "object_label": target_labels,
        "mapping_justification": [
            GIVEN if is_given else why
            for is_given, why in zip(given, justifications(rows, about, mapping.evidence_kinds), strict=True)
        ],
    }
    curies.need({c for name in ("predicate_id", "mapping_justification") for c in columns[name]})
    curies.need({c for c in columns["object_id"] if c == NONE_FOUND})
    tool = {name: ["" if is_given else value for is_given in given] for name, value in about.tool().items()}
    return columns | tool | {
        "confidence": numbers(rows["probability"]),
        "ext_runner_up": [curies.contract(iri) if iri else "" for iri in runner_up],
        "ext_runner_up_probability": numbers(rows["runner_up_probability"]),
        "ext_voters": [voters or "" for voters in text_of(rows["voters"])],
        "ext_evidence": [evidence or "" for evidence in text_of(rows["evidence"])],
        "ext_decision": _decisions(rows),
    }  # fmt: skip


def _decisions(rows: pd.DataFrame) -> list[str]:
    """What was decided about each source, in words; all empty where no row tells more than that it is there."""
    found = [decision or "" for decision in text_of(rows["decision"])]
    return [""] * len(rows) if PLAIN.issuperset(found) else found


def shown_labels(ids: list[str | None], iris: list[str | None], graph: Graph) -> list[str]:
    """What people read, in one line: the entity's label if it has one, else its id if that is no IRI."""
    found = zip(labels_of(ids, graph), ids, iris, strict=True)
    return [plain_line(label or (id or "") * (iri not in (None, id))) for label, id, iri in found]


def numbers(column: pd.Series) -> list[str]:
    return ["" if pd.isna(value) else f"{value:.6f}" for value in column.tolist()]


def _head(extensions: dict[str, str], about: About, shared: dict[str, str], curies: Curies) -> Iterator[str]:
    """The lines of the metadata, in YAML, SSSOM's slots in its order."""
    curies.need([*extensions.values(), *(["mixtea:"] if extensions else [])])
    graphs = {"subject_source": about.source_name, "object_source": about.target_name}
    sources = {slot: curies.contract(about.graph_iri(name)) for slot, name in graphs.items()}
    slots = about.slots() | sources | shared | {f"ext_{name}": iri for name, iri in about.id_notes().items()}
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
