"""Whether the neighbours of a source, where they are matched, are matched beside its candidate. No torch."""

from __future__ import annotations

import numpy as np

from mixtea.graph.graph import Graph
from mixtea.graph.task import Task


class MatchedNeighbours:
    """The neighbours of sources by where their matches stand; `matched` [n] is the target of each source, or -1."""

    def __init__(self, task: Task, matched: np.ndarray) -> None:
        self.shape = (task.source.n_entities, task.target.n_entities)
        ends = _beside(task.source)
        ends = ends[matched[ends[:, 1]] >= 0]
        self.match = matched[ends[:, 1]]
        self.n = np.bincount(ends[:, 0], minlength=self.shape[0])
        self.first = np.cumsum(self.n) - self.n
        beside = _beside(task.target)
        self.beside = beside[:, 0] * self.shape[1] + beside[:, 1]

    def agreed(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """[p] log (beside + 1/2) / (elsewhere + 1/2): how many matched neighbours of each source are matched to one of

        its target, and how many are not; a target of -1 has none.
        """
        n = self.n[source]
        pair = np.repeat(np.arange(len(source)), n)
        place = np.arange(len(pair)) - np.repeat(np.cumsum(n) - n, n) + self.first[source][pair]
        key = target[pair] * self.shape[1] + self.match[place]
        there = np.zeros(len(key), dtype=bool)
        if len(self.beside):
            there = self.beside[np.searchsorted(self.beside, key).clip(max=len(self.beside) - 1)] == key
        found = np.bincount(pair[there & (target[pair] >= 0)], minlength=len(source))
        return np.log((found + 0.5) / (n - found + 0.5))


def _beside(graph: Graph) -> np.ndarray:
    """[k, 2], sorted: who stands beside whom, both ways, once and never beside itself."""
    ends = np.concatenate([graph.triples[:, [0, 2]], graph.triples[:, [2, 0]]])
    key = np.unique(ends[:, 0] * max(graph.n_entities, 1) + ends[:, 1])
    ends = np.stack([key // max(graph.n_entities, 1), key % max(graph.n_entities, 1)], axis=1)
    return ends[ends[:, 0] != ends[:, 1]]
