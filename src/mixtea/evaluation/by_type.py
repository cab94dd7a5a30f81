"""Scores of a mapping by the rdf:type of the entities. No torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mixtea.evaluation.mapping_scores import ENDS
from mixtea.graph.graph import Graph
from mixtea.graph.terms import types_of

UNTYPED = "no type"
Row = dict[str, Any]
Judge = Callable[[pd.DataFrame, pd.DataFrame], Row]


def by_type(judge: Judge, mapped: pd.DataFrame, links: pd.DataFrame, graphs: Sequence[Graph | None]) -> list[Row]:
    """Score the pairs and links of each rdf:type, by their sources; most links first.

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
    """Return the ids of the entities of each type, which may be an entity too or a value."""
    owners, types = types_of(graph.ids, graph.relations, graph.triples, graph.attributes)
    codes, kinds = pd.factorize(np.array([*types, None], dtype=object)[:-1])
    places = zip(kinds, graph.find(kinds).tolist(), strict=True)
    names = [graph.display(place) if place >= 0 else graph.shorten(kind) for kind, place in places]
    found: dict[str, set[str]] = {}
    for id, code in zip(graph.ids[owners], codes.tolist(), strict=True):
        found.setdefault(names[code], set()).add(id)
    return found
