"""Joint indices of both graphs: targets after all sources, relations of the same name as one where wanted."""

from __future__ import annotations

import numpy as np

from mixtea.graph.graph import Graph


def joint_triples(source: Graph, target: Graph, *, shared_relations: bool) -> tuple[np.ndarray, int]:
    """Return [3, t]: head, relation, tail of all triples in joint indices, source first; and how many relations."""
    relation_of, n_relations = relation_numbers(source, target, shared_relations)
    parts = [
        np.stack([g.triples[:, 0] + shift, relation_of[side][g.triples[:, 1]], g.triples[:, 2] + shift])
        for side, (g, shift) in enumerate(((source, 0), (target, source.n_entities)))
    ]
    return np.concatenate(parts, axis=1), n_relations


def relation_numbers(source: Graph, target: Graph, shared: bool) -> tuple[tuple[np.ndarray, np.ndarray], int]:
    """Return per graph the joint index of each relation, and their number; equal names share one if `shared`."""
    first = np.arange(source.n_relations)
    if not shared:
        second = source.n_relations + np.arange(target.n_relations)
    else:
        number = {name: i for i, name in enumerate(source.relations)}
        second = np.array([number.setdefault(name, len(number)) for name in target.relations], dtype=np.int64)
    return (first, second), int(max(first.max(initial=-1), second.max(initial=-1))) + 1
