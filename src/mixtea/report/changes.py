"""What became of the mappings of an earlier run after its graphs or links have changed, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mixtea.data.graph import Graph

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA

WHY = {
    "source gone": "the source entity is no longer in its graph",
    "target gone": "the target entity is no longer in its graph",
    "given": "a link for the source is given now",
    "given to another": "a given link gives the target to another source now",
    "new target": "the target it has now was not there before",
    "own triples": "triples of the source, or of one of the two targets, have changed",
    "neighbours": "a neighbour is mapped differently",
    "learning": "none of these: what was learned elsewhere",
}


def changes(old: MixTEA, new: MixTEA) -> pd.DataFrame:
    """A row for each mapping of the old run that the new one does not have: source, old_target, new_target, why.

    `why` is the first reason of WHY that holds; new_target is None where there is no counterpart now.
    """
    before = _decided(old).rename(columns={"target": "old_target", "given": "was_given"}).dropna(subset=["old_target"])
    now = _decided(new).rename(columns={"target": "new_target"})
    same = pd.MultiIndex.from_frame(before[["source", "old_target"]]).isin(
        pd.MultiIndex.from_frame(now[["source", "new_target"]])
    )
    changed = before[~same].merge(now.drop_duplicates("source"), on="source", how="left").reset_index(drop=True)
    changed["new_target"] = changed["new_target"].astype(object).where(changed["new_target"].notna(), None)
    reasons = _reasons(changed, old, new, now)
    why = np.full(len(changed), "learning", dtype=object)
    for name in reversed(list(reasons)):
        why[reasons[name]] = name
    return changed.assign(why=why)[["source", "old_target", "new_target", "why"]]


def _decided(aligner: MixTEA) -> pd.DataFrame:
    return aligner.map(with_given=True).to_frame()[["source", "target", "given"]]


def _reasons(changed: pd.DataFrame, old: MixTEA, new: MixTEA, now: pd.DataFrame) -> dict[str, np.ndarray]:
    """For every reason, which of the changed mappings it holds for."""
    task, source, before, after = new.task_, changed["source"], changed["old_target"], changed["new_target"]
    given = now.loc[now["given"].astype(bool), "new_target"]
    touched = [_touched(a, b) for a, b in ((old.task_.source, task.source), (old.task_.target, task.target))]
    return {
        "source gone": ~source.isin(task.source.ids).to_numpy(),
        "target gone": ~before.isin(task.target.ids).to_numpy(),
        "given": (changed["given"].eq(True) & ~changed["was_given"].astype(bool)).to_numpy(),
        "given to another": before.isin(given).to_numpy(),
        "new target": (after.notna() & ~after.isin(old.task_.target.ids)).to_numpy(),
        "own triples": (source.isin(touched[0]) | before.isin(touched[1]) | after.isin(touched[1])).to_numpy(),
        "neighbours": source.isin(_neighbours(task.source, source)).to_numpy(),
    }


def _touched(old: Graph, new: Graph) -> set[str]:
    """Entities with a triple that only one of the two graphs has."""
    tables = [_triples(old), _triples(new)]
    parts = [one[~one.isin(other)] for one, other in (tables, tables[::-1])]
    return {name for part in parts for level in (0, 2) for name in part.get_level_values(level)}


def _triples(graph: Graph) -> pd.MultiIndex:
    head, relation, tail = graph.triples.T
    return pd.MultiIndex.from_arrays([graph.ids[head], graph.relations[relation], graph.ids[tail]])


def _neighbours(graph: Graph, entities: pd.Series) -> set[str]:
    """All neighbours of some entities."""
    place = graph.find(entities.to_numpy(dtype=object))
    chosen = np.zeros(graph.n_entities, dtype=bool)
    chosen[place[place >= 0]] = True
    head, tail = graph.triples[:, 0], graph.triples[:, 2]
    return set(graph.ids[np.concatenate([tail[chosen[head]], head[chosen[tail]]])])
