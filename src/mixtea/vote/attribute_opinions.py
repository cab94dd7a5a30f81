"""What literal values say of pairs: predicates that mean the same, found by their values, and how far these agree.

Rare values and telling predicates weigh more. A value may be a literal on one side and an entity with a name on the
other. No torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags, hstack

from mixtea.compute.ngrams import alike_rows, gram_rows, products_of_rows, unit_rows, weighted
from mixtea.data.entity_table import Attributes
from mixtea.data.graph import Graph
from mixtea.data.names import entity_names
from mixtea.data.task import Task
from mixtea.data.vocabulary import TYPE
from mixtea.vote.learned_text import ComparedPredicates, LearnedView
from mixtea.vote.likeness import NEAR, Likeness, LikenessOpinions, best_values
from mixtea.vote.values import Form, form_of

PARTS = (1.0, 0.6, 0.4)  # what whole values, their words and their n-grams count for
LEAST_SHARED, LEAST_SHARE = 3, 0.02  # values that two predicates have in common: how many, and which part of either
PARTNERS, MOST = 2, 60  # predicates of the other side for one, and pairs of predicates in all
EXAMPLES = 20  # pairs of entities from which on they tell how far two predicates agree
LISTED = 200  # values of a predicate of one entity in an explanation
CHANCE = 3000  # pairs of any two entities that tell how far they agree by chance


class Statements(NamedTuple):
    """(entity, predicate, value) as numbers; `names` are the predicates, each language of one that has several apart.

    Those from `n_literal` on are relations whose value is the name of an entity.
    """

    entity: np.ndarray
    predicate: np.ndarray
    value: np.ndarray
    names: list[str]
    n_literal: int

    def of_entity(self, entity: int) -> tuple[np.ndarray, np.ndarray]:
        """Its predicates and values."""
        own = self.entity == entity
        return self.predicate[own], self.value[own]


class Aligned(NamedTuple):
    """Two predicates that are compared, by number, and how much they tell."""

    ends: tuple[int, int]
    weight: float


class Compared(NamedTuple):
    """Two values that are compared, each as (predicate, value): how alike they are, in [0, 1], and what that counts."""

    source: tuple[str, str]
    target: tuple[str, str]
    alike: float
    counts: float


class AttributeOpinions(LikenessOpinions):
    """Log-odds of pairs by their values; `aligned` are the pairs of predicates that are compared."""

    LEARNED = (*LikenessOpinions.LEARNED, "aligned", "has")

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        values: dict[str, int] = {}
        self.sides = tuple(statements_of(graph, values) for graph in (task.source, task.target))
        self.texts = list(values)

    @cached_property
    def aligned(self) -> list[Aligned]:
        """Weighed by how far the pairs that were learned from agree, where these are enough."""
        return self._aligned(self.learned_from) if all(len(side.entity) for side in self.sides) else []

    @cached_property
    def has(self) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[override]
        """Entities with a value of a predicate that is compared."""
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

    def compared(self, source: int, target: int) -> list[Compared]:
        """The values of two entities by predicates that are compared: the most alike first, each value once a pair.

        `counts` is the part of the likeness of the two entities that equal values would have, but for one factor.
        """
        said = [of.of_entity(end) for of, end in zip(self.sides, (source, target), strict=True)]
        found = []
        for pair in self.aligned:
            ends = [value[predicate == end][:LISTED] for (predicate, value), end in zip(said, pair.ends, strict=True)]
            if not all(map(len, ends)):
                continue
            rows = [self.values[values] for values in ends]
            rare = [self.rarity[values].mean() / _length(of) for values, of in zip(ends, rows, strict=True)]
            for place, alike in _paired((rows[0] @ rows[1].T).toarray()):
                shown = [
                    (of.names[end], self.literal(values[at])[0])
                    for of, end, values, at in zip(self.sides, pair.ends, ends, place, strict=True)
                ]
                found.append(Compared(shown[0], shown[1], alike, pair.weight * float(rare[0] * rare[1])))
        return found

    def literal(self, value: int) -> tuple[str, str]:
        """(text, datatype) of a value."""
        text, _, datatype = self.texts[value].rpartition("\x00")
        return text, datatype

    def first_found(self) -> Likeness:
        rows = self._rows(self.aligned)
        a, b = alike_rows(*rows, NEAR)
        return best_values(a, b, products_of_rows(*rows, a, b), self.shape)

    @cached_property
    def forms(self) -> list[Form]:
        return [form_of(*self.literal(value)) for value in range(len(self.texts))]

    @cached_property
    def values(self) -> csr_matrix:
        """A row a value: its whole, its words and its n-grams, rare ones weighing more."""
        return joined_parts(
            [weighted(*gram_rows(texts, lengths=lengths))[0] for texts, lengths in parts_of_forms(self.forms)]
        )

    @cached_property
    def wholes(self) -> np.ndarray:
        """The number of each value's whole, the same for the same value however it is written; -1 for a blank one."""
        number: dict[str, int] = {"": -1}
        return np.array([number.setdefault(form.whole, len(number)) for form in self.forms])

    def _of_predicate(self, side: int, predicate: int) -> csr_matrix:
        """A row an entity: its values of one predicate."""
        of = self.sides[side]
        here = of.predicate == predicate
        ones = np.ones(int(here.sum()), dtype=np.float32)
        shape = (self.shape[side], len(self.texts))
        return unit_rows(csr_matrix(csr_matrix((ones, (of.entity[here], of.value[here])), shape) @ self.values))

    @cached_property
    def rarity(self) -> np.ndarray:
        """[values]: from 0, where all statements have it, to 1, where one has."""
        stated = np.concatenate([self.wholes[of.value] for of in self.sides])
        count = np.bincount(stated[stated >= 0], minlength=int(self.wholes.max(initial=-1)) + 2)
        n = max(len(stated), 2)
        return np.log(n / np.maximum(count[self.wholes], 1)) / np.log(n)

    def _rarity(self, side: int, predicate: int) -> np.ndarray:
        """[entities]: how rare their values of one predicate are, in the mean; what many have in common tells less."""
        of = self.sides[side]
        here = of.predicate == predicate
        n = self.shape[side]
        total = np.bincount(of.entity[here], self.rarity[of.value[here]], minlength=n)
        return total / np.maximum(np.bincount(of.entity[here], minlength=n), 1)

    def _rows(self, aligned: list[Aligned]) -> tuple[csr_matrix, csr_matrix]:
        """A row an entity of each side: its values, predicate by predicate, in the columns that both sides have."""
        sides = [self.side_rows(side, aligned) for side in (0, 1)]
        shared = np.intersect1d(*(rows.indices for rows in sides))
        return sides[0][:, shared], sides[1][:, shared]

    def side_rows(self, side: int, aligned: list[Aligned]) -> csr_matrix:
        """Build a row per entity of a side: its values, predicate by predicate."""
        blocks = [
            diags(np.sqrt(pair.weight) * self._rarity(side, pair.ends[side]))
            @ self._of_predicate(side, pair.ends[side])
            for pair in aligned
        ]
        return unit_rows(csr_matrix(hstack(blocks)))

    def _aligned(self, pairs: np.ndarray) -> list[Aligned]:
        """Predicates whose values are the same more often than by chance, the most telling first.

        weight = (agreement of the same entities - agreement of any two) log(1 / agreement of any two).
        """
        found = []
        for p, q, overlap in self._overlapping():
            ours, theirs = self._of_predicate(0, p), self._of_predicate(1, q)
            has = [np.flatnonzero(np.diff(rows.indptr)) for rows in (ours, theirs)]
            if not all(map(len, has)):  # a single value tells nobody apart
                continue
            both = _having(pairs, has, self.shape)
            chance = _agreement(ours, theirs, *(_spread(ends, shift) for ends, shift in zip(has, (0, 7), strict=True)))
            agree = overlap if len(both) < EXAMPLES else _agreement(ours, theirs, both[:, 0], both[:, 1])
            weight = max(0.0, agree - chance) * np.log(1 / (chance + 1 / max(min(map(len, has)), 2)))
            if weight > 1e-3:
                found.append(Aligned((p, q), float(weight)))
        return sorted(found, key=lambda pair: -pair.weight)[:MOST]

    def _overlapping(self) -> list[tuple[int, int, float]]:
        """(source predicate, target predicate, share) of those that have values in common."""
        held = []
        n_wholes = int(self.wholes.max(initial=-1)) + 1
        for of in self.sides:
            whole = self.wholes[of.value]
            kept = whole >= 0
            rows = np.unique(np.stack([of.predicate[kept], whole[kept]]), axis=1)
            ones = np.ones(rows.shape[1], dtype=np.float32)
            held.append(csr_matrix((ones, (rows[0], rows[1])), shape=(len(of.names), n_wholes)))
        shared = (held[0] @ held[1].T).tocoo()
        sizes = [np.asarray(side.sum(axis=1)).ravel() for side in held]
        share = shared.data / np.minimum(sizes[0][shared.row], sizes[1][shared.col])
        literal = (shared.row < self.sides[0].n_literal) | (shared.col < self.sides[1].n_literal)
        kept = literal & (shared.data >= np.minimum(LEAST_SHARED, sizes[0][shared.row])) & (share >= LEAST_SHARE)
        p, q, share = shared.row[kept], shared.col[kept], share[kept]
        good = (_rank(p, share) < PARTNERS) | (_rank(q, share) < PARTNERS)
        order = np.argsort(-share[good], kind="stable")[: 2 * MOST]
        return [(int(p[good][i]), int(q[good][i]), float(share[good][i])) for i in order]


