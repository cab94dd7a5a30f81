"""Compare two mappings, of runs or of files: new, gone, changed and unchanged rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mixtea.decide.mapping import Mapping
from mixtea.errors import DataError, Problems, shorten
from mixtea.evaluation.mapping_files import PairFile, read_pairs
from mixtea.io.safe.limits import current_limits
from mixtea.runs.reader import StoredRun

NEW, GONE, CHANGED, UNCHANGED = "new", "gone", "changed", "unchanged"
CHANGES = (NEW, GONE, CHANGED, UNCHANGED)
COLUMNS = ("change", "source", "target_before", "target", "probability_before", "probability")
ENDS = ["source", "target"]
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
        one["same"] = is_among(one, other)
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

    Run folders are mapped with `how` (`precision` and others of `StoredRun.map`). Given links count as mapped; beside a
    file without any of a run's given links, those whose source the file does not map are dropped. Ids are read as a run
    has them, if there is one; a file in the opposite direction is reversed. Pairs less probable than `min_probability`
    are left out.
    """
    problems = Problems(current_limits().max_problems)
    sides = [_with_given(one, how) for one in (before, after)]
    known = next((one for one in reversed(sides) if isinstance(one, Mapping)), None)
    tables = [one if isinstance(one, Mapping) else _file(one, known, problems) for one in sides]
    problems.raise_if_any()
    _check_overlap(before, *(one.frame for one in tables))
    return compare_frames(*(_pairs(one, min_probability) for one in _alike(*tables)))


def _with_given(one: Path | Mapping, how: dict[str, Any]) -> Path | Mapping:
    """Return the mapping of a run folder; keep files and mappings as they are."""
    return StoredRun(one).map(with_given=True, **how) if isinstance(one, Path) and one.is_dir() else one


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
    if is_among(frame[given], file.frame).any():
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


def is_among(pairs: pd.DataFrame, others: pd.DataFrame) -> np.ndarray:
    """Return which pairs of source and target are among the others."""
    found, known = (pd.MultiIndex.from_frame(frame[ENDS]) for frame in (pairs, others))
    return np.asarray(found.isin(known))


def _each_once(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mappings of a table without repeats."""
    kept = frame.loc[frame["target"].notna(), [*ENDS, "probability"]].drop_duplicates(ENDS)
    return kept.astype({"source": object, "target": object, "probability": float}).reset_index(drop=True)
