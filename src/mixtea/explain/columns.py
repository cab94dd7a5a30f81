"""Compared columns: how many entities have a value in each, and how often values are equal. No torch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from mixtea.explain.side_by_side import SideBySide, local_part
from mixtea.relations.join import weighted_pairs
from mixtea.relations.triples import Triples, compare_attributes


class ColumnPair(NamedTuple):
    """Two columns: how many entities have a value, how many pairs have both, and how many of these an equal one."""

    source: str
    target: str
    n_source: int
    n_target: int
    n_both: int
    n_equal: int


def column_pairs(compare: SideBySide, pairs: np.ndarray) -> list[ColumnPair]:
    """List columns that the voter compares or that have the same name, in the order of the source; `pairs` [p, 2]."""
    near = weighted_pairs(pairs[:, 0], pairs[:, 1], np.ones(len(pairs)))
    ours, theirs, *_ = compare_attributes(compare.task.source, compare.task.target, near)
    compared = {
        (_without_language(one.name, ours), _without_language(other.name, theirs))
        for one, other in compare.columns_compared()
    }
    names = [[(name, local_part(name)) for name in of.names] for of in (ours, theirs)]
    return [
        _counted((ours, one), (theirs, other), pairs)
        for one, (name, local) in enumerate(names[0])
        for other, (there, local_there) in enumerate(names[1])
        if local == local_there or (name, there) in compared
    ]


def _without_language(name: str, of: Triples) -> str:
    """Return the predicate of a column that is one of its languages."""
    return name if name in of.names else name.rpartition("@")[0]


def _counted(first: tuple[Triples, int], second: tuple[Triples, int], pairs: np.ndarray) -> ColumnPair:
    """Count the entities and the pairs that have values of two columns."""
    (ours, one), (theirs, other) = first, second
    rows = [
        pd.DataFrame({side: of.near[of.kind == kind], "value": of.far[of.kind == kind]})
        for side, (of, kind) in (("source", first), ("target", second))
    ]
    filled = [table[side].unique() for side, table in zip(("source", "target"), rows, strict=True)]
    both = np.isin(pairs[:, 0], filled[0]) & np.isin(pairs[:, 1], filled[1])
    joined = pd.DataFrame(pairs[both], columns=["source", "target"]).merge(rows[0]).merge(rows[1])
    n_equal = len(joined[["source", "target"]].drop_duplicates())
    return ColumnPair(ours.names[one], theirs.names[other], len(filled[0]), len(filled[1]), int(both.sum()), n_equal)
