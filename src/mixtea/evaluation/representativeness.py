"""Compare the sources of scored links with all sources: by triples, by names and by classes. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mixtea.compute.intervals import interval
from mixtea.graph.graph import Graph
from mixtea.graph.task import Task
from mixtea.graph.terms import types_of
from mixtea.text.names import has_shared_name

MIN_SOURCES = 20  # of links that are compared
MIN_TRIPLES_DIFFERENCE = 0.1  # from one half, of how likely a link's source has more triples than any source
MIN_SHARE_DIFFERENCE = 0.15  # of names or classes
STANDARD_ERRORS = 2.0  # of a clear difference


def compare_sample(task: Task, links: np.ndarray) -> dict[str, Any]:
    """Compare the sources of links [p, 2] with all sources without a given link; `differs` names clear differences.

    `more_triples` is how likely one of the former has more triples than one of the latter, ties being even.
    `equal_name` is the share whose name some entity of the other side has, `class` the class whose shares differ most.
    """
    given = np.concatenate([task.train, task.valid])[:, 0]
    everyone = np.setdiff1d(np.arange(task.source.n_entities), given)
    linked = np.intersect1d(links[:, 0], everyone)
    if not len(linked):
        return {"sources": 0, "of": len(everyone), "differs": []}
    triples, named = task.source.degrees, has_shared_name(task.source, task.target)
    more = _greater_share(triples[linked], triples[everyone])
    found: dict[str, Any] = {
        "sources": len(linked),
        "of": len(everyone),
        "triples": [float(np.median(triples[side])) for side in (linked, everyone)],
        "more_triples": more,
        "equal_name": [float(named[side].mean()) for side in (linked, everyone)],
        **_most_different_class(task.source, linked, everyone),
    }
    differs = {
        "triples": abs(more - 0.5) > max(MIN_TRIPLES_DIFFERENCE, STANDARD_ERRORS / np.sqrt(12 * len(linked))),
        "equal_name": _differ(found["equal_name"], len(linked)),
        "class": "class" in found and _differ(found["class_share"], len(linked)),
    }
    return found | {"differs": [name for name, so in differs.items() if so and len(linked) >= MIN_SOURCES]}


def sample_line(found: Mapping[str, Any]) -> str:
    """Format the comparison in one sentence; "" where there are too few links."""
    if found["sources"] < MIN_SOURCES:
        return ""
    texts = {
        "triples": lambda: "their entities are {} connected, {:,.0f} triples in the median, {:,.0f} of all".format(
            "better" if found["more_triples"] > 0.5 else "less well", *found["triples"]
        ),
        "equal_name": lambda: "{:.0%} have an equal name on the other side, {:.0%} of all".format(*found["equal_name"]),
        "class": lambda: "{:.0%} are of class {}, {:.0%} of all".format(
            found["class_share"][0], found["class"], found["class_share"][1]
        ),
    }
    if not found["differs"]:
        return "these links look like a random sample of the sources"
    differing = "; ".join(texts[name]() for name in found["differs"])
    return (
        f"these links are not a random sample of the sources: {differing}; shares over them need not hold for the rest"
    )


def _greater_share(some: np.ndarray, everyone: np.ndarray) -> float:
    """Compute how likely one of `some` is greater than one of `everyone`, ties counting half."""
    ranks = pd.Series(np.concatenate([some, everyone])).rank().to_numpy()[: len(some)]
    return float((ranks.sum() / len(some) - (len(some) + 1) / 2) / len(everyone))


def _differ(shares: Sequence[float], n: int) -> bool:
    """Check whether a share of n differs from that of all, (one, other), by more than usual and than by chance."""
    share, of_all = shares
    low, high = interval(share, n)
    return abs(share - of_all) > MIN_SHARE_DIFFERENCE and not low <= of_all <= high


def _most_different_class(graph: Graph, linked: np.ndarray, everyone: np.ndarray) -> dict[str, Any]:
    """Find the class whose shares of the two differ most, by its display name, and both shares; {} without classes."""
    owners, codes, names = _types(graph)
    members = np.unique(np.stack([owners, codes], axis=1).astype(np.int64), axis=0)
    shares = [
        np.bincount(members[np.isin(members[:, 0], side), 1], minlength=len(names)) / len(side)
        for side in (linked, everyone)
    ]
    if not shares[1].any():
        return {}
    most = int(np.abs(shares[0] - shares[1]).argmax())
    return {"class": names[most], "class_share": [float(share[most]) for share in shares]}


def members_by_type(graph: Graph) -> dict[str, set[str]]:
    """Return the ids of the entities of each rdf:type, by its display name."""
    owners, codes, names = _types(graph)
    found: dict[str, set[str]] = {}
    for id, code in zip(graph.ids[owners], codes.tolist(), strict=True):
        found.setdefault(names[code], set()).add(id)
    return found


def _types(graph: Graph) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return entities [t], the numbers [t] of their types, and the display names of types: entities too, or values."""
    owners, types = types_of(graph.ids, graph.relations, graph.triples, graph.attributes)
    codes, kinds = pd.factorize(np.array([*types, None], dtype=object)[:-1])
    places = zip(kinds, graph.find(kinds).tolist(), strict=True)
    return owners, codes, [graph.display(place) if place >= 0 else graph.shorten(kind) for kind, place in places]
