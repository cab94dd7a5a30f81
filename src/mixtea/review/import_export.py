"""Read and write decisions as SSSOM files: accepted pairs, and rejected ones with predicate_modifier Not.

The page calls `decisions_file` and the functions after it in threads.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.decide.mapping import COLUMNS
from mixtea.decide.mapping import Mapping as MappingSet
from mixtea.errors import MixTEAError, Problems
from mixtea.export.curies import Curies, known_prefixes
from mixtea.export.formats import write_mapping
from mixtea.export.identifiers import add_iris, optional_texts
from mixtea.export.metadata import MappingMetadata
from mixtea.export.quoting import plain_line
from mixtea.export.sssom import check_rows, display_labels, write_slots
from mixtea.graph.iris import decode_id
from mixtea.graph.task import Task
from mixtea.io.links.diagnose import replace_labels
from mixtea.io.links.read import read_link_table
from mixtea.io.links.resolve import resolve_ends
from mixtea.io.safe.limits import current_limits
from mixtea.review.decision import ACCEPT, IMPORTED, REJECT, Decision, pair_decisions
from mixtea.review.mapped import most_precise
from mixtea.review.reviewers import Reviewer, measure_reviewers
from mixtea.review.state import ReviewState

CURATED = "semapv:ManualMappingCuration"
NOT = "Not"


def write_decisions(
    task: Task, active: Iterable[Decision], measured: Mapping[str, Reviewer], path: Path, title: str = ""
) -> int:
    """Write the active decisions, one row per pair, with author and date, and `confidence` of measured reviewers.

    Return the number of pairs.
    """
    by_id = {one.id: one for one in active}
    said = pair_decisions([by_id[number] for number in sorted(by_id)], task.multi_target_ids)
    frame = pd.DataFrame(list(said), columns=["source", "target"], dtype=object).assign(
        probability=1.0, runner_up=None, runner_up_probability=np.nan, voters="", given=True, evidence="", decision=""
    )[list(COLUMNS)]
    mapping = MappingSet(task.source, task.target, frame.astype({"runner_up": object}))
    metadata = (
        MappingMetadata(title=title or "Decisions of reviewers")
        .with_id(frame)
        .with_graph_iris(task.source, task.target)
    )
    rows = add_iris(mapping.frame, mapping, path, metadata)
    check_rows(rows, mapping, path)
    curies = Curies(known_prefixes(mapping, metadata))
    subject, object_ = (optional_texts(rows[f"{side}_iri"]) for side in ("source", "target"))
    decided = [said[pair] for pair in zip(rows["source"], rows["target"], strict=True)]
    reliability = [measured[one.reviewer].reliability if one.reviewer in measured else np.nan for one in decided]
    columns = {
        "subject_id": [curies.contract(iri or "") for iri in subject],
        "subject_label": display_labels(optional_texts(rows["source"]), subject, task.source),
        "predicate_id": [metadata.predicate] * len(rows),
        "predicate_modifier": ["" if one.same else NOT for one in decided],
        "object_id": [curies.contract(iri or "") for iri in object_],
        "object_label": display_labels(optional_texts(rows["target"]), object_, task.target),
        "mapping_justification": [CURATED] * len(rows),
        "author_label": [plain_line(one.reviewer) for one in decided],
        "mapping_date": [by_id[one.id].at[:10] for one in decided],
        "confidence": ["" if np.isnan(p) else f"{p:.3f}" for p in reliability],
    }
    curies.require({metadata.predicate, CURATED})
    write_slots(columns, path, metadata, {}, curies, {})
    return len(rows)


def read_decisions(task: Task, path: Path, reviewer: str) -> list[Decision]:
    """Read the rows of a link file as decisions, also about entities that no longer exist.

    The reviewer is the row's author, else `reviewer`. Read twice, the same rows have the same keys.
    """
    problems = Problems(current_limits().max_problems)
    table = replace_labels(read_link_table(path, problems), task.source, task.target)
    problems.raise_if_any()
    slots, ends = table.slots, resolve_ends(table, task.source, task.target)
    no = np.zeros(len(table), dtype=bool) if table.rejected is None else table.rejected
    full = [[decode_id(one) or one for one in column] for column in table.full_ids or table.columns]
    found = []
    for row, (is_not, turned) in enumerate(zip(no.tolist(), ends.turned.tolist(), strict=True)):
        names = (full[0][row], full[1][row])
        known = [
            str(graph.ids[place]) if (place := int(ends.indices[side][row])) >= 0 else None
            for side, graph in enumerate((task.source, task.target))
        ]
        source, target = (own or name for own, name in zip(known, names[::-1] if turned else names, strict=True))
        said = slots.get(names, {})
        by, at = said.get("author_label") or reviewer, said.get("mapping_date", "")
        action = REJECT if is_not else ACCEPT
        digest = hashlib.sha256("\0".join((source, target, action, by, at)).encode("utf-8", "surrogatepass"))
        key = f"import/{digest.hexdigest()}"
        found.append(Decision(key, by, action, source, target, reason=IMPORTED, at=at))
    return found


NAME = "decisions.sssom.tsv"


def decisions_file(state: ReviewState, active: Iterable[Decision]) -> bytes:
    """Return decisions as an SSSOM file."""
    active = list(active)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        write_decisions(state.original.task, active, measure_reviewers(active, state.truth), path)
        return path.read_bytes()


def mapping_file(state: ReviewState, precision: float | None) -> bytes:
    """Return the mapping with the decisions as an SSSOM file: the largest part with a precision, or all of it."""
    found = most_precise(state.current_mapping(), precision)
    metadata = MappingMetadata(description=found.expected_quality())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mapping.sssom.tsv"
        write_mapping(found, path, metadata)
        return path.read_bytes()


def database_copy(state: ReviewState) -> bytes:
    """Return a copy of the file of decisions."""
    with tempfile.TemporaryDirectory() as folder, closing(state.store.again()) as store:
        path = Path(folder) / "decisions.sqlite"
        store.copy_to(path)
        return path.read_bytes()


def parse_decisions(state: ReviewState, body: bytes, reviewer: str) -> list[Decision]:
    """Return the decisions of an uploaded SSSOM file; ValueError if it is invalid."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        path.write_bytes(body)
        try:
            return read_decisions(state.original.task, path, reviewer)
        except MixTEAError as error:
            raise ValueError(str(error).replace(str(path), "the file")) from None
