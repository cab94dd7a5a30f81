"""Take entities with the same id on both sides as links: two versions of a graph often share their IRIs."""

from __future__ import annotations

import numpy as np

from mixtea.errors import DataError, shorten
from mixtea.graph.graph import Graph
from mixtea.text.names import is_vocabulary_term

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
