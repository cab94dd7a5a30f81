"""Find links that the graphs themselves hold: sameAs statements in a graph's file, and equal ids on both sides.

Two versions of a graph often share their IRIs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from mixtea.errors import DataError, shorten
from mixtea.graph.graph import Graph
from mixtea.io.formats.link_tables import IDENTITY, LinkTable
from mixtea.text.names import is_vocabulary_term


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


MIN_SHARED = 0.1  # of the smaller side's ids: then they are no coincidence


def links_by_ids(
    source: Graph, target: Graph, test: np.ndarray, rejected: np.ndarray
) -> tuple[np.ndarray, list[str]]:  # fmt: skip
    """Return the links [p, 2] of equal ids, and warnings; an error if there are none.

    Blank nodes and terms of RDF are left out, and so are rejected pairs and entities with a test link.
    """
    found = target.find(source.ids)
    shared = np.flatnonzero(found >= 0)
    links = np.stack([shared, found[shared]], axis=1).astype(np.int64)
    links = links[[not is_vocabulary_term(str(source.ids[i])) for i in shared]]
    if not len(links):
        raise DataError(_nothing_shared(source, target))
    tested = np.isin(links[:, 0], test[:, 0]) | np.isin(links[:, 1], test[:, 1])
    never = {tuple(pair) for pair in rejected.tolist()}
    kept = links[~tested & np.array([tuple(pair) not in never for pair in links.tolist()], dtype=bool)]
    if not len(kept):
        raise DataError(
            f"All {len(links):,} entities with the same id on both sides have test links or are rejected, so none is "
            "left to learn from. Give fewer test links, other links, or find links by names (--links-from names)."
        )
    if all(str(source.ids[i]).isdecimal() for i in kept[:, 0]):
        what = f"all {len(kept):,} ids that both sides share are numbers"
        return kept, [f"{what}: if each side counts for itself, they are not links (--links-from names)"]
    return kept, []


def shared_id_warnings(source: Graph, target: Graph) -> list[str]:
    """Say that ids on both sides could be links, where many are there that do not merely count."""
    both = target.ids[source.find(target.ids) >= 0].tolist()
    shared = [id for id in both if not id.isdecimal() and not is_vocabulary_term(id)]
    if not shared or len(shared) < MIN_SHARED * min(source.n_entities, target.n_entities):
        return []
    such = f"{len(shared):,} ids are on both sides, such as {shorten(shared[0])}"
    return [f"{such}: --links-from ids takes them as links"]


def _nothing_shared(source: Graph, target: Graph) -> str:
    sides = [(side, graph) for side, graph in (("source", source), ("target", target)) if graph.n_entities]
    such = [f"{side} ids are such as {shorten(str(graph.ids[0]))}" for side, graph in sides]
    return (
        f"No id is on both sides, so there is no link to learn from: {', '.join(such)}. Give links (--links), or find "
        "them by names (--links-from names)."
    )
