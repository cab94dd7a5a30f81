"""Merge relations that join the same entities: n parallel ones would otherwise be compared in n * n pairs. No torch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mixtea.graph.joint_index import joint_triples
from mixtea.graph.task import Task

MAX_PARALLEL = 16  # relations from one entity to another; beyond, those with the same triples are merged


class MergedTriples(NamedTuple):
    """The triples of both graphs in joint indices, with one relation per set of relations with the same triples.

    `relations` [r] are the joint indices of the remaining relations, and `triples` [3, t] refer to their positions in
    it. `multiplicity` [2, r] is how many relations of the source and of the target graph each of them represents.
    """

    triples: np.ndarray
    relations: np.ndarray
    multiplicity: np.ndarray


def merge_parallel(task: Task, *, shared_relations: bool) -> MergedTriples:
    """Merge the relations of a graph whose triples have the same heads and tails.

    Only relations that are among more than MAX_PARALLEL between some two entities are merged. With fewer, all pairs of
    them are few, and sums over them keep the order of their terms.
    """
    triples, n_relations = joint_triples((task.source, task.target), shared_relations=shared_relations)
    head, relation, tail = triples
    n_source, n = task.source.n_entities, task.source.n_entities + task.target.n_entities
    own, ends = relation + n_relations * (head >= n_source), head * n + tail
    _, place, count = np.unique(ends, return_inverse=True, return_counts=True)
    parallel = np.isin(own, own[count[place.reshape(-1)] > MAX_PARALLEL])
    merged_into = np.arange(2 * n_relations)
    merged_into[own[parallel]] = _first_with_same_members(own[parallel], ends[parallel])
    kept = merged_into[own] == own
    relations, relation = np.unique(relation[kept], return_inverse=True)
    multiplicity = np.bincount(merged_into, minlength=2 * n_relations).reshape(2, n_relations)[:, relations]
    return MergedTriples(np.stack([head[kept], relation.reshape(-1), tail[kept]]), relations, multiplicity)


def _first_with_same_members(group: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Find for each row (group, member) the first group that has the same members as its own."""
    order = np.lexsort((members, group))
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    first: dict[bytes, int] = {}
    found = group.copy()
    for rows in np.split(order, starts[1:]) if len(order) else []:
        found[rows] = first.setdefault(members[rows].tobytes(), int(group[rows[0]]))
    return found
