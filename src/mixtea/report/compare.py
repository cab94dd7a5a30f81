"""Compare two mappings, of runs or of files: what is new, gone, changed, and how much stayed as it was."""

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


def compare(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Return a row per mapping of either side, with the columns of COLUMNS; both have source, target, probability.

    Of a source with several targets, those of both sides are unchanged; the others are paired in their order.

    >>> old = pd.DataFrame({"source": ["a", "b"], "target": ["A", "B"], "probability": [0.9, 0.8]})
    >>> new = pd.DataFrame({"source": ["a", "c"], "target": ["X", "C"], "probability": [0.7, 0.6]})
    >>> compare(old, new)[["change", "source", "target_before", "target"]].values.tolist()
    [['new', 'c', None, 'C'], ['gone', 'b', 'B', None], ['changed', 'a', 'A', 'X']]
    """
    old, new = (_each_once(frame) for frame in (before, after))
    for one, other in ((old, new), (new, old)):
        one["same"] = among(one, other)
    for one in (old, new):
        one["place"] = np.where(one["same"], one["target"], one.groupby(["source", "same"]).cumcount().astype(str))
    both = old.merge(new, on=["source", "same", "place"], how="outer", suffixes=("_before", ""), sort=False)
    no_old, no_new = both["target_before"].isna(), both["target"].isna()
    change = np.select([both["same"].astype(bool), no_old, no_new], [UNCHANGED, NEW, GONE], CHANGED)
    found = both.assign(change=pd.Categorical(change, CHANGES))
    found = found.sort_values(["change", "source"], kind="stable").reset_index(drop=True)
    texts = {name: found[name].astype(object) for name in COLUMNS[:4]}
    return found.assign(**{name: text.where(text.notna(), None) for name, text in texts.items()})[list(COLUMNS)]


def summary(found: pd.DataFrame) -> str:
    """Count the rows of each kind.

    >>> summary(pd.DataFrame({"change": ["new", "new", "gone"]}))
    '2 new, 1 gone, 0 changed, 0 unchanged'
    """
    return ", ".join(f"{(found['change'] == change).sum():,} {change}" for change in CHANGES)


def without_unchanged(found: pd.DataFrame) -> pd.DataFrame:
    """The rows of what did not stay as it was."""
    return found[found["change"] != UNCHANGED]


def compared(
    before: Path | Mapping, after: Path | Mapping, *, min_probability: float = 0.0, **how: Any
) -> pd.DataFrame:
    """Compare two mappings: those of run folders, of files in any format that links are read in, or at hand.

    Run folders are asked for theirs as `how` says (`precision` and others of `StoredRun.map`). Given links count as
    mapped; where the other is a file that has none of a run's, those whose source it does not map are left out. Ids are
    read as a run has them, if there is one; a file that goes from target to source is turned round. Pairs that are less
    probable than `min_probability` are left out.
    """
    problems = Problems(current_limits().max_problems)
    sides = [_with_given(one, how) for one in (before, after)]
    known = next((one for one in reversed(sides) if isinstance(one, Mapping)), None)
    tables = [one if isinstance(one, Mapping) else _file(one, known, problems) for one in sides]
    problems.raise_if_any()
    _check_overlap(before, *(one.frame for one in tables))
    return compare(*(_pairs(one, min_probability) for one in _alike(*tables)))


def _with_given(one: Path | Mapping, how: dict[str, Any]) -> Path | Mapping:
    """The mapping of a run folder; files stay what they are."""
    return StoredRun(one).map(with_given=True, **how) if isinstance(one, Path) and one.is_dir() else one


def _file(path: Path, known: Mapping | None, problems: Problems) -> PairFile:
    """The pairs of a file, with ids as the graphs of a mapping have them."""
    graphs = [] if known is None else [known.source, known.target]
    found = read_pairs(path, problems, graphs)
    return found.facing(*(pd.Index(graph.ids, dtype=object) for graph in graphs), all_known=True) if graphs else found


def _alike(first: Table, second: Table) -> tuple[Table, Table]:
    """Both in one direction, and a run without its given links beside a file that has none of them."""
    if isinstance(first, PairFile) and isinstance(second, PairFile):
        return first, second.facing(*(pd.Index(first.frame[end], dtype=object) for end in ENDS))
    if isinstance(first, PairFile) and isinstance(second, Mapping):
        return first, _beside(second, first)
    if isinstance(first, Mapping) and isinstance(second, PairFile):
        return _beside(first, second), second
    return first, second


def _beside(mapping: Mapping, file: PairFile) -> Mapping:
    frame, given = mapping.frame, mapping.frame["given"].astype(bool)
    if among(frame[given], file.frame).any():
        return mapping
    return replace(mapping, frame=frame[~given | frame["source"].isin(file.frame["source"])])


def _pairs(table: Table, min_probability: float) -> pd.DataFrame:
    """The mappings that are probable enough; a file may not say how probable they are."""
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


def among(pairs: pd.DataFrame, others: pd.DataFrame) -> np.ndarray:
    """Whether each pair of source and target is one of the others."""
    found, known = (pd.MultiIndex.from_frame(frame[ENDS]) for frame in (pairs, others))
    return np.asarray(found.isin(known))


def _each_once(frame: pd.DataFrame) -> pd.DataFrame:
    """The mappings of a table, each once."""
    kept = frame.loc[frame["target"].notna(), [*ENDS, "probability"]].drop_duplicates(ENDS)
    return kept.astype({"source": object, "target": object, "probability": float}).reset_index(drop=True)
