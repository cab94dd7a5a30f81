"""Matched neighbours that support a pair: the index of neighbours, the formula, and one pair at a time.

Two triples (a, r, x) and (b, r', y) support the pair (x, y) by the belief in (a, b) and the similarity of r and r',
which is counted from the same beliefs. The voter `agreement` scores all pairs by the same index and formula
(`voters/agreement_steps.py`); they take arrays of NumPy and of torch. No torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mixtea.compute.scored_pairs import Array, ScoredPairs, distinct, group_sum
from mixtea.graph.graph import Graph
from mixtea.graph.joint_index import joint_triples, relation_numbers
from mixtea.graph.task import Task

TRIPLES_PER_BLOCK = 1_000_000  # statements of the source graph looked up at a time
MAX_PARALLEL = 16  # relations from one entity to another; beyond, those with the same triples are merged
MAX_NEIGHBOURS_PER_RELATION = 200  # neighbours through one relation, from which on a single one says nothing
MIN_BELIEF = 0.1  # a weaker belief is not listened to
MIN_RELATION_SIMILARITY = 0.02  # relations less alike than this do not speak


def weighted_pairs(source: np.ndarray, target: np.ndarray, belief: np.ndarray) -> ScoredPairs:
    """Make pairs of things of either side, sorted by source, and the belief in each; some may be there twice."""
    order = np.argsort(source, kind="stable")
    ends = [end[order].astype(np.int64) for end in (source, target)]
    shape = (1 + int(ends[0].max(initial=-1)), 1 + int(ends[1].max(initial=-1)))
    return ScoredPairs(ends[0], ends[1], shape, {"belief": belief[order].astype(np.float64)})


def matched(pairs: ScoredPairs, side: int, things: np.ndarray) -> np.ndarray:
    """Return the belief, at most 1, that each of the `things` of a side (0 the source) is in some pair."""
    n = max(pairs.shape[side], 1 + int(things.max(initial=0)))
    return np.minimum(np.bincount(pairs.target if side else pairs.source, pairs.belief, minlength=n), 1)[things]


def join_triples(
    ours: tuple[np.ndarray, np.ndarray], theirs: tuple[np.ndarray, np.ndarray], near: ScoredPairs, far: ScoredPairs
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (i, j, weight): the triples i of ours and j of theirs with subjects in `near` and objects in `far`.

    Triples are given by their two ends, pairs as `weighted_pairs` makes them. The weight is the product of the beliefs
    in both pairs.
    """
    width = 1 + max(int(ends.max(initial=0)) for ends in (theirs[1], far.target))
    order = np.argsort(theirs[0] * width + theirs[1], kind="stable")
    keys = (theirs[0] * width + theirs[1])[order]
    found = [(order[:0], order[:0], np.empty(0))]
    for begin in range(0, len(ours[0]), TRIPLES_PER_BLOCK):
        one, p = _equal_join(near.source, ours[0][begin : begin + TRIPLES_PER_BLOCK])
        again, q = _equal_join(far.source, ours[1][begin + one])
        one, p = begin + one[again], p[again]
        met, place = _equal_join(keys, near.target[p] * width + far.target[q])
        found.append((one[met], order[place], near.belief[p[met]] * far.belief[q[met]]))
    i, j, weight = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return i, j, weight


