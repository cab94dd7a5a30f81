"""Compare two mappings, of runs or of files: new, gone, changed and unchanged rows; and why those of a run changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mixtea.decide.choose import Choice
from mixtea.decide.mapping import Mapping
from mixtea.errors import DataError, Problems, shorten
from mixtea.evaluation.mapping_files import PairFile, read_pairs
from mixtea.evaluation.scores import ENDS, are_links
from mixtea.graph.graph import Graph
from mixtea.io.safe.limits import current_limits
from mixtea.runs.reader import StoredRun

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA

NEW, GONE, CHANGED, UNCHANGED = "new", "gone", "changed", "unchanged"
CHANGES = (NEW, GONE, CHANGED, UNCHANGED)
COLUMNS = ("change", "source", "target_before", "target", "probability_before", "probability")
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
Table = Mapping | PairFile


def compare_frames(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Return a row per mapping of either side, with the columns of COLUMNS; both have source, target, probability.

    Of a source with several targets, those of both sides are unchanged; the others are paired in their order.

    >>> old = pd.DataFrame({"source": ["a", "b"], "target": ["A", "B"], "probability": [0.9, 0.8]})
    >>> new = pd.DataFrame({"source": ["a", "c"], "target": ["X", "C"], "probability": [0.7, 0.6]})
    >>> compare_frames(old, new)[["change", "source", "target_before", "target"]].values.tolist()
    [['new', 'c', None, 'C'], ['gone', 'b', 'B', None], ['changed', 'a', 'A', 'X']]
    """
    old, new = (_each_once(frame) for frame in (before, after))
    for one, other in ((old, new), (new, old)):
        one["same"] = are_links(one, other)
    for one in (old, new):
        one["place"] = np.where(one["same"], one["target"], one.groupby(["source", "same"]).cumcount().astype(str))
    both = old.merge(new, on=["source", "same", "place"], how="outer", suffixes=("_before", ""), sort=False)
    no_old, no_new = both["target_before"].isna(), both["target"].isna()
    change = np.select([both["same"].astype(bool), no_old, no_new], [UNCHANGED, NEW, GONE], CHANGED)
    found = both.assign(change=pd.Categorical(change, CHANGES))
    found = found.sort_values(["change", "source"], kind="stable").reset_index(drop=True)
    texts = {name: found[name].astype(object) for name in COLUMNS[:4]}
    return found.assign(**{name: text.where(text.notna(), None) for name, text in texts.items()})[list(COLUMNS)]


def count_changes(found: pd.DataFrame) -> str:
    """Count the rows of each kind.

    >>> count_changes(pd.DataFrame({"change": ["new", "new", "gone"]}))
    '2 new, 1 gone, 0 changed, 0 unchanged'
    """
    return ", ".join(f"{(found['change'] == change).sum():,} {change}" for change in CHANGES)


def drop_unchanged(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that changed."""
    return found[found["change"] != UNCHANGED]


def compare_mappings(
    before: Path | Mapping, after: Path | Mapping, *, min_probability: float = 0.0, **how: Any
) -> pd.DataFrame:
    """Compare two mappings: of run folders, of files in any link format, or in memory.

    Run folders are mapped with `how` (`precision` and others of `Choice`). Given links count as mapped; beside a
    file without any of a run's given links, those whose source the file does not map are dropped. Ids are read as a run
    has them, if there is one; a file in the opposite direction is reversed. Pairs less probable than `min_probability`
    are left out.
    """
    problems = Problems(current_limits().max_problems)
    sides = [
        StoredRun(one).answers_.mapping(Choice(**how), with_given=True)
        if isinstance(one, Path) and one.is_dir()
        else one
        for one in (before, after)
    ]
    known = next((one for one in reversed(sides) if isinstance(one, Mapping)), None)
    tables = [one if isinstance(one, Mapping) else _file(one, known, problems) for one in sides]
    problems.raise_if_any()
    _check_overlap(before, *(one.frame for one in tables))
    return compare_frames(*(_pairs(one, min_probability) for one in _alike(*tables)))


def _file(path: Path, known: Mapping | None, problems: Problems) -> PairFile:
    """Read the pairs of a file, with ids as in the graphs of a mapping."""
    graphs = [] if known is None else [known.source, known.target]
    found = read_pairs(path, problems, graphs)
    return found.oriented(*(pd.Index(graph.ids, dtype=object) for graph in graphs), all_known=True) if graphs else found


def _alike(first: Table, second: Table) -> tuple[Table, Table]:
    """Bring both into one direction; drop a run's given links beside a file that has none of them."""
    if isinstance(first, PairFile) and isinstance(second, PairFile):
        return first, second.oriented(*(pd.Index(first.frame[end], dtype=object) for end in ENDS))
    if isinstance(first, PairFile) and isinstance(second, Mapping):
        return first, _beside(second, first)
    if isinstance(first, Mapping) and isinstance(second, PairFile):
        return _beside(first, second), second
    return first, second


def _beside(mapping: Mapping, file: PairFile) -> Mapping:
    frame, given = mapping.frame, mapping.frame["given"].astype(bool)
    if are_links(frame[given], file.frame).any():
        return mapping
    return replace(mapping, frame=frame[~given | frame["source"].isin(file.frame["source"])])


def _pairs(table: Table, min_probability: float) -> pd.DataFrame:
    """Return mappings that are not less probable than the minimum; a file may have no probabilities."""
    frame = table.frame[table.frame["target"].notna()]
    return frame[~(frame["probability"].astype(float) < min_probability)]


def _check_overlap(before: Path | Mapping, first: pd.DataFrame, second: pd.DataFrame) -> None:
    """Refuse mappings that have no entity in common."""
    ends = pd.concat([second[end] for end in ENDS])
    if len(first) and len(second) and not any(first[end].dropna().isin(ends).any() for end in ENDS):
        here, there = (shorten(str(frame["source"].iloc[0])) for frame in (first, second))
        raise DataError(
            f"{before if isinstance(before, Path) else 'mapping'}: it has no entity in common with what it is compared "
            f"with. It begins with {here}, the other with {there}. Name a mapping of the same two graphs."
        )


def _each_once(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mappings of a table without repeats."""
    kept = frame.loc[frame["target"].notna(), [*ENDS, "probability"]].drop_duplicates(ENDS)
    return kept.astype({"source": object, "target": object, "probability": float}).reset_index(drop=True)


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
        "given": are_links(found, given) & ~are_links(earlier, given_before),
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
