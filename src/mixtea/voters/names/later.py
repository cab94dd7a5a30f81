"""Names of entities that are added to a run later, compared with those of its target side. No torch.

Statistics of all names, such as the rarity of an n-gram, are those of the run: so a name has the weight that it would
have had there, and a lookup costs no more than the entities that are looked up.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from mixtea.compute.ngrams import NgramSpace, RowIndex, row_products
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.graph.graph import Graph
from mixtea.graph.task import Task
from mixtea.text.names import entity_names
from mixtea.voters.learned_text import LearnedView
from mixtea.voters.names.disambiguation import shared_types
from mixtea.voters.names.features import WordComparison
from mixtea.voters.names.index import NameIndex, side_names
from mixtea.voters.names.opinions import NameOpinions
from mixtea.voters.similarity import CANDIDATES_PER_ENTITY


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
        self.graphs, self.synonyms = (entities, names.graphs[1]), names.synonyms
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
    def likeness(self) -> ScoredPairs:
        """Return for each new entity the targets with the most similar names."""
        first, second = self.rows
        a, b = self.known.targets.most_alike(first, CANDIDATES_PER_ENTITY)
        return self.of_texts(a, b, row_products(first, second, a, b))

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
