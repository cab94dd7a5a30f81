"""Match new entities with the targets of a fitted aligner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.decide.choose import MIN_PROBABILITY
from mixtea.decide.mapping import GIVEN
from mixtea.decide.new_entities import COLUMNS, Matches, TargetOwners, decide_new
from mixtea.decide.text_matcher import TextMatcher
from mixtea.errors import ConfigError
from mixtea.io.new_rows import NewRows, read_new_rows

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA


def match_rows(aligner: MixTEA, rows: Any, k: int, *, shared_targets: bool) -> Matches:
    """Find the targets of rows; see `MixTEA.match`."""
    matcher = text_matcher_of(aligner)
    read = read_new_rows(rows, aligner.task_.source)
    parts = [_match_new(aligner, matcher, read, k, once=not shared_targets), _stored(aligner, matcher.taken, read, k)]
    frame = pd.concat([part for part in parts if len(part)] or parts[:1])
    order = pd.Categorical(frame["source"], categories=read.graph.ids[read.rows]).codes
    frame = frame.assign(order=order).sort_values(["order", "rank"], kind="stable")
    changed = int(((read.place >= 0) & ~read.same).sum())
    more = (f"{changed:,} have the id of a source of the run and other values, so they are matched anew",)
    warnings = read.warnings + (more if changed else ())
    return Matches(aligner.task_.target, frame.drop(columns="order").reset_index(drop=True), warnings)


def text_matcher_of(aligner: MixTEA) -> TextMatcher:
    """Return the aligner's matcher, made on first use, or when the aligner's answers have changed."""
    answers = aligner.answers_
    if aligner._matcher is None:
        if not aligner.learned_.views or aligner._last is None:
            raise ConfigError(
                "This run has compared neither names nor values, and nothing else tells new entities apart. Train one "
                "with voters such as names and attributes; the preset best has them."
            )
        temperature = aligner.config_.sinkhorn_temperature
        parts = (aligner.task_, aligner._last, answers, aligner.learned_, temperature)
        aligner._matcher = TextMatcher(*parts)
    return aligner._matcher


def _match_new(aligner: MixTEA, matcher: TextMatcher, read: NewRows, k: int, *, once: bool) -> pd.DataFrame:
    """Return the candidates of the rows that the run does not have as they are."""
    asked, others = read.rows[~read.same], read.place[(read.place >= 0) & ~read.same]
    judged = matcher(read.graph, once=once, without=others)
    target, probability, if_free = best_candidates(judged.pairs, asked)
    ids, taken = read.graph.ids[asked], matcher.taken.without(aligner.task_.source.ids[others])
    decision, by = decide_new(ids, judged.known[asked], target, probability, if_free, taken, once=once)
    columns = (target[:, :k], probability[:, :k], if_free[:, :k], by[:, :k])
    return _frame(aligner, ids, *columns, decision, stored=False)


def best_candidates(judged: ScoredPairs, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (targets, probabilities, those if the target were free) [asked, k] of sources; -1 for no target.

    k is as many as the source with the most has, one at least. What is mapped comes first, then what would be the
    likeliest if it were free; equally likely ones are in the order of the targets.
    """
    unlikely = judged.probability < MIN_PROBABILITY
    order = np.lexsort((judged.target, -judged.probability, -judged.if_free, unlikely, judged.source))
    source = judged.source[order]
    begins = np.searchsorted(source, asked)
    counts = np.searchsorted(source, asked, side="right") - begins
    k = max(int(counts.max(initial=0)), 1)
    there = np.arange(k) < counts[:, None]
    target, probability, if_free = np.full(there.shape, -1), np.zeros(there.shape), np.zeros(there.shape)
    at = order[(begins[:, None] + np.arange(k))[there]]
    target[there], probability[there], if_free[there] = judged.target[at], judged.probability[at], judged.if_free[at]
    return target, probability, if_free


def _stored(aligner: MixTEA, taken: TargetOwners, read: NewRows, k: int) -> pd.DataFrame:
    """Return the run's answers about the rows that it has as they are."""
    sources = read.graph.ids[read.rows[read.same]].tolist()
    found = aligner.predict(k, sources=sources) if sources else None
    if found is None:
        return pd.DataFrame(columns=list(COLUMNS))
    decided = aligner.answers_.mapping(with_given=True).frame.drop_duplicates("source").set_index("source")
    decision = decided["decision"].reindex(sources).fillna(GIVEN).to_numpy(dtype=object)
    by = taken.by[found.target_index]
    return _frame(aligner, np.array(sources, dtype=object), found.target_index, found.probability, found.probability,
                  by, decision, stored=True)  # fmt: skip


def _frame(
    aligner: MixTEA, ids: np.ndarray, target: np.ndarray, probability: np.ndarray, if_free: np.ndarray, by: np.ndarray,
    decision: np.ndarray, *, stored: bool,
) -> pd.DataFrame:  # fmt: skip
    """Make a row per candidate; one without a target for sources that have none."""
    n, k = target.shape
    is_first = np.tile(np.arange(k) == 0, n)
    names = aligner.task_.target.ids[np.maximum(target, 0)]
    frame = pd.DataFrame(
        {
            "source": np.repeat(ids, k),
            "target": [id if at >= 0 else None for id, at in zip(names.flat, target.flat, strict=True)],
            "rank": np.tile(np.arange(1, k + 1), n),
            "probability": np.where(target >= 0, probability, np.nan).ravel(),
            "if_free": np.where(target >= 0, if_free, np.nan).ravel(),
            "decision": np.where(is_first, np.repeat(decision, k), ""),
            "taken_by": by.ravel().tolist(),
            "stored": stored,
        },
        columns=list(COLUMNS),
    )
    return frame[frame["target"].notna() | is_first]
