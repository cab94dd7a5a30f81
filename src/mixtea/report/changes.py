"""Explain why the mappings of a run differ from those of an earlier one, after its graphs or links have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mixtea.graph.graph import Graph
from mixtea.report.compare import UNCHANGED, compare_frames, is_among

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA

CHANGE_REASONS = {
    "source gone": "the source entity is no longer in its graph",
    "target gone": "the target entity is no longer in its graph",
    "given": "a link for the source is given now",
    "given to another": "a given link gives the target to another source now",
    "new source": "the source entity was not there before",
    "new target": "the target it has now was not there before",
    "own triples": "triples of the source, or of one of the two targets, have changed",
    "neighbours": "a neighbour is mapped differently",
    "learning": "none of these: what was learned elsewhere",
}


def explain_changes(old: MixTEA, new: MixTEA) -> pd.DataFrame:
    """Compare the mappings of two runs, given links included; add the reason of each change.

    Returns the columns of `compare_frames` and `why`: the first key of CHANGE_REASONS that applies, None if unchanged.
    """
    before, now = (aligner.map(with_given=True).to_frame() for aligner in (old, new))
    found = compare_frames(before, now)
    reasons = _reasons(found, before, now, old, new)
    why = np.full(len(found), "learning", dtype=object)
    for name in reversed(list(reasons)):
        why[reasons[name]] = name
    why[found["change"] == UNCHANGED] = None
    return found.assign(why=why)


def _reasons(
    found: pd.DataFrame, before: pd.DataFrame, now: pd.DataFrame, old: MixTEA, new: MixTEA
) -> dict[str, np.ndarray]:
    """Return for every reason the rows to which it applies."""
    task, source, was, target = new.task_, found["source"], found["target_before"], found["target"]
    touched = [_touched(a, b) for a, b in ((old.task_.source, task.source), (old.task_.target, task.target))]
    given, given_before = (frame[frame["given"].astype(bool)] for frame in (now, before))
    earlier = found[["source", "target_before"]].rename(columns={"target_before": "target"})
    moved = source[found["change"] != UNCHANGED]
    return {
        "source gone": ~source.isin(task.source.ids).to_numpy(),
        "target gone": (was.notna() & ~was.isin(task.target.ids)).to_numpy(),
        "given": is_among(found, given) & ~is_among(earlier, given_before),
        "given to another": was.isin(given["target"]).to_numpy(),
        "new source": ~source.isin(old.task_.source.ids).to_numpy(),
        "new target": (target.notna() & ~target.isin(old.task_.target.ids)).to_numpy(),
        "own triples": (source.isin(touched[0]) | was.isin(touched[1]) | target.isin(touched[1])).to_numpy(),
        "neighbours": source.isin(_neighbours(task.source, moved)).to_numpy(),
    }


def _touched(old: Graph, new: Graph) -> set[str]:
    """Find entities with a triple that only one of the two graphs has."""
    tables = [_triples(old), _triples(new)]
    parts = [one[~one.isin(other)] for one, other in (tables, tables[::-1])]
    return {name for part in parts for level in (0, 2) for name in part.get_level_values(level)}


def _triples(graph: Graph) -> pd.MultiIndex:
    head, relation, tail = graph.triples.T
    return pd.MultiIndex.from_arrays([graph.ids[head], graph.relations[relation], graph.ids[tail]])


def _neighbours(graph: Graph, entities: pd.Series) -> set[str]:
    """Return all neighbours of some entities."""
    place = graph.find(entities.to_numpy(dtype=object))
    chosen = np.zeros(graph.n_entities, dtype=bool)
    chosen[place[place >= 0]] = True
    head, tail = graph.triples[:, 0], graph.triples[:, 2]
    return set(graph.ids[np.concatenate([tail[chosen[head]], head[chosen[tail]]])])
