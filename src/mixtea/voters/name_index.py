"""The most similar names of both graphs, and the pairs of entities that equal names settle. No torch."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_matrix

from mixtea.compute.ngrams import ngram_counts, tfidf
from mixtea.compute.scored_pairs import ScoredPairs, are_in, distinct
from mixtea.compute.similar_rows import SimilarRows, similar_rows
from mixtea.graph.graph import Graph
from mixtea.graph.synonym_groups import Groups
from mixtea.graph.task import Task
from mixtea.text.names import entity_names, is_vocabulary_term, normalized_names, transliterated
from mixtea.text.phrases import Synonyms, acronyms
from mixtea.voters.candidate_pairs import Feature
from mixtea.voters.disambiguation import DIFFERENT, same_kind, shared_types, words_in_brackets
from mixtea.voters.similarity import CANDIDATES_PER_ENTITY, NO_PAIRS, best_of, similar_pairs, uncontradicted
from mixtea.voters.word_comparison import WORD_FEATURES, WordComparison

MAX_OWNERS = 50  # entities of a side with one name, from which on it tells nothing
SIMILARITY_WEIGHT = 20.0  # typical log-odds of a match per unit of similarity of names
DETAILS = (  # of a pair of names
    Feature("similarity", SIMILARITY_WEIGHT, 6.0), *WORD_FEATURES,
    Feature("synonym", -0.5, 1.0),  # a word of one of both was replaced by another of its group, or an acronym
    Feature("further_name", -0.7, 0.7),  # for one of both it is not the first name, but a synonym
)  # fmt: skip
_OF_TEXTS = DETAILS[:-1]  # those that depend on the two texts alone
TEXT_WEIGHTS = np.array([feature.weight for feature in _OF_TEXTS], dtype=np.float32)
MAX_ENTITY_PAIRS = 10_000_000  # of entities, from which on the less alike of names with many owners are not looked at


class SideNames(NamedTuple):
    """The names of a graph in comparison form: entity `entity` [r] has `texts[name]` [r].

    `raw` are the texts as written, case-folded, `first` [n] the first name of each entity, -1 for none.
    """

    entity: np.ndarray
    name: np.ndarray
    texts: list[str]
    raw: list[str]
    first: np.ndarray

    @property
    def has(self) -> np.ndarray:
        """Return bool [n]: the entities with a name."""
        return self.first >= 0

    def owners(self, forms: np.ndarray, n_forms: int) -> csr_matrix:
        """Build [texts + n_forms, entities]: 1 where the entity has the text, or one of the form."""
        rows, n = np.r_[self.name, len(self.texts) + forms[self.name]], max(len(self.has), 1)
        key = distinct(rows * n + np.r_[self.entity, self.entity])
        shape = (len(self.texts) + n_forms, len(self.has))
        return csr_matrix((np.ones(len(key), dtype=np.int8), (key // n, key % n)), shape=shape)


def side_names(graph: Graph) -> SideNames:
    """Return all names of all entities in Latin letters, with those as written."""
    entity, column = entity_names(graph)
    texts = column.texts()
    raws = normalized_names(texts)
    latin = [transliterated(raw) or raw for raw in raws]
    number: dict[str, int] = {}
    first: dict[int, str] = {}
    code = np.empty(len(texts), dtype=np.int64)
    for place, (text, raw) in enumerate(zip(latin, raws, strict=True)):
        code[place] = number.setdefault(text, len(number)) if text else -1
        first.setdefault(int(code[place]), raw)
    name = code[column.codes]
    words = np.array([is_vocabulary_term(str(id)) for id in graph.ids], dtype=bool)
    kept = (name >= 0) & ~words[entity]
    pairs = np.unique(np.stack([entity[kept].astype(np.int64), name[kept]], axis=1), axis=0)
    shown = np.full(graph.n_entities, -1, dtype=np.int64)
    shown[entity[kept][::-1]] = name[kept][::-1]
    return SideNames(
        pairs[:, 0], pairs[:, 1], list(number), [first[i] for i in range(len(number))],
        shown,
    )  # fmt: skip


_SIDES: WeakKeyDictionary[Graph, SideNames] = WeakKeyDictionary()


class NameIndex:
    """Entities of two graphs with similar names: the cosine of TF-IDF rows, the best over an entity's names.

    Names are compared with all members of a group of `synonyms` replaced by one of them, and acronyms by their words.
    """

    links: np.ndarray = NO_PAIRS
    rejected: np.ndarray = NO_PAIRS

    def __init__(self, source: Graph, target: Graph, synonyms: Groups = (), device: str = "cpu") -> None:
        self.graphs, self.device = (source, target), device
        for graph in self.graphs:
            if graph not in _SIDES:  # of a graph many ask, each with an index of its own
                _SIDES[graph] = side_names(graph)
        self.sides = (_SIDES[source], _SIDES[target])
        groups = (*synonyms, *acronyms(*(side.texts for side in self.sides)))
        self.synonyms = Synonyms(groups) if groups else None
        self.shape = (source.n_entities, target.n_entities)

    @classmethod
    def of_task(cls, task: Task, device: str = "cpu") -> Self:
        """Make the index of a task, whose links and rejected pairs may contradict what equal names settle."""
        found = cls(task.source, task.target, task.synonyms, device)
        found.links, found.rejected = task.train, task.rejected
        return found

    @cached_property
    def rows(self) -> tuple[csr_matrix, csr_matrix]:
        """Return a row per text of each side."""
        first, second = tfidf(*ngram_counts(*self.canonical))
        return first, second

    @cached_property
    def canonical(self) -> tuple[list[str], list[str]]:
        """Return the texts of each side with one word per group of synonyms."""
        ours, theirs = (
            side.texts if self.synonyms is None else [self.synonyms.canonical(text) for text in side.texts]
            for side in self.sides
        )
        return ours, theirs

    @cached_property
    def has_synonym(self) -> tuple[np.ndarray, np.ndarray]:
        """Mark the texts of each side, bool [texts], in which a synonym was replaced."""
        ours, theirs = (
            np.array([text != canonical for text, canonical in zip(side.texts, texts, strict=True)], dtype=bool)
            for side, texts in zip(self.sides, self.canonical, strict=True)
        )
        return ours, theirs

    @cached_property
    def likeness(self) -> ScoredPairs:
        """Return the pairs of entities with the most similar names."""
        return self.of_texts(*self.similar)

    @cached_property
    def similar(self) -> SimilarRows:
        """Return the most similar texts, as those look for them that are not settled."""
        return similar_rows(*self.rows, CANDIDATES_PER_ENTITY, looking=self.looking, device=self.device)

    @cached_property
    def looking(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the texts of each side that an entity has that is not settled."""
        ours, theirs = (
            distinct(side.name[~settled[side.entity]]) for side, settled in zip(self.sides, self.settled, strict=True)
        )
        return ours, theirs

    @cached_property
    def settled(self) -> tuple[np.ndarray, np.ndarray]:
        """Mark the entities of each side, bool [n], that are settled by `settled_pairs`."""
        return are_in(self.settled_pairs[:, 0], self.shape[0]), are_in(self.settled_pairs[:, 1], self.shape[1])

    @cached_property
    def settled_pairs(self) -> np.ndarray:
        """Return the pairs [p, 2] that equal names single out, unless there are few or links contradict them.

        Such entities look for no other names: those that are not settled find them nevertheless.
        """
        pairs = self.equal_pairs_alone
        kept = np.ones(len(pairs), dtype=bool)
        for kinds in self.kinds.values():
            kept &= same_kind(*kinds, *pairs.T) != DIFFERENT
        return uncontradicted(pairs[kept], self.links, self.rejected, self.shape)

    @cached_property
    def equal_pairs_alone(self) -> np.ndarray:
        """Return the pairs [p, 2] whose names both sides have, and nobody but the two."""
        n_owners, n_texts = self.n_owners, [len(side.texts) for side in self.sides]
        shared, most = np.minimum(*n_owners) > 0, np.maximum(*n_owners)
        form = np.flatnonzero(shared & (most == 1))
        ends = [of.indices[of.indptr[form + n]] for of, n in zip(self.owners, n_texts, strict=True)]
        pairs = np.unique(np.stack(ends, axis=1).astype(np.int64), axis=0)
        alone = np.ones(len(pairs), dtype=bool)
        for side, forms, line, n in zip(self.sides, self.forms, pairs.T, self.shape, strict=True):
            elsewhere = are_in(side.entity[(shared & (most > 1))[forms[side.name]]], n)
            alone &= ~elsewhere[line] & (np.bincount(line, minlength=n)[line] == 1)
        return pairs[alone]

    @cached_property
    def kinds(self) -> dict[str, tuple[csr_matrix, csr_matrix]]:
        """Return the kinds that distinguish entities of similar names, a row per entity of each side."""
        return {
            "brackets": words_in_brackets(*self.graphs),
            "types": shared_types(*self.graphs),
        }

    @cached_property
    def uses_brackets(self) -> bool:
        """Return whether both graphs have names with words in brackets."""
        return all(rows.nnz for rows in self.kinds["brackets"])

    @cached_property
    def equal(self) -> np.ndarray:
        """Return the index of each text of the source among those of the target, -1 for others."""
        places = {text: place for place, text in enumerate(self.sides[1].texts)}
        return np.array([places.get(text, -1) for text in self.sides[0].texts], dtype=np.int64)

    @cached_property
    def forms(self) -> tuple[np.ndarray, np.ndarray]:
        """Number the texts of each side without their spaces: `wave number` and `wavenumber` have the same form."""
        number: dict[str, int] = {}
        ours, theirs = (
            np.array([number.setdefault(text.replace(" ", ""), len(number)) for text in side.texts], dtype=np.int64)
            for side in self.sides
        )
        return ours, theirs

    @cached_property
    def owners(self) -> tuple[csr_matrix, csr_matrix]:
        """Build [texts + forms, entities] per side: 1 where the entity has the text, or one of the form."""
        n_forms = 1 + max(int(forms.max(initial=-1)) for forms in self.forms)
        ours, theirs = (side.owners(forms, n_forms) for side, forms in zip(self.sides, self.forms, strict=True))
        return ours, theirs

    @cached_property
    def n_owners(self) -> tuple[np.ndarray, np.ndarray]:
        """Count the entities per form and side."""
        ours, theirs = (
            np.diff(owners.indptr)[len(side.texts) :] for owners, side in zip(self.owners, self.sides, strict=True)
        )
        return ours, theirs

    @cached_property
    def same(self) -> tuple[np.ndarray, np.ndarray]:
        """Find the equal rows of `owners` of both sides: forms, or texts where too many entities have their form.

        One pair per form, however many texts have it: n spacings of a word are n * n pairs of texts.
        """
        shared, many = np.minimum(*self.n_owners) > 0, np.maximum(*self.n_owners) > MAX_OWNERS
        form, text = np.flatnonzero(shared & ~many), np.flatnonzero(self.equal >= 0)
        text = text[many[self.forms[0][text]]]
        ours, theirs = (form + len(side.texts) for side in self.sides)
        return np.r_[text, ours], np.r_[self.equal[text], theirs]

    @cached_property
    def crowded(self) -> tuple[np.ndarray, np.ndarray]:
        """Mark the entities of each side, bool [n], with a form of both sides that too many of one have."""
        many = (np.minimum(*self.n_owners) > 0) & (np.maximum(*self.n_owners) > MAX_OWNERS)
        found = [
            np.isin(np.arange(len(side.has)), side.entity[many[forms[side.name]]])
            for side, forms in zip(self.sides, self.forms, strict=True)
        ]
        return found[0], found[1]

    @cached_property
    def compare_words(self) -> WordComparison:
        return WordComparison(*self.canonical)

    def of_texts(self, a: np.ndarray, b: np.ndarray, value: np.ndarray, words: np.ndarray | None = None) -> ScoredPairs:
        """Turn pairs of texts with similarities into pairs of entities; equal texts are all included.

        The value of a pair is lowered by differing words and numbers; `details` are DETAILS. `words` is what
        `compare_words` tells of the pairs, computed here if it is not given.
        """
        other, (c, d) = self.equal[a] != b, self.same
        a, b, value = a[other], b[other], np.clip(value[other], 0.0, 0.999)
        words = self.compare_words(a, b) if words is None else words[other]
        by_synonym = self.has_synonym[0][a] | self.has_synonym[1][b]
        details = np.column_stack([value, words, by_synonym]).astype(value.dtype)
        lowered = np.clip(details @ TEXT_WEIGHTS / SIMILARITY_WEIGHT, 0.0, 0.999)
        equal = np.zeros((len(c), details.shape[1]), dtype=details.dtype)
        equal[:, 0] = 1.0
        return self._of_entities(
            np.r_[a, c], np.r_[b, d], np.r_[lowered, np.ones(len(c), dtype=value.dtype)], np.r_[details, equal]
        )

    def _of_entities(self, a: np.ndarray, b: np.ndarray, value: np.ndarray, details: np.ndarray) -> ScoredPairs:
        """Turn pairs of rows of `owners` into pairs of entities, each with the greatest value of its names."""
        ours, theirs = self.owners
        n_ours, n_theirs = np.diff(ours.indptr)[a], np.diff(theirs.indptr)[b]
        few = (n_ours <= MAX_OWNERS) & (n_theirs <= MAX_OWNERS)
        parts = [part[few] for part in (a, b, value, details, n_ours, n_theirs)]
        if (parts[4] * parts[5]).sum() > MAX_ENTITY_PAIRS:
            a, b, value, _, n_ours, n_theirs = parts
            near = (
                (value >= 1)
                | (_owners_ahead(a, value, n_theirs) < CANDIDATES_PER_ENTITY)
                | (_owners_ahead(b, value, n_ours) < CANDIDATES_PER_ENTITY)
            )
            parts = [part[near] for part in parts]
        a, b, value, details, n_ours, n_theirs = parts
        size = n_ours * n_theirs
        place = np.repeat(np.arange(len(a)), size)
        step = np.arange(len(place)) - np.repeat(np.cumsum(size) - size, size)
        source = ours.indices[ours.indptr[a[place]] + step // np.maximum(n_theirs[place], 1)]
        target = theirs.indices[theirs.indptr[b[place]] + step % np.maximum(n_theirs[place], 1)]
        source, target = source.astype(np.int64), target.astype(np.int64)
        first = self._is_first(0, source, a[place]) & self._is_first(1, target, b[place])
        details = np.column_stack([details[place], ~first]).astype(details.dtype)
        order = np.argsort(~first, kind="stable")  # of several names that are equally alike the first ones count
        return best_of(similar_pairs(source, target, value[place], self.shape, details=details).where(order))

    def _is_first(self, side: int, entity: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Return per row of `owners` whether it is the first name of the entity, or the form of that."""
        of, forms = self.sides[side], self.forms[side]
        name = of.first[entity]
        return (row == name) | (row == len(of.texts) + forms[name])


def _owners_ahead(line: np.ndarray, value: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Count per pair of texts the entities with a text more similar to the one in `line`; its own are n."""
    order = np.lexsort((-value, line))
    before = np.cumsum(n[order]) - n[order]
    begins = np.flatnonzero(np.diff(line[order], prepend=-1))
    found = np.empty(len(line), dtype=np.int64)
    found[order] = before - np.repeat(before[begins], np.diff(np.append(begins, len(line))))
    return found