def _equal_join(keys: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all (i, j) with wanted[i] == keys[j]; the keys are sorted."""
    first, last = (np.searchsorted(keys, wanted, side) for side in ("left", "right"))
    count = last - first
    i = np.repeat(np.arange(len(wanted)), count)
    return i, np.arange(len(i)) - np.repeat(np.cumsum(count) - count - first, count)


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


class NeighbourIndex(NamedTuple):
    """The distinct triples of both graphs walked both ways, from `near` by `kind` to `far`, ascending; joint indices.

    A relation r is the kind 2 r, its inverse 2 r + 1; `relations` are the joint indices of all, and `merged` [2, r] is
    how many relations of the source and of the target graph each represents, `multiplicity` the same by step. `n_alike`
    is how many neighbours `near` has by the kind; those who have too many are left out. The steps from an entity begin
    at its place in `start`.
    """

    near: np.ndarray
    kind: np.ndarray
    far: np.ndarray
    n_alike: np.ndarray
    multiplicity: np.ndarray
    start: np.ndarray
    relations: np.ndarray
    merged: np.ndarray

    @classmethod
    def of(cls, task: Task, *, shared_relations: bool) -> NeighbourIndex:
        (head, relation, tail), relations, merged = merge_parallel(task, shared_relations=shared_relations)
        n, n_kinds = task.joint_index.n, max(2 * len(relations), 1)
        steps = np.stack([np.r_[head, tail], np.r_[2 * relation, 2 * relation + 1], np.r_[tail, head]], axis=1)
        key = distinct((steps[:, 0] * n_kinds + steps[:, 1]) * n + steps[:, 2])  # below 2**63 by far
        first, far = key // n, key % n
        _, place, count = np.unique(first, return_inverse=True, return_counts=True)
        kept = count[place] <= MAX_NEIGHBOURS_PER_RELATION
        near, kind = first[kept] // n_kinds, first[kept] % n_kinds
        multiplicity = merged[(near >= task.source.n_entities).astype(np.int64), kind // 2]
        start = np.searchsorted(near, np.arange(n + 1))
        return cls(near, kind, far[kept], count[place][kept], multiplicity, start, relations, merged)


def step_weights(belief: Array, alike: Array, counts: tuple[Array, Array], n_pairs: Array) -> Array:
    """Compute belief(a, b) alike(r, r') / sqrt(max(|N_r(a)|, |N_r'(b)|)) of two triples, for so many pairs of them.

    N_r(a) are the neighbours of a by r: the more there are, the less evidence each is.
    """
    return belief * alike * counts[0].clip(min=counts[1]) ** -0.5 * n_pairs


def relation_similarities(met: Array, could: tuple[Array, Array]) -> Array:
    """Compute alike(r, r') = min(1, met / sqrt((could_r + 1) (could_r' + 1))), by the triples of both that met."""
    return (met / ((could[0] + 1) * (could[1] + 1)) ** 0.5).clip(max=1)


def could_meet(
    steps: tuple[Array, Array, Array], sizes: tuple[int, int, int], believed: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    """Return [n_kinds] of each side: how many triples of a kind have both ends matched, as far as these are believed.

    `steps` are near, kind and far; `believed` are sources, targets and the belief in each pair, in joint indices;
    `sizes` are the numbers of source entities, of all entities, and of kinds.
    """
    (near, kind, far), (n_source, n, n_kinds), (source, target, belief) = steps, sizes, believed
    matched = (group_sum(source, belief, n) + group_sum(target, belief, n)).clip(max=1)
    both, ours = matched[near] * matched[far], near < n_source
    return group_sum(kind[ours], both[ours], n_kinds), group_sum(kind[~ours], both[~ours], n_kinds)


class Neighbourhood:
    """The index of neighbours of a task, the links, and the belief in further pairs."""

    def __init__(self, task: Task, known: ScoredPairs, *, shared_relations: bool = True) -> None:
        self.task, self.shared, self.joint = task, shared_relations, task.joint_index
        self.index = NeighbourIndex.of(task, shared_relations=shared_relations)
        self.near, self.kind, self.far = self.index.near, self.index.kind, self.index.far
        self.n, self.n_kinds = self.joint.n, 2 * len(self.index.relations)
        strong = known.belief > MIN_BELIEF
        self.source = np.r_[task.train[:, 0], known.source[strong]].astype(np.int64)
        theirs = np.r_[task.train[:, 1], known.target[strong]].astype(np.int64)
        self.target, self.target_entity = np.asarray(self.joint.of_entities(1, theirs)), theirs
        self.belief = np.r_[np.ones(len(task.train)), np.minimum(known.belief[strong], 1)].astype(np.float64)

    def score(self, source: int, target: int) -> float:
        """Return log(1 + sum of the weights of the support of a pair), as in neighbour agreement."""
        return float(np.log1p(self.support(source, target).weight.sum()))

    def support(self, source: int, target: int, above: float = MIN_BELIEF) -> ScoredPairs:
        """Return the support of a pair, by entity indices; `above` is the minimal belief in the neighbours.

        It has a row for each two triples (a, r, x) and (b, r', y) that support (x, y): the pair (a, b), maybe several
        times, with the relations `kind` and `other_kind` (2 r, inverse 2 r + 1), and the `weight`.
        """
        theirs: dict[int, list[int]] = {}
        steps = self._steps_to(self.joint.of_entity(1, target))
        for j, end in zip(steps.tolist(), self.joint.to_entities(1, self.near[steps]).tolist(), strict=True):
            theirs.setdefault(end, []).append(j)
        rows = [
            (i, j, belief)
            for i in (self._steps_to(source).tolist() if theirs else [])
            for end, belief in self.believed(int(self.near[i])).items()
            if belief > above
            for j in theirs.get(end, ())
        ]
        first, second = (np.array([row[side] for row in rows], dtype=np.int64) for side in (0, 1))
        meaning, weight = self._weights(np.array([row[2] for row in rows]), first, second)
        columns = {"kind": self.kind[first], "other_kind": self.kind[second], "weight": weight}
        ends = self.near[first], self.joint.to_entities(1, self.near[second])
        return ScoredPairs(*ends, self.joint.shape, columns).where(meaning > MIN_RELATION_SIMILARITY)

    def supported_pairs(
        self, source: int, target: int, asked: Callable[[int], Iterable[int]]
    ) -> dict[tuple[int, int], float]:
        """Return the pairs one step further that a pair supports, with the weight per unit of belief.

        Of each source beside the pair only the targets of `asked` are looked at.
        """
        theirs: dict[int, list[int]] = {}
        steps = self._steps_from(self.joint.of_entity(1, target))
        for j, end in zip(steps.tolist(), self.joint.to_entities(1, self.far[steps]).tolist(), strict=True):
            theirs.setdefault(end, []).append(j)
        rows = [
            (i, j)
            for i in (self._steps_from(source).tolist() if theirs else [])
            for end in asked(int(self.far[i]))
            for j in theirs.get(end, ())
        ]
        if not rows:
            return {}
        first, second = np.array(rows, dtype=np.int64).T
        meaning, weight = self._weights(np.ones(len(rows)), first, second)
        says = meaning > MIN_RELATION_SIMILARITY
        ends = self.far[first[says]].tolist(), self.joint.to_entities(1, self.far[second[says]]).tolist()
        found: dict[tuple[int, int], float] = {}
        for *pair, value in zip(*ends, weight[says].tolist(), strict=True):
            found[pair[0], pair[1]] = found.get((pair[0], pair[1]), 0.0) + value
        return found

    def _weights(self, belief: np.ndarray, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how similar the relations of pairs of steps are, and the weights of these pairs."""
        count, n = self.index.n_alike, self.index.multiplicity
        alike = self._relation_similarity(self.kind[first] * self.n_kinds + self.kind[second])
        return alike, step_weights(belief, alike, (count[first], count[second]), n[first] * n[second])

    def believed(self, source: int) -> dict[int, float]:
        """Return the belief in each target of a source, by entity indices."""
        order, starts = self._by_source
        rows = order[starts[source] : starts[source + 1]]
        return dict(zip(self.target_entity[rows].tolist(), self.belief[rows].tolist(), strict=True))

    def prepare(self) -> None:
        """Build all indices now."""
        _ = (self._by_far, self._by_source, self._alike)

    def described(self, support: ScoredPairs, places: Sequence[int]) -> list[str]:
        """Describe rows of the support, each end seen from its end of the pair: `capital: Rome ~ capitale: Rome`."""
        kinds = (support.kind.tolist(), support.other_kind.tolist())
        sides = list(zip((self.task.source, self.task.target), support.ends, kinds, strict=True))
        return [
            " ~ ".join(
                f"{self.relation_name(side, kind[place])}: {graph.display(int(end[place]))}"
                for side, (graph, end, kind) in enumerate(sides)
            )
            for place in places
        ]

    def relation_name(self, side: int, kind: int) -> str:
        """Name the relation by which an end of the pair reaches a neighbour, which reaches it by `kind`.

        Of merged relations the first is named, and the others are counted.
        """
        number, more = int(self.index.relations[kind // 2]), int(self.index.merged[side, kind // 2]) - 1
        graph, place = self._relation_places[number]
        name = graph.shorten(str(graph.relations[place])) + (f" and {more:,} more" if more > 0 else "")
        return name if kind % 2 else f"inverse of {name}"

    @cached_property
    def _relation_places(self) -> dict[int, tuple[Graph, int]]:
        """Map the joint index of a relation to a graph that has it, preferably the source, and its index there."""
        graphs = (self.task.target, self.task.source)
        numbers, _ = relation_numbers((self.task.source, self.task.target), self.shared)
        return {
            number: (graph, place)
            for graph, own in zip(graphs, reversed(numbers), strict=True)
            for place, number in enumerate(own.tolist())
        }

    def _steps_to(self, entity: int) -> np.ndarray:
        """Return the steps that end at an entity, by its joint index."""
        order, starts = self._by_far
        return order[starts[entity] : starts[entity + 1]]

    def _steps_from(self, entity: int) -> np.ndarray:
        return np.arange(self.index.start[entity], self.index.start[entity + 1])

    @cached_property
    def _by_far(self) -> tuple[np.ndarray, np.ndarray]:
        return _index(self.far, self.n)

    @cached_property
    def _by_source(self) -> tuple[np.ndarray, np.ndarray]:
        return _index(self.source, self.joint.sizes[0])

    def _relation_similarity(self, key: np.ndarray) -> np.ndarray:
        """Return how similar two relations are, by r * n_kinds + r'."""
        keys, values = self._alike
        if not len(keys):
            return np.zeros(len(key))
        place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        return np.where(keys[place] == key, values[place], 0.0)

    @cached_property
    def _alike(self) -> tuple[np.ndarray, np.ndarray]:
        """Divide the belief in triples of r that meet triples of r' by the geometric mean of what both could meet."""
        pairs = weighted_pairs(self.source, self.target, self.belief)
        sides = [np.flatnonzero(part) for part in (self.near < self.joint.sizes[0], self.near >= self.joint.sizes[0])]
        ours, theirs = ((self.near[side], self.far[side]) for side in sides)
        first, second, weight = join_triples(ours, theirs, pairs, pairs)
        kinds = self.kind[sides[0][first]] * self.n_kinds + self.kind[sides[1][second]]
        key, where = np.unique(kinds, return_inverse=True)
        total = np.bincount(where, weight, minlength=len(key))
        believed, sizes = (self.source, self.target, self.belief), (self.joint.sizes[0], self.n, self.n_kinds)
        could = could_meet((self.near, self.kind, self.far), sizes, believed)
        return key, relation_similarities(total, (could[0][key // self.n_kinds], could[1][key % self.n_kinds]))


def _index(of: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort positions by the number there, one of n; also return where those of each number begin."""
    return np.argsort(of, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(of, minlength=n))])


def neighbourhood(task: Task, known: ScoredPairs, shared_relations: bool) -> Neighbourhood:
    """Return the neighbourhood of a task under these pairs, made once for all callers."""
    held: dict[bool, Neighbourhood] = known.__dict__.setdefault("neighbourhoods", {})
    if shared_relations not in held or held[shared_relations].task is not task:
        held[shared_relations] = Neighbourhood(task, known, shared_relations=shared_relations)
    return held[shared_relations]