def parts_of_forms(forms: Sequence[Form]) -> list[tuple[list[str], tuple[int, ...]]]:
    """(texts, lengths of the n-grams that are compared) of whole values, of their words, and of their text."""
    wholes = [form.whole.replace(" ", "\x01") for form in forms]
    return [(wholes, ()), ([form.words for form in forms], ()), ([form.text for form in forms], (3,))]


def joined_parts(parts: Sequence[csr_matrix]) -> csr_matrix:
    """Join the weighted rows of the parts of values, each by what it counts for, to rows of length 1."""
    return unit_rows(csr_matrix(hstack([share * part for share, part in zip(PARTS, parts, strict=True)])))


def statements_of(graph: Graph, values: dict[str, int]) -> Statements:
    """The literals of a graph but for its labels, and the names of the entities that its relations lead to."""
    of = graph.attributes
    texts, kinds = of.value.texts(), of.datatype.texts()
    pairs = np.unique(np.stack([of.value.codes, of.datatype.codes]), axis=1)
    number = {
        (value, kind): values.setdefault(f"{texts[value]}\x00{kinds[kind]}", len(values))
        for value, kind in pairs.T.tolist()
    }
    codes = zip(of.value.codes.tolist(), of.datatype.codes.tolist(), strict=True)
    value = np.array([number[pair] for pair in codes], dtype=np.int64)
    is_value = np.array([not graph.is_name(name) and name not in TYPE for name in of.predicate.texts()], dtype=bool)
    kept = is_value[of.predicate.codes]
    predicate, predicates = _by_language(of)
    entity, column = entity_names(graph, translated=False)
    name_of = np.full(graph.n_entities, -1, dtype=np.int64)
    alone = np.flatnonzero(np.bincount(of.entity[kept], minlength=graph.n_entities)[of.entity[kept]] == 1)
    name_of[of.entity[kept][alone]] = value[kept][alone]  # who has a single literal is known by it
    named = np.array([values.setdefault(f"{text}\x00", len(values)) for text in column.texts()], dtype=np.int64)
    name_of[entity[::-1]] = named[column.codes[::-1]] if len(named) else -1
    tail = name_of[graph.triples[:, 2]]
    led = tail >= 0
    return Statements(
        np.r_[of.entity[kept].astype(np.int64), graph.triples[led, 0]],
        np.r_[predicate[kept], graph.triples[led, 1] + len(predicates)],
        np.r_[value[kept], tail[led]],
        [*predicates, *map(str, graph.relations)],
        len(predicates),
    )


