"""Decisions in a mapping: the mapping under review, its most precise part, and decisions as SSSOM files."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable
from collections.abc import Mapping as Table
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.calibration.calibrator import accept_at_precision
from mixtea.decide.mapping import COLUMNS, GIVEN, Mapping
from mixtea.errors import Problems
from mixtea.export.identifiers import Curies, add_iris, known_prefixes
from mixtea.export.metadata import MappingMetadata
from mixtea.export.quoting import plain_line
from mixtea.export.sssom import check_rows, entity_columns, write_slots
from mixtea.graph.iris import decode_id
from mixtea.graph.task import Task
from mixtea.io.formats.sssom import Slots
from mixtea.io.links.diagnose import replace_labels
from mixtea.io.links.read import read_link_table
from mixtea.io.links.resolve import resolve_ends
from mixtea.io.safe.limits import current_limits
from mixtea.review.decision import ACCEPT, IMPORTED, REJECT, Decision, pair_decisions
from mixtea.review.reviewers import Reviewer

CURATED, CURATED_IRI = "semapv:ManualMappingCuration", "https://w3id.org/semapv/vocab/ManualMappingCuration"
NOT = "Not"
Pair = tuple[str, str]  # ids of a source and a target


def apply_decisions(
    mapping: Mapping, accepted: Table[Pair, Decision], rejected: Container[Pair], several: Container[str]
) -> Mapping:
    """Return the pairs of a mapping with the decisions: accepted ones are given links, and remove their rivals.

    Parameters
    ----------
    mapping
        The mapping of a model.
    accepted, rejected
        Pairs of ids that are the same, each with its decision, and those that are not.
    several
        The ids of the sources that may have several targets: they also keep undecided ones.
    """
    sources = {source for source, _ in accepted if source not in several}
    targets = {target for _, target in accepted}
    frame = mapping.pairs()
    ends = zip(frame["source"], frame["target"], strict=True)
    kept = [one not in rejected and one[0] not in sources and one[1] not in targets for one in ends]
    predicted = frame[np.array(kept, dtype=bool)]
    rows = pd.concat([_links(accepted), predicted], ignore_index=True) if accepted else predicted
    n_known = len({source for source, _ in accepted} & {*mapping.frame["source"]})  # which were expected to have one
    slots: dict[Pair, Slots] = {
        pair: {"mapping_justification": CURATED_IRI, "author_label": one.reviewer, "mapping_date": one.at[:10]}
        for pair, one in accepted.items()
    }
    return replace(
        mapping, frame=rows.reset_index(drop=True), expected=max((mapping.expected or 0.0) - n_known, 0.0),
        slots=dict(mapping.slots) | slots,
    )  # fmt: skip


def most_precise(mapping: Mapping, precision: float | None) -> Mapping:
    """Return the largest part of the predicted pairs with that expected precision, given links apart; None: all.

    Examples
    --------
    >>> frame = pd.DataFrame({"source": ["a", "b", "c"], "probability": [0.6, 0.9, 1.0], "given": [False, False, True]})
    >>> most_precise(Mapping(None, None, frame), 0.9).frame["source"].tolist()
    ['b', 'c']
    """
    if precision is None:
        return mapping
    kept = mapping.frame["given"].to_numpy(dtype=bool, copy=True)
    kept[~kept] = accept_at_precision(mapping.frame["probability"].to_numpy(dtype=float)[~kept], precision)
    return replace(mapping, frame=mapping.frame[kept].reset_index(drop=True))


def precision_summary(mapping: Mapping, precision: float) -> str:
    """Return how much of a mapping has the precision that was asked for, and what is expected of it."""
    n_accepted = int(mapping.frame["given"].sum())
    n, wanted = len(mapping.frame) - n_accepted, f"{100 * precision:g} %"
    accepted = "1 accepted pair is" if n_accepted == 1 else f"{n_accepted:,} accepted pairs are"
    beside = f" {accepted} exported too." if n_accepted else ""
    if not n:
        return f"No part of the mapping has an expected precision of {wanted}.{beside}"
    pairs = "1 pair" if n == 1 else f"{n:,} pairs"
    return (
        f"The largest part of the mapping for a precision of {wanted}: {pairs}, {mapping.expected_quality()}.{beside}"
    )


def _links(accepted: Iterable[Pair]) -> pd.DataFrame:
    """Return accepted pairs as rows of a mapping."""
    others = {"probability": 1.0, "runner_up": None, "runner_up_probability": np.nan, "voters": "", "given": True}
    ends = pd.DataFrame(list(accepted), columns=["source", "target"], dtype=object)
    return ends.assign(**others, evidence="", decision=GIVEN)[list(COLUMNS)].astype({"runner_up": object})


def write_decisions(task: Task, active: Iterable[Decision], measured: Table[str, Reviewer], path: Path) -> int:
    """Write the active decisions, one row per pair, with author and date, and `confidence` of measured reviewers.

    Return the number of pairs.
    """
    by_id = {one.id: one for one in active}
    said = pair_decisions([by_id[number] for number in sorted(by_id)], task.multi_target_ids)
    mapping = Mapping(task.source, task.target, _links(said))
    metadata = MappingMetadata(title="Decisions of reviewers").with_id(mapping.frame)
    metadata = metadata.with_graph_iris(task.source, task.target)
    rows = add_iris(mapping.frame, mapping, path, metadata)
    check_rows(rows, mapping, path)
    curies = Curies(known_prefixes(mapping, metadata))
    decided = [said[pair] for pair in zip(rows["source"], rows["target"], strict=True)]
    reliability = [measured[one.reviewer].reliability if one.reviewer in measured else np.nan for one in decided]
    columns = entity_columns(rows, mapping, curies) | {
        "predicate_id": [metadata.predicate] * len(rows),
        "predicate_modifier": ["" if one.same else NOT for one in decided],
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
