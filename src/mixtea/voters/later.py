"""Names and values of entities that are added to a run later, compared with those of its target side. No torch.

Statistics of all names, such as the rarity of an n-gram, are those of the run: so a name has the weight that it would
have had there, and a lookup costs no more than the entities that are looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix, vstack

from mixtea.compute.ngrams import NgramSpace
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.compute.similar_rows import RowIndex, SimilarRows
from mixtea.graph.graph import Graph
from mixtea.graph.task import Task
from mixtea.text.names import entity_names
from mixtea.text.values import Form, form_of
from mixtea.voters.attribute_values import TaskValues, joined_parts, parts_of_forms, value_triples
from mixtea.voters.attributes import AlignedPredicates, AttributeOpinions
from mixtea.voters.disambiguation import shared_types
from mixtea.voters.learned import LearnedView
from mixtea.voters.name_index import NameIndex, side_names
from mixtea.voters.names import NameOpinions
from mixtea.voters.similarity import CANDIDATES_PER_ENTITY, NO_PAIRS, SimilarityOpinions, best_values
from mixtea.voters.word_comparison import WordComparison

NO_PREDICATE = -1  # of new entities of whom no value is known by it


class NameLookup:
    """The names of a run, to look up others among those of its targets."""

    def __init__(self, task: Task, view: LearnedView) -> None:
        self.names = NameIndex(task.source, task.target, task.synonyms)
        self.space = NgramSpace(*self.names.canonical)
        self.targets = RowIndex(self.space.rows.pop())
        self.words = WordComparison(*self.names.canonical).word_counts()

    def opinions(self, task: Task) -> NameOpinions:
        """Return opinions on the pairs of a task with new source entities and the run's targets."""
        return NameOpinions(task, NewNames(task.source, self))


class NewNames(NameIndex):
    """The names of new entities beside those of the targets of a run."""

    def __init__(self, entities: Graph, known: NameLookup) -> None:
        self.known, names = known, known.names
        self.graphs, self.synonyms, self.device = (entities, names.graphs[1]), names.synonyms, names.device
        self.sides = (side_names(entities), names.sides[1])
        self.shape = (entities.n_entities, names.shape[1])

    @cached_property
    def canonical(self) -> tuple[list[str], list[str]]:
        texts = self.sides[0].texts
        ours = texts if self.synonyms is None else [self.synonyms.canonical(text) for text in texts]
        return ours, self.known.names.canonical[1]

    @cached_property
    def rows(self) -> tuple[csr_matrix, csr_matrix]:
        return self.known.space.rows_of(self.canonical[0]), self.known.targets.rows

    @cached_property
    def settled_pairs(self) -> np.ndarray:
        """Return no pairs: new entities are few, and a target may have a source already."""
        return NO_PAIRS

    @cached_property
    def similar(self) -> SimilarRows:
        """Return for each new entity the targets with the most similar names."""
        return self.known.targets.most_alike(self.rows[0], CANDIDATES_PER_ENTITY)

    @cached_property
    def kinds(self) -> dict[str, tuple[csr_matrix, csr_matrix]]:
        """Return the kinds of entities; without brackets in new names, those of the targets are not read again."""
        if any("(" in text or "[" in text for text in entity_names(self.graphs[0])[1].texts()):
            return super().kinds
        theirs = self.known.names.kinds["brackets"][1]
        none = csr_matrix((self.shape[0], theirs.shape[1]), dtype=theirs.dtype)
        return {"brackets": (none, theirs), "types": shared_types(*self.graphs)}

    @property
    def uses_brackets(self) -> bool:
        """Return whether both graphs of the run have names with words in brackets."""
        return self.known.names.uses_brackets

    def compare_words(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:  # type: ignore[override]
        """Compare the words of pairs of texts, rare by the names of the run."""
        used, place = np.unique(b, return_inverse=True)
        theirs = [self.canonical[1][text] for text in used.tolist()]
        return WordComparison(self.canonical[0], theirs, self.known.words)(a, place)


class ValueLookup:
    """The values of a run, to look up others among those of its targets by the predicates that training compared."""

    def __init__(self, task: Task, view: LearnedView) -> None:
        self.known = AttributeOpinions(task)
        values = self.known.values
        self.number = {text: place for place, text in enumerate(values.texts)}
        self.spaces = [NgramSpace(texts, lengths=lengths) for texts, lengths in parts_of_forms(values.forms)]
        values.rows = joined_parts([space.rows[0] for space in self.spaces])
        self.rarity = dict(zip((form.whole for form in values.forms), values.rarity.tolist(), strict=True))
        ours, theirs = (_places(of.names) for of in self.known.sides)
        self.compared = [pair for pair in view.compared if pair.source in ours and pair.target in theirs]
        self.aligned = [AlignedPredicates((NO_PREDICATE, theirs[pair.target]), pair.weight) for pair in self.compared]
        self.targets = RowIndex(self.known.side_rows(1, self.aligned)) if self.compared else None

    def opinions(self, task: Task) -> AttributeOpinions | None:
        """Return opinions on the pairs of a task with new source entities and the run's targets.

        None where the run has none of the predicates that were compared.
        """
        return None if self.targets is None else NewValues(task, self, self.targets)

    def rows_of(self, forms: Sequence[Form]) -> csr_matrix:
        """Compute the row of each value as if it were one of the run's."""
        parts = parts_of_forms(forms)
        return joined_parts([space.rows_of(texts) for space, (texts, _) in zip(self.spaces, parts, strict=True)])


class LaterValues(TaskValues):
    """The values of new entities, numbered after those of the run, and those of its targets."""

    def __init__(self, task: Task, lookup: ValueLookup) -> None:
        known = dict(lookup.number)
        self.lookup = lookup
        self.sides = (value_triples(task.source, known), lookup.known.sides[1])
        self.texts = list(known)

    @cached_property
    def new_forms(self) -> list[Form]:
        """Return the forms of the values that the run does not have."""
        return [form_of(*self.literal(value)) for value in range(len(self.lookup.number), len(self.texts))]

    @cached_property
    def rows(self) -> csr_matrix:
        known = self.lookup.known.values.rows
        return csr_matrix(vstack([known, self.lookup.rows_of(self.new_forms)])) if self.new_forms else known

    @cached_property
    def rarity(self) -> np.ndarray:
        new = [self.lookup.rarity.get(form.whole, 1.0) for form in self.new_forms]
        return np.concatenate([self.lookup.known.values.rarity, new])


class NewValues(AttributeOpinions):
    """Log-odds of pairs of new entities and targets of a run by their values."""

    def __init__(self, task: Task, lookup: ValueLookup, targets: RowIndex) -> None:
        SimilarityOpinions.__init__(self, task)
        self.targets, self.values = targets, LaterValues(task, lookup)
        self.sides = self.values.sides
        places = _places(self.sides[0].names)
        self.aligned = [
            AlignedPredicates((places.get(pair.source, NO_PREDICATE), of.ends[1]), of.weight)
            for pair, of in zip(lookup.compared, lookup.aligned, strict=True)
        ]

    @cached_property
    def settled_pairs(self) -> np.ndarray:
        """Return no pairs, as for names."""
        return NO_PAIRS

    def initial_pairs(self) -> ScoredPairs:
        rows = self.side_rows(0, self.aligned), self.targets.rows
        return best_values(*self.targets.most_alike(rows[0], CANDIDATES_PER_ENTITY), self.shape)


def _places(names: Sequence[str]) -> dict[str, int]:
    """Return the first index of each name."""
    return {name: place for place, name in reversed([*enumerate(names)])}
