"""Index of all literal values of a task, and predicates of both sides with values in common.

A value may be a literal on one side and an entity with a name on the other. No torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_matrix, hstack

from mixtea.compute.ngrams import ngram_counts, sparse_unit_rows, tfidf
from mixtea.compute.scored_pairs import rank_within
from mixtea.graph.entity_table import Attributes
from mixtea.graph.graph import Graph
from mixtea.graph.task import Task
from mixtea.graph.terms import TYPE
from mixtea.text.names import entity_names
from mixtea.text.values import Form, form_of

PART_WEIGHTS = (1.0, 0.6, 0.4)  # what whole values, their words and their n-grams count for
MIN_SHARED_VALUES, MIN_SHARE = 3, 0.02  # values that two predicates have in common: how many, and which part of either
MAX_PARTNERS, MAX_PREDICATE_PAIRS = 2, 60  # predicates of the other side for one, and pairs of predicates in all
_VALUES: WeakKeyDictionary[Task, TaskValues] = WeakKeyDictionary()


def task_values(task: Task) -> TaskValues:
    """Return the values of a task, made once for all voters with opinions of their own."""
    found = _VALUES.get(task)
    if found is None:
        found = _VALUES[task] = TaskValues(task)
    return found


class Column(NamedTuple):
    """A source of values: a predicate, with the language where it has several (`comment@en`), or a relation."""

    name: str
    is_relation: bool = False


class ValueTriples(NamedTuple):
    """(entity, predicate, value) as indices; `names` are the predicates, one per language where they have several.

    Those from `n_literal` on are relations whose value is the name of an entity.
    """

    entity: np.ndarray
    predicate: np.ndarray
    value: np.ndarray
    names: list[str]
    n_literal: int

    def column(self, predicate: int) -> Column:
        return Column(self.names[predicate], predicate >= self.n_literal)

    def of_entity(self, entity: int) -> tuple[np.ndarray, np.ndarray]:
        """Return its predicates and values."""
        own = self.entity == entity
        return self.predicate[own], self.value[own]


class TaskValues:
    """All values of a task, numbered, and the entities that have them, independent of what was learned."""

    def __init__(self, task: Task) -> None:
        values: dict[str, int] = {}
        self.sides = tuple(value_triples(graph, values) for graph in (task.source, task.target))
        self.texts = list(values)

    def literal(self, value: int) -> tuple[str, str]:
        """Return (text, datatype) of a value."""
        text, _, datatype = self.texts[value].rpartition("\x00")
        return text, datatype

    @cached_property
    def forms(self) -> list[Form]:
        return [form_of(*self.literal(value)) for value in range(len(self.texts))]

    @cached_property
    def rows(self) -> csr_matrix:
        """Return a row per value: its whole, its words and its n-grams, rare ones weighing more."""
        return joined_parts(
            [tfidf(*ngram_counts(texts, lengths=lengths))[0] for texts, lengths in parts_of_forms(self.forms)]
        )

    @cached_property
    def wholes(self) -> np.ndarray:
        """Return the number of each value's whole, equal for equal values in any notation; -1 for a blank one."""
        return _numbered(form.whole for form in self.forms)

    @cached_property
    def rarity(self) -> np.ndarray:
        """Return [values]: from 0 for a value of all triples to 1 for a value of one."""
        stated = np.concatenate([self.wholes[of.value] for of in self.sides])
        count = np.bincount(stated[stated >= 0], minlength=int(self.wholes.max(initial=-1)) + 2)
        n = max(len(stated), 2)
        return np.log(n / np.maximum(count[self.wholes], 1)) / np.log(n)

    @cached_property
    def overlapping(self) -> list[tuple[int, int, float]]:
        """Return (source predicate, target predicate, share) of those with values in common."""
        held = []
        wholes = _numbered(form.nearly for form in self.forms)
        n_wholes = int(wholes.max(initial=-1)) + 1
        for of in self.sides:
            whole = wholes[of.value]
            kept = whole >= 0
            rows = np.unique(np.stack([of.predicate[kept], whole[kept]]), axis=1)
            ones = np.ones(rows.shape[1], dtype=np.float32)
            held.append(csr_matrix((ones, (rows[0], rows[1])), shape=(len(of.names), n_wholes)))
        shared = (held[0] @ held[1].T).tocoo()
        sizes = [np.asarray(side.sum(axis=1)).ravel() for side in held]
        share = shared.data / np.minimum(sizes[0][shared.row], sizes[1][shared.col])
        literal = (shared.row < self.sides[0].n_literal) | (shared.col < self.sides[1].n_literal)
        kept = literal & (shared.data >= np.minimum(MIN_SHARED_VALUES, sizes[0][shared.row])) & (share >= MIN_SHARE)
        p, q, share = shared.row[kept], shared.col[kept], share[kept]
        good = (rank_within(p, share) < MAX_PARTNERS) | (rank_within(q, share) < MAX_PARTNERS)
        order = np.argsort(-share[good], kind="stable")[: 2 * MAX_PREDICATE_PAIRS]
        return [(int(p[good][i]), int(q[good][i]), float(share[good][i])) for i in order]


def _numbered(texts: Iterable[str]) -> np.ndarray:
    """Number texts by their first occurrence; -1 for a blank one."""
    number: dict[str, int] = {"": -1}
    return np.array([number.setdefault(text, len(number)) for text in texts], dtype=np.int64)


def parts_of_forms(forms: Sequence[Form]) -> list[tuple[list[str], tuple[int, ...]]]:
    """Return (texts, lengths of the n-grams that are compared) of whole values, of their words, and of their text."""
    wholes = [form.whole.replace(" ", "\x01") for form in forms]
    return [(wholes, ()), ([form.words for form in forms], ()), ([form.text for form in forms], (3,))]


def joined_parts(parts: Sequence[csr_matrix]) -> csr_matrix:
    """Join the weighted rows of the parts of values, each by what it counts for, to rows of length 1."""
    return sparse_unit_rows(csr_matrix(hstack([share * part for share, part in zip(PART_WEIGHTS, parts, strict=True)])))


def value_triples(graph: Graph, values: dict[str, int]) -> ValueTriples:
    """Return the literals of a graph without its labels, and the names of the entities that its relations lead to."""
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
    return ValueTriples(
        np.r_[of.entity[kept].astype(np.int64), graph.triples[led, 0]],
        np.r_[predicate[kept], graph.triples[led, 1] + len(predicates)],
        np.r_[value[kept], tail[led]],
        [*predicates, *map(str, graph.relations)],
        len(predicates),
    )


def _by_language(of: Attributes) -> tuple[np.ndarray, list[str]]:
    """Return (int64 per row, names): its predicate, with a language (`comment@en`) where the predicate has several.

    `en-gb` is `en`; a value without a language has the predicate alone.
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