def _by_language(of: Attributes) -> tuple[np.ndarray, list[str]]:
    """(int64 a row, names): its predicate, in its language (`comment@en`) where the predicate has more than one.

    `en-gb` is `en`; what has no language is said by the predicate alone.
    """
    tags = [tag.lower().partition("-")[0] for tag in of.language.texts()]
    known = sorted({"", *tags})
    number = {tag: place for place, tag in enumerate(known)}
    predicate = of.predicate.codes.astype(np.int64)
    language = np.array([number[tag] for tag in tags], dtype=np.int64)[of.language.codes]
    used = np.unique(np.stack([predicate, language])[:, language > 0], axis=1)[0]
    several = np.bincount(used, minlength=of.predicate.n_texts) > 1
    keys, place = np.unique(predicate * len(known) + np.where(several[predicate], language, 0), return_inverse=True)
    texts = of.predicate.texts()
    ends = [(texts[key // len(known)], known[key % len(known)]) for key in keys.tolist()]
    return place.reshape(-1), [f"{name}@{tag}" if tag else name for name, tag in ends]


def _having(pairs: np.ndarray, has: list[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """The pairs of entities that both have a value."""
    there = [np.zeros(n, dtype=bool) for n in shape]
    there[0][has[0]] = there[1][has[1]] = True
    return pairs[there[0][pairs[:, 0]] & there[1][pairs[:, 1]]]


def _spread(ends: np.ndarray, shift: int) -> np.ndarray:
    """CHANCE of some entities, evenly taken, so that no pair of two such rows is more likely than another."""
    order = np.random.default_rng(shift).permutation(len(ends))
    return ends[order[np.arange(CHANCE) % len(ends)]]


def _agreement(ours: csr_matrix, theirs: csr_matrix, source: np.ndarray, target: np.ndarray) -> float:
    """Compute the mean cosine of the values of pairs of entities, for repeated pairs once."""
    key, place = np.unique(source * theirs.shape[0] + target, return_inverse=True)
    alike = products_of_rows(ours, theirs, key // theirs.shape[0], key % theirs.shape[0])
    return float(alike[place].mean())


def _length(rows: csr_matrix) -> float:
    """Of the sum of some rows; of values that have none it is 1."""
    return float(np.linalg.norm(np.asarray(rows.sum(axis=0)))) or 1.0


def _paired(alike: np.ndarray) -> list[tuple[tuple[int, int], float]]:
    """((row, column), value): the greatest first, each row and each column once."""
    found, left = [], alike.astype(np.float64)
    for _ in range(min(alike.shape)):
        place = divmod(int(left.argmax()), left.shape[1])
        found.append((place, float(np.clip(alike[place], 0.0, 1.0))))
        left[place[0]], left[:, place[1]] = -1.0, -1.0
    return found


def _rank(line: np.ndarray, value: np.ndarray) -> np.ndarray:
    from mixtea.vote.likeness import rank_of

    return rank_of(line.astype(np.int64), value)
