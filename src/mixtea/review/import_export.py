"""Decisions as SSSOM files, out and in: accepted pairs, and rejected ones with predicate_modifier Not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.decide.mapping import COLUMNS
from mixtea.decide.mapping import Mapping as MappingSet
from mixtea.errors import Problems
from mixtea.export.curies import Curies, known_prefixes
from mixtea.export.identifiers import text_of, with_iris
from mixtea.export.metadata import About
from mixtea.export.quoting import plain_line
from mixtea.export.sssom import check_rows, shown_labels, write_slots
from mixtea.graph.iris import decode_id
from mixtea.graph.task import Task
from mixtea.io.formats.sssom_slots import slots_of
from mixtea.io.links.diagnose import replace_labels
from mixtea.io.links.read import read_link_table
from mixtea.io.links.resolve import resolve_ends
from mixtea.io.safe.limits import current_limits
from mixtea.review.decision import ACCEPT, IMPORTED, REJECT, Decision, facts
from mixtea.review.reviewers import Reviewer

CURATED = "semapv:ManualMappingCuration"
NOT = "Not"


def write_decisions(
    task: Task, standing: Iterable[Decision], measured: Mapping[str, Reviewer], path: Path, title: str = ""
) -> int:
    """Write what stands, a row a pair: who decided and when; `confidence` where a reviewer's reliability is measured.

    Returns the number of pairs.
    """
    by_id = {one.id: one for one in standing}
    said = facts([by_id[number] for number in sorted(by_id)], task.ids_with_several)
    frame = pd.DataFrame(list(said), columns=["source", "target"], dtype=object).assign(
        probability=1.0, runner_up=None, runner_up_probability=np.nan, voters="", given=True, evidence="", decision=""
    )[list(COLUMNS)]
    mapping = MappingSet(task.source, task.target, frame.astype({"runner_up": object}))
    about = About(title=title or "Decisions of reviewers").identified(frame).naming(task.source, task.target)
    rows = with_iris(mapping.frame, mapping, path, about)
    check_rows(rows, mapping, path)
    curies = Curies(known_prefixes(mapping, about))
    subject, object_ = (text_of(rows[f"{side}_iri"]) for side in ("source", "target"))
    decided = [said[pair] for pair in zip(rows["source"], rows["target"], strict=True)]
    reliability = [measured[one.reviewer].reliability if one.reviewer in measured else np.nan for one in decided]
    columns = {
        "subject_id": [curies.contract(iri or "") for iri in subject],
        "subject_label": shown_labels(text_of(rows["source"]), subject, task.source),
        "predicate_id": [about.predicate] * len(rows),
        "predicate_modifier": ["" if one.same else NOT for one in decided],
        "object_id": [curies.contract(iri or "") for iri in object_],
        "object_label": shown_labels(text_of(rows["target"]), object_, task.target),
        "mapping_justification": [CURATED] * len(rows),
        "author_label": [plain_line(one.reviewer) for one in decided],
        "mapping_date": [by_id[one.id].at[:10] for one in decided],
        "confidence": ["" if np.isnan(p) else f"{p:.3f}" for p in reliability],
    }
    curies.need({about.predicate, CURATED})
    write_slots(columns, path, about, {}, curies, {})
    return len(rows)


def read_decisions(task: Task, path: Path, reviewer: str) -> list[Decision]:
    """The rows of a link file as decisions, also about entities that are not there (any more).

    Who decided is the row's author, else `reviewer`. Read twice, the same rows have the same keys.
    """
    problems = Problems(current_limits().max_problems)
    table = replace_labels(read_link_table(path, problems), task.source, task.target)
    problems.raise_if_any()
    slots, ends = slots_of([path]), resolve_ends(table, task.source, task.target)
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
