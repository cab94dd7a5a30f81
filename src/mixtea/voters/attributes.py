"""The voter `attributes`: entities with equal or similar literal values, whatever the predicates are called.

Predicates are aligned by their values; rare values and discriminating predicates weigh more. No torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags, hstack
from scipy.sparse.csgraph import connected_components

from mixtea.compute.ngrams import mixed, sparse_unit_rows
from mixtea.compute.scored_pairs import ScoredPairs, are_in
from mixtea.compute.similar_rows import row_products, similar_rows
from mixtea.graph.task import Task
from mixtea.io.columns.hints import ComparedColumns
from mixtea.voters.attribute_values import MAX_PREDICATE_PAIRS, Column, task_values
from mixtea.voters.base import Cost, Evidence
from mixtea.voters.learned import ComparedPredicates, LearnedView
from mixtea.voters.similarity import (
    CANDIDATES_PER_ENTITY,
    SimilarityOpinions,
    SimilarityVoter,
    best_values,
    uncontradicted,
)

MIN_EXAMPLES = 20  # pairs of entities from which on they tell how far two predicates agree
MAX_VALUES_COMPARED = 200  # values of a predicate of one entity in an explanation
MIN_SIMILARITY = 0.005  # likeness of values that are said to be similar: a hundredth, as it is shown
N_RANDOM_PAIRS = 3000  # pairs of any two entities that tell how far they agree by chance
MAX_VALUES_SHOWN = 5  # values in an explanation
MAX_SHOWN_LENGTH = 60  # characters of a value that are shown


class AlignedPredicates(NamedTuple):
    """Two predicates that are compared, by index, and their weight."""

    ends: tuple[int, int]
    weight: float


def is_similar(likeness: float) -> bool:
    """Return whether two values are shown as similar; below that they differ."""
    return likeness >= MIN_SIMILARITY


class ComparedValues(NamedTuple):
    """Two values that are compared, each as (predicate, value): how alike they are, in [0, 1], and their weight."""

    source: tuple[str, str]
    target: tuple[str, str]
    alike: float
    counts: float

    @property
    def is_alike(self) -> bool:
        return is_similar(self.alike)


class AttributeOpinions(SimilarityOpinions):
    """Log-odds of pairs by their values; `aligned` are the pairs of predicates that are compared."""

    LEARNED = (*SimilarityOpinions.LEARNED, "aligned", "has", "settled_pairs", "settled")
    CLEAR_SIMILARITY = 0.4  # of several values together: some of them are written in other ways, or missing

    def __init__(self, task: Task, device: str = "cpu") -> None:
        super().__init__(task)
        self.values, self.device = task_values(task), device
        self.sides = self.values.sides

    @cached_property
    def aligned(self) -> list[AlignedPredicates]:
        """Return the aligned predicates, weighted by how far the pairs that were learned from agree, if enough."""
        if self.given is not None and (found := self._given_predicates(self.given)):
            return found
        return self._aligned(self.learned_from) if all(len(side.entity) for side in self.sides) else []

    def _given_predicates(self, given: LearnedView) -> list[AlignedPredicates]:
        """Return the predicates that another task has compared, as far as both graphs have them."""
        ours, theirs = ({name: place for place, name in enumerate(of.names)} for of in self.sides)
        return [
            AlignedPredicates((ours[pair.source], theirs[pair.target]), pair.weight)
            for pair in given.compared if pair.source in ours and pair.target in theirs
        ]  # fmt: skip

    @cached_property
    def has(self) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[override]
        """Mark the entities with a value of a predicate that is compared."""
        found = []
        for side, n in enumerate(self.shape):
            of = self.sides[side]
            used = np.isin(of.predicate, [pair.ends[side] for pair in self.aligned])
            has = np.zeros(n, dtype=bool)
            has[of.entity[used]] = True
            found.append(has)
        return found[0], found[1]

    def view(self) -> LearnedView:
        ours, theirs = (of.names for of in self.sides)
        compared = [ComparedPredicates(ours[p], theirs[q], weight) for (p, q), weight in self.aligned]
        return super().view()._replace(compared=tuple(compared))

    def compared(self, source: int, target: int) -> list[ComparedValues]:
        """Return the values of two entities by aligned predicates: the most alike first, each value once per pair.

        `counts` is the part of the likeness of the two entities that equal values would have, but for one factor.
        """
        said = [of.of_entity(end) for of, end in zip(self.sides, (source, target), strict=True)]
        found = []
        for pair in self.aligned:
            ends = [
                value[predicate == end][:MAX_VALUES_COMPARED]
                for (predicate, value), end in zip(said, pair.ends, strict=True)
            ]
            if not all(map(len, ends)):
                continue
            of = self.values
            rare = [of.rarity[values].mean() / _length(of.rows[values]) for values in ends]
            for place, alike in best_pairs(self.likeness(*ends)):
                shown = [
                    (of.names[end], self.values.literal(values[at])[0])
                    for of, end, values, at in zip(self.sides, pair.ends, ends, place, strict=True)
                ]
                found.append(ComparedValues(shown[0], shown[1], alike, pair.weight * float(rare[0] * rare[1])))
        return found

    def likeness(self, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return [p, q]: the likeness of values, by their numbers; 1 for equal ones in any notation."""
        rows, of = self.values.rows, self.values.wholes
        found = (rows[ours] @ rows[theirs].T).toarray()
        wholes = of[ours]
        found[(wholes[:, None] == of[theirs]) & (wholes[:, None] >= 0)] = 1.0
        return found

    @property
    def columns_compared(self) -> list[tuple[Column, Column]]:
        """Return the columns of `aligned`."""
        return [(self.sides[0].column(p), self.sides[1].column(q)) for (p, q), _ in self.aligned]

    @cached_property
    def columns_known(self) -> tuple[set[Column], set[Column]]:
        """Return all columns of each side."""
        first, second = ({of.column(place) for place in range(len(of.names))} for of in self.sides)
        return first, second

    @cached_property
    def number_of(self) -> dict[tuple[str, str], int]:
        """Map (text, datatype) to the number of the value."""
        return {self.values.literal(value): value for value in range(len(self.values.texts))}

    def initial_pairs(self) -> ScoredPairs:
        """Return the pairs with the most similar values, and those whose values settle them."""
        looking = [np.flatnonzero(has & ~settled) for has, settled in zip(self.has, self.settled, strict=True)]
        found = similar_rows(
            *self._rows(self.aligned), CANDIDATES_PER_ENTITY, looking=(looking[0], looking[1]), device=self.device
        )
        source, target = self.settled_pairs.T
        ends = np.r_[found.first, source], np.r_[found.second, target]
        return best_values(*ends, np.r_[found.product, np.ones(len(source), dtype=np.float32)], self.shape)

    @cached_property
    def settled(self) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[override]
        """Mark the entities of each side, bool [n], in one of `settled_pairs`: they look for no others."""
        return are_in(self.settled_pairs[:, 0], self.shape[0]), are_in(self.settled_pairs[:, 1], self.shape[1])

    @cached_property
    def settled_pairs(self) -> np.ndarray:
        """Return the pairs [p, 2] with equal values that nobody else has, unless links contradict them.

        Equal are all values by aligned predicates, in any notation. They are sorted, as a number per entity: the sum of
        a hash of each (pair of predicates, value).
        """
        (source, ours), (target, theirs) = (self._unique_values(side) for side in (0, 1))
        _, here, there = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
        pairs = np.stack([source[here], target[there]], axis=1)
        return uncontradicted(pairs[np.argsort(pairs[:, 0])], self.links, self.task.rejected, self.shape)

    def _unique_values(self, side: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (entities with values that are compared, the hash of all of these), where no two have the same.

        Predicates that are compared with the same ones count as one.
        """
        of, group = self.sides[side], self._groups[side][self.sides[side].predicate]
        whole = self.values.wholes[of.value]
        said = np.flatnonzero((group >= 0) & (whole >= 0))
        rows = np.unique(np.stack([of.entity[said], whole[said], group[said]]), axis=1)
        n_groups = sum(map(len, self._groups))
        key = mixed((rows[1] * n_groups + rows[2]).astype(np.uint64))
        entity, begin = np.unique(rows[0], return_index=True)
        total = np.add.reduceat(key, begin) if len(begin) else key
        unique, first, count = np.unique(total, return_index=True, return_counts=True)
        return entity[first[count == 1]], unique[count == 1]

    @property
    def _groups(self) -> tuple[np.ndarray, np.ndarray]:
        """Number the predicates of each side, alike where they are compared, directly or by others; -1 for the rest."""
        n, m = (len(of.names) for of in self.sides)
        ends = np.array([pair.ends for pair in self.aligned], dtype=np.int64).reshape(-1, 2)
        pairs = csr_matrix((np.ones(len(ends)), (ends[:, 0], n + ends[:, 1])), shape=(n + m, n + m))
        group = connected_components(pairs, directed=False)[1]
        compared = are_in(np.r_[ends[:, 0], n + ends[:, 1]], n + m)
        group = np.where(compared, group, -1)
        return group[:n], group[n:]

    def _of_predicate(self, side: int, predicate: int) -> csr_matrix:
        """Build a row per entity: its values of one predicate."""
        of = self.sides[side]
        here = of.predicate == predicate
        ones = np.ones(int(here.sum()), dtype=np.float32)
        shape = (self.shape[side], len(self.values.texts))
        return sparse_unit_rows(
            csr_matrix(csr_matrix((ones, (of.entity[here], of.value[here])), shape) @ self.values.rows)
        )

    def _rarity(self, side: int, predicate: int) -> np.ndarray:
        """Return [entities]: the mean rarity of their values of one predicate; common values are weaker evidence."""
        of = self.sides[side]
        here = of.predicate == predicate
        n = self.shape[side]
        total = np.bincount(of.entity[here], self.values.rarity[of.value[here]], minlength=n)
        return total / np.maximum(np.bincount(of.entity[here], minlength=n), 1)

    def _rows(self, aligned: list[AlignedPredicates]) -> tuple[csr_matrix, csr_matrix]:
        """Build a row per entity of each side: its values, by predicate, in the columns that both sides have."""
        sides = [self.side_rows(side, aligned) for side in (0, 1)]
        held = [np.bincount(rows.indices, minlength=rows.shape[1]) > 0 for rows in sides]
        shared = np.flatnonzero(held[0] & held[1])
        return sides[0][:, shared], sides[1][:, shared]

    def side_rows(self, side: int, aligned: list[AlignedPredicates]) -> csr_matrix:
        """Build a row per entity of a side: its values, predicate by predicate."""
        blocks = [
            diags(np.sqrt(pair.weight) * self._rarity(side, pair.ends[side]))
            @ self._of_predicate(side, pair.ends[side])
            for pair in aligned
        ]
        return sparse_unit_rows(csr_matrix(hstack(blocks)))

    def _aligned(self, pairs: np.ndarray) -> list[AlignedPredicates]:
        """Find predicates whose values agree more often than by chance, the most discriminating first.

        weight = (agreement of the same entities - agreement of any two) log(1 / agreement of any two).
        """
        found = []
        for p, q, overlap in self.values.overlapping:
            ours, theirs = self._of_predicate(0, p), self._of_predicate(1, q)
            has = [np.flatnonzero(np.diff(rows.indptr)) for rows in (ours, theirs)]
            if not all(map(len, has)):  # a single value tells nobody apart
                continue
            both = _having(pairs, has, self.shape)
            chance = _agreement(ours, theirs, *(_spread(ends, shift) for ends, shift in zip(has, (0, 7), strict=True)))
            agree = overlap if len(both) < MIN_EXAMPLES else _agreement(ours, theirs, both[:, 0], both[:, 1])
            weight = max(0.0, agree - chance) * np.log(1 / (chance + 1 / max(min(map(len, has)), 2)))
            if weight > 1e-3:
                found.append(AlignedPredicates((p, q), float(weight)))
        found = apply_weights(found, self.task.compared, *(side.names for side in self.sides))
        return sorted(found, key=lambda pair: -pair.weight)[:MAX_PREDICATE_PAIRS]


def apply_weights(
    found: list[AlignedPredicates], wanted: Sequence[ComparedColumns], source: list[str], target: list[str]
) -> list[AlignedPredicates]:
    """Apply the weights of a user to pairs of predicates; pairs that the user connected replace others.

    A pair that was not found counts for as much as the mean of the others.
    """
    usual = float(np.mean([pair.weight for pair in found])) if found else 1.0
    for one in wanted:
        ends = [names.index(end) if end in names else -1 for names, end in zip((source, target), one[:2], strict=True)]
        if min(ends) >= 0:
            weight = next((pair.weight for pair in found if pair.ends == tuple(ends)), usual)
            found = [pair for pair in found if pair.ends[0] != ends[0] and pair.ends[1] != ends[1]]
            found.append(AlignedPredicates((ends[0], ends[1]), weight * one.weight))
        else:
            found = [
                pair._replace(weight=pair.weight * one.weight) if pair.ends[0] == ends[0] or pair.ends[1] == ends[1]
                else pair for pair in found
            ]  # fmt: skip
    return [pair for pair in found if pair.weight > 0]


def _having(pairs: np.ndarray, has: list[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """Select the pairs of entities that both have a value."""
    there = [np.zeros(n, dtype=bool) for n in shape]
    there[0][has[0]] = there[1][has[1]] = True
    return pairs[there[0][pairs[:, 0]] & there[1][pairs[:, 1]]]


def _spread(ends: np.ndarray, shift: int) -> np.ndarray:
    """Draw N_RANDOM_PAIRS entities evenly, so that no pair of two such draws is more likely than another."""
    order = np.random.default_rng(shift).permutation(len(ends))
    return ends[order[np.arange(N_RANDOM_PAIRS) % len(ends)]]


def _agreement(ours: csr_matrix, theirs: csr_matrix, source: np.ndarray, target: np.ndarray) -> float:
    """Compute the mean cosine of the values of pairs of entities, for repeated pairs once."""
    key, place = np.unique(source * theirs.shape[0] + target, return_inverse=True)
    alike = row_products(ours, theirs, key // theirs.shape[0], key % theirs.shape[0])
    return float(alike[place].mean())


def _length(rows: csr_matrix) -> float:
    """Return the length of the sum of some rows; 1 if it is 0."""
    return float(np.linalg.norm(np.asarray(rows.sum(axis=0)))) or 1.0


def best_pairs(alike: np.ndarray) -> list[tuple[tuple[int, int], float]]:
    """Return ((row, column), value): the greatest first, each row and each column once."""
    found, left = [], alike.astype(np.float64)
    for _ in range(min(alike.shape)):
        place = divmod(int(left.argmax()), left.shape[1])
        found.append((place, float(np.clip(alike[place], 0.0, 1.0))))
        left[place[0]], left[:, place[1]] = -1.0, -1.0
    return found


class Attributes(SimilarityVoter):
    """Log-odds that two entities are the same by their literals; no opinion where nothing can be compared."""

    name = "attributes"
    needs = ("attributes",)
    evidence = "lexical"

    def is_applicable(self) -> bool:
        return self.has_inputs and super().is_applicable()

    @cached_property
    def has_inputs(self) -> bool:
        """Return whether one graph has literals, which may be names of entities of the other."""
        return any(graph.n_attribute_triples for graph in (self.task.source, self.task.target))

    def new_opinions(self) -> AttributeOpinions:
        return AttributeOpinions(self.task, self.config.device)

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Return compared values side by side, each with its share of the score; ≠ where they have nothing in common.

        Similar values share a positive score, different ones a negative one. The predicates are those that the links
        alone align.
        """
        score = self.known.weight_of(self.name, source, target) if self.known is not None else None
        if score is None:
            return ()
        rows = self.opinions_by_links().compared(source, target)
        if not rows:
            return () if np.isnan(score) else [Evidence("values that training has shown to be the same", score)]
        parts = np.array([row.counts * (1 - row.alike if score < 0 else row.alike) for row in rows])
        weights = score * (parts / parts.sum() if parts.sum() > 0 else np.full(len(rows), 1 / len(rows)))
        order = np.argsort(-parts, kind="stable")
        shown = [Evidence(_side_by_side(rows[place]), float(weights[place])) for place in order[:MAX_VALUES_SHOWN]]
        rest = order[MAX_VALUES_SHOWN:]
        return [*shown, *([Evidence(f"{len(rest):,} more values", float(weights[rest].sum()))] if len(rest) else [])]

    def opinions_by_links(self) -> AttributeOpinions:
        """Return its opinions by the links alone, as for a run that was read from its folder."""
        opinions: AttributeOpinions = self.opinions()
        opinions.learn(np.empty((0, 2), dtype=np.int64))
        return opinions

    def cost(self) -> Cost:
        n = self.task.source.n_attribute_triples + self.task.target.n_attribute_triples
        return Cost(mib=n * 2000 / 2**20, products=0.1)


def _side_by_side(row: ComparedValues) -> str:
    """Write two values as `born: 1990-05-03 ~ geboren: 3.5.1990`."""
    ours, theirs = (f"{predicate}: {value[:MAX_SHOWN_LENGTH]}" for predicate, value in (row.source, row.target))
    return f"{ours} {'~' if row.is_alike else '≠'} {theirs}"
