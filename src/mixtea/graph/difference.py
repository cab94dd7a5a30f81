"""Differences between two states of a graph, per entity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mixtea.graph.graph import Graph


class Difference(NamedTuple):
    """New indices of the earlier entities, and the entities that changed.

    `place` [n_old] is the index of each earlier entity now, -1 for one that is gone; `touched` [n_new] marks entities
    that are new, or whose values, labels or triples are others.
    """

    place: np.ndarray
    touched: np.ndarray

    @property
    def n_gone(self) -> int:
        return int((self.place < 0).sum())

    @property
    def share(self) -> float:
        """Return the share of entities that are new, changed or gone."""
        return (int(self.touched.sum()) + self.n_gone) / max(len(self.place), 1)

    @property
    def untouched(self) -> np.ndarray:
        """Return [n_old]: the index now of each earlier entity that is unchanged, else -1."""
        found = np.full(len(self.place), -1)
        there = np.flatnonzero(self.place >= 0)
        same = there[~self.touched[self.place[there]]]
        found[same] = self.place[same]
        return found


def difference(old: Graph, new: Graph) -> Difference:
    """Compare two states of a graph by the ids of its entities."""
    place, before, now = new.find(old.ids), _statements(old), _statements(new)
    touched = np.ones(new.n_entities, dtype=bool)
    for number, at in enumerate(place.tolist()):
        if at >= 0:
            touched[at] = before[number] != now[at]
    return Difference(place, touched)


def _statements(graph: Graph) -> list[set[tuple[str, ...]]]:
    """Return the values, labels and triples of each entity as a set."""
    said: list[set[tuple[str, ...]]] = [set() for _ in range(graph.n_entities)]
    of, labels = graph.attributes, graph.labels
    values = (column.tolist() for column in (of.predicate, of.value, of.language, of.datatype))
    for entity, *row in zip(of.entity.tolist(), *values, strict=True):
        said[entity].add(("value", *row))
    for entity, *row in zip(labels.entity.tolist(), labels.text.tolist(), labels.language.tolist(), strict=True):
        said[entity].add(("label", *row))
    for head, relation, tail in graph.triples.tolist():
        triple = (str(graph.ids[head]), str(graph.relations[relation]), str(graph.ids[tail]))
        said[head].add(triple)
        said[tail].add(triple)
    return said
