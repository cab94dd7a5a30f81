"""How far scored links can be a sample of all sources: compared by triples, by names and by classes. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mixtea.compute.intervals import interval
from mixtea.graph.graph import Graph
from mixtea.graph.task import Task
from mixtea.graph.terms import types_of
from mixtea.text.equality import has_shared_name

FEW = 20  # sources of links, below which nothing can be said
APART = 0.1  # of how likely a link's source has more triples than any source, from one half
DIFFERS = 0.15  # of the share that has something
SURE = 2.0  # standard errors


def sample_of(task: Task, links: np.ndarray) -> dict[str, Any]:
    """The sources of links [p, 2] beside all sources without a given link, and in `differs` by what they clearly do.

    `more_triples` is how likely one of the former has more triples than one of the latter, ties being even.
    `equal_name` is the share whose name somebody has on the other side, `class` the class whose shares differ most.
    """
    given = np.concatenate([task.train, task.valid])[:, 0]
    everyone = np.setdiff1d(np.arange(task.source.n_entities), given)
    linked = np.intersect1d(links[:, 0], everyone)
    if not len(linked):
        return {"sources": 0, "of": len(everyone), "differs": []}
    triples, named = task.source.triple_counts(), has_shared_name(task.source, task.target)
    more = _more(triples[linked], triples[everyone])
    found: dict[str, Any] = {
        "sources": len(linked),
        "of": len(everyone),
        "triples": [float(np.median(triples[side])) for side in (linked, everyone)],
        "more_triples": more,
        "equal_name": [float(named[side].mean()) for side in (linked, everyone)],
        **_class(task.source, linked, everyone),
    }
    differs = {
        "triples": abs(more - 0.5) > max(APART, SURE / np.sqrt(12 * len(linked))),
        "equal_name": _apart(found["equal_name"], len(linked)),
        "class": "class" in found and _apart(found["class_share"], len(linked)),
    }
    return found | {"differs": [name for name, so in differs.items() if so and len(linked) >= FEW]}


def sample_line(found: Mapping[str, Any]) -> str:
    """The same in one sentence; empty where nothing can be said."""
    if found["sources"] < FEW:
        return ""
    said = {
        "triples": lambda: _triples_text(found["more_triples"], *found["triples"]),
        "equal_name": lambda: "{:.0%} have an equal name on the other side, {:.0%} of all".format(*found["equal_name"]),
        "class": lambda: "{:.0%} are of class {}, {:.0%} of all".format(
            found["class_share"][0], found["class"], found["class_share"][1]
        ),
    }
    if not found["differs"]:
        return "these links look like a random sample of the sources"
    differing = "; ".join(said[name]() for name in found["differs"])
    return f"these links are no random sample of the sources: {differing}; shares over them need not hold for the rest"


def _triples_text(more: float, linked: float, everyone: float) -> str:
    better = "better" if more > 0.5 else "less well"
    return f"their entities are {better} connected, {linked:,.0f} triples in the median, {everyone:,.0f} of all"


def _more(some: np.ndarray, everyone: np.ndarray) -> float:
    """How likely one of `some` is greater than one of `everyone`, ties counting half."""
    ranks = pd.Series(np.concatenate([some, everyone])).rank().to_numpy()[: len(some)]
    return float((ranks.sum() / len(some) - (len(some) + 1) / 2) / len(everyone))


def _apart(shares: Sequence[float], n: int) -> bool:
    """Whether a share of n differs from that of all, (one, other), by more than is usual and than chance explains."""
    share, of_all = shares
    low, high = interval(share, n)
    return abs(share - of_all) > DIFFERS and not low <= of_all <= high


def _class(graph: Graph, linked: np.ndarray, everyone: np.ndarray) -> dict[str, Any]:
    """The class whose share of the two differs most, by its name for people, and both shares; empty without classes."""
    owners, types = types_of(graph.ids, graph.relations, graph.triples, graph.attributes)
    names = list(dict.fromkeys(types))
    number = {name: place for place, name in enumerate(names)}
    members = np.unique(np.stack([owners, [number[name] for name in types]], axis=1).astype(np.int64), axis=0)
    shares = [
        np.bincount(members[np.isin(members[:, 0], side), 1], minlength=len(names)) / len(side)
        for side in (linked, everyone)
    ]
    if not shares[1].any():
        return {}
    most = int(np.abs(shares[0] - shares[1]).argmax())
    place = int(graph.find(np.array([names[most]], dtype=object))[0])
    shown = graph.display(place) if place >= 0 else graph.shorten(names[most])
    return {"class": shown, "class_share": [float(share[most]) for share in shares]}
