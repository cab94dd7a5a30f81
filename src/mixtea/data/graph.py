"""A knowledge graph as arrays: labels once, triples as indices into them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from mixtea.data import prefixes as prefixing
from mixtea.data.part import FileRead


@dataclass(frozen=True, eq=False)
class Graph:
    """One side of a task.

    `entities` and `relations` are arrays of str, `triples` is int64 [t, 3] (head, relation, tail) as in the file,
    repetitions included. `names` gives some entities a readable name and `prefixes` shorten IRIs, both for display;
    they never reach the learning. `left_out` are the labels of entities that the user did not want.
    """

    ids: np.ndarray
    relations: np.ndarray
    triples: np.ndarray
    n_attribute_triples: int = 0
    names: dict[str, str] = field(default_factory=dict, repr=False)
    prefixes: dict[str, str] = field(default_factory=dict, repr=False)
    files: tuple[FileRead, ...] = ()
    left_out: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=object), repr=False)

    @property
    def n_entities(self) -> int:
        return len(self.ids)

    @property
    def n_relations(self) -> int:
        return len(self.relations)

    @property
    def n_triples(self) -> int:
        return len(self.triples)

    def triple_counts(self) -> np.ndarray:
        """[n_entities]: the relation triples that each entity is an end of."""
        return np.bincount(self.triples[:, [0, 2]].ravel(), minlength=self.n_entities)

    def isolated(self) -> np.ndarray:
        """bool [n]: the entities without a relation triple; structure says nothing about them."""
        alone = np.ones(self.n_entities, dtype=bool)
        alone[self.triples[:, [0, 2]].ravel()] = False
        return alone

    def find(self, labels: np.ndarray) -> np.ndarray:
        """The index of each label among the entities, -1 where it is unknown."""
        entities = pd.Index(self.ids, dtype=object)  # else all labels would be copied into a table of Arrow
        return entities.get_indexer(pd.Index(labels, dtype=object)).astype(np.int64)

    def display(self, index: int) -> str:
        """The entity for a person: its name, else its IRI with a prefix, else its label."""
        label = str(self.ids[index])
        return self.names.get(label) or self.shorten(label)

    def shorten(self, label: str) -> str:
        return prefixing.shorten(label, self.prefixes)
