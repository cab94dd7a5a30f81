"""Extract sameAs statements from a graph file and use them as links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from mixtea.graph.graph import Graph
from mixtea.io.formats.link_tables import IDENTITY, LinkTable


def extract_links(
    tables: Sequence[LinkTable], source: Graph, target: Graph
) -> tuple[list[LinkTable], Graph, Graph, list[str]]:  # fmt: skip
    """Return tables, both graphs and warnings; links in a graph's own file are removed from that graph.

    Links are the statements between an entity of one graph and one of the other. An entity that is only named in such
    statements is not an entity of the graph that contains them.
    """
    files = {file.path.resolve() for graph in (source, target) for file in graph.files}
    if not any(table.path.resolve() in files for table in tables):
        return list(tables), source, target, []
    own = [pd.Index(graph.ids[_is_described(graph)], dtype=object) for graph in (source, target)]
    warnings, found = [], []
    for table in tables:
        between = _between(table.columns, own)
        if table.path.resolve() in files and between.any():
            n = int(between.sum())
            links = f"{n:,} link{'s' if n > 1 else ''} between the graphs" + (" are" if n > 1 else " is")
            warnings.append(f"{table.path}: {links} taken out of the graph that it holds")
            table = replace(table.where(between), warnings=())  # they are of the statements that are no links
        found.append(table)
    return found, _without_links(source, own), _without_links(target, own), warnings


def _is_described(graph: Graph) -> np.ndarray:
    """Return bool [n], the entities about which the graph has more than identity statements."""
    others = graph.triples[~_is_identity(graph)]
    described = np.zeros(graph.n_entities, dtype=bool)
    described[others[:, [0, 2]].ravel()] = True
    described[graph.attributes.entity] = True
    return described


def _is_identity(graph: Graph) -> np.ndarray:
    same = np.array([name in IDENTITY for name in graph.relations], dtype=bool)
    return same[graph.triples[:, 1]]


def _between(ends: Sequence[np.ndarray], own: Sequence[pd.Index]) -> np.ndarray:
    """Return bool, which pairs have an entity of each graph, in either order."""
    inside = [[index.get_indexer(pd.Index(column, dtype=object)) >= 0 for index in own] for column in ends]
    return (inside[0][0] & inside[1][1]) | (inside[0][1] & inside[1][0])


def _without_links(graph: Graph, own: Sequence[pd.Index]) -> Graph:
    """Remove the statements that are links, and entities without any other statement."""
    same = np.flatnonzero(_is_identity(graph))
    links = same[_between([graph.ids[graph.triples[same, side]] for side in (0, 2)], own)]
    if not len(links):
        return graph
    triples = np.delete(graph.triples, links, axis=0)
    stays = np.ones(graph.n_entities, dtype=bool)
    stays[graph.triples[links][:, [0, 2]].ravel()] = False
    stays[np.concatenate([triples[:, [0, 2]].ravel(), graph.attributes.entity])] = True
    used = np.bincount(triples[:, 1], minlength=graph.n_relations) > 0
    place, relation = np.cumsum(stays) - 1, np.cumsum(used) - 1
    triples = np.stack([place[triples[:, 0]], relation[triples[:, 1]], place[triples[:, 2]]], axis=1)
    return replace(
        graph, ids=graph.ids[stays], relations=graph.relations[used], triples=triples,
        attributes=graph.attributes.subset(stays), labels=graph.labels.subset(stays),
        kinds=graph.kinds[stays] if len(graph.kinds) else graph.kinds,
    )  # fmt: skip
