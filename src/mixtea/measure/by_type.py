"""Scores of a mapping by the type of the entities, where a graph says which have which. No torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mixtea.data.graph import Graph
from mixtea.data.vocabulary import TYPE
from mixtea.measure.mapping_scores import ENDS

UNTYPED = "no type"
Row = dict[str, Any]
Judge = Callable[[pd.DataFrame, pd.DataFrame], Row]


def by_type(judge: Judge, mapped: pd.DataFrame, links: pd.DataFrame, graphs: Sequence[Graph | None]) -> list[Row]:
    """What the judge says of the pairs and links of each rdf:type, by their sources; most links first.

    Where only the target graph is known, by their targets. An entity with several types counts for each.
    """
    for end, graph in zip(ENDS, graphs, strict=True):
        if graph is not None:
            groups = _members(graph)
            others = {*mapped[end], *links[end]}.difference(*groups.values())
            groups |= {UNTYPED: others} if others else {}
            parts = ((name, mapped[mapped[end].isin(ids)], links[links[end].isin(ids)]) for name, ids in groups.items())
            rows = [{"type": name} | judge(some, known) for name, some, known in parts if len(some) or len(known)]
            return sorted(rows, key=lambda row: (-row["links"], -row["mapped"], row["type"]))
    return []


def _members(graph: Graph) -> dict[str, set[str]]:
    """The ids of the entities of each type, whether that is an entity too or a value."""
    is_type = np.array([word in TYPE for word in graph.relations], dtype=bool)
    typed = graph.triples[is_type[graph.triples[:, 1]]]
    groups = pd.Series(graph.ids[typed[:, 0]], dtype=object).groupby(typed[:, 2])
    found = {graph.display(int(kind)): set(ids) for kind, ids in groups}
    values = graph.attributes
    says_type = np.array([word in TYPE for word in values.predicate.texts()], dtype=bool)
    for row in np.flatnonzero(says_type[values.predicate.codes]).tolist():
        found.setdefault(graph.shorten(values.value[row]), set()).add(graph.ids[values.entity[row]])
    return found
