"""A knowledge graph as arrays: ids once, triples as numbers of them, texts in columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial

import numpy as np
import pandas as pd

from mixtea.graph import prefixes as prefixing
from mixtea.graph.builder import FileRead
from mixtea.graph.entity_table import Attributes
from mixtea.graph.labels import NO_LABEL, Labels, label_rank
from mixtea.graph.terms import ENTITY_KINDS, INDIVIDUAL
from mixtea.messages import visible

SIDES = ("source", "target")  # of a task of two graphs
MAX_NAMES_CACHED = 1 << 16  # of entities and of IRIs for display


@dataclass(frozen=True, eq=False)
class Graph:
    """One side of a task.

    `ids` and `relations` are arrays of str, `triples` is int64 [t, 3] (head, relation, tail) in the order of the files.
    `attributes` are the triples whose object is a literal, `labels` all names of the entities. A graph is a set:
    repeated statements count once. `prefixes` shorten IRIs for display. `left_out` are the ids of entities that the
    user excluded, and `obsolete` those of them that the files mark so. `vectors` are the user's own, float32
    [n_entities, d], NaN for an entity without one; [0, 0] if none were given. `iri` is that of the ontology, if the
    file declares one. `kinds` (uint8 [n_entities], or empty) are numbers of terms.ENTITY_KINDS. `name_predicates` are
    those whose values are labels, where these differ from labels.LABEL_RANKS. `kept_apart` are the tables whose rows
    share ids with rows of other tables: their name precedes the id, as in `films/12`.
    """

    ids: np.ndarray
    relations: np.ndarray
    triples: np.ndarray
    attributes: Attributes = field(default_factory=Attributes.empty, repr=False)
    labels: Labels = field(default_factory=Labels.empty, repr=False)
    prefixes: dict[str, str] = field(default_factory=dict, repr=False)
    files: tuple[FileRead, ...] = ()
    left_out: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=object), repr=False)
    vectors: np.ndarray = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32), repr=False)
    iri: str = ""
    kinds: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.uint8), repr=False)
    obsolete: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=object), repr=False)
    name_predicates: tuple[str, ...] = ()
    kept_apart: tuple[str, ...] = ()

    @property
    def n_entities(self) -> int:
        return len(self.ids)

    @property
    def n_relations(self) -> int:
        return len(self.relations)

    @property
    def n_triples(self) -> int:
        return len(self.triples)

    @property
    def n_attribute_triples(self) -> int:
        return len(self.attributes)

    def kind_counts(self) -> dict[str, int]:
        """Count classes, properties and individuals; empty where the files do not distinguish them."""
        counts = np.bincount(self.kinds, minlength=len(ENTITY_KINDS)).tolist()
        found = {kind: n for kind, n in zip(ENTITY_KINDS, counts, strict=True) if n}
        return found if found.keys() - {ENTITY_KINDS[INDIVIDUAL]} else {}

    @cached_property
    def degrees(self) -> np.ndarray:
        """Return [n_entities]: the number of relation triples of each entity."""
        return np.bincount(self.triples[:, [0, 2]].ravel(), minlength=self.n_entities)

    def triples_of(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Return [k, 3] and [l, 3]: the triples with an entity as head, and those with it as tail."""
        order, starts = self._by_end
        rows = order[starts[index] : starts[index + 1]]
        return self.triples[rows[rows < self.n_triples]], self.triples[rows[rows >= self.n_triples] - self.n_triples]

    @cached_property
    def _by_end(self) -> tuple[np.ndarray, np.ndarray]:
        """Sort the heads and tails by entity; return the order, and the start of each entity."""
        ends = np.concatenate([self.triples[:, 0], self.triples[:, 2]])
        starts = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=self.n_entities))])
        return np.argsort(ends, kind="stable"), starts

    def isolated(self) -> np.ndarray:
        """Return bool [n]: the entities without a relation triple."""
        return self.degrees == 0

    def subgraph(self, kept: np.ndarray) -> Graph:
        """Return the graph of some entities, with the triples between them and what is said of them.

        Parameters
        ----------
        kept
            bool [n_entities], or the entities by index. They keep their order, and all relations their numbers.

        Returns
        -------
        Graph
            A graph whose i-th entity is the i-th of those that are kept.

        Examples
        --------
        >>> from mixtea import load_graph
        >>> graph = load_graph([("a", "r", "b"), ("b", "r", "c")])
        >>> part = graph.subgraph(graph.ids != "c")
        >>> part.ids.tolist(), part.triples.tolist()
        (['a', 'b'], [[0, 0, 1]])
        """
        stays = np.zeros(self.n_entities, dtype=bool)
        stays[kept] = True
        if stays.all():
            return self
        place = np.cumsum(stays) - 1
        triples = self.triples[stays[self.triples[:, 0]] & stays[self.triples[:, 2]]]
        inside = np.stack([place[triples[:, 0]], triples[:, 1], place[triples[:, 2]]], axis=1)
        return replace(
            self, ids=self.ids[stays], triples=inside.astype(np.int64), attributes=self.attributes.subset(stays),
            labels=self.labels.subset(stays), vectors=self.vectors[stays] if self.vectors.size else self.vectors,
            kinds=self.kinds[stays] if len(self.kinds) else self.kinds,
        )  # fmt: skip

    def has_vector(self) -> np.ndarray:
        """Return bool [n]: the entities with a vector of the user."""
        return ~np.isnan(self.vectors[:, 0]) if self.vectors.size else np.zeros(self.n_entities, dtype=bool)

    def find(self, ids: np.ndarray) -> np.ndarray:
        """Return the index of each id among the entities, -1 where it is missing."""
        known = pd.Index(self.ids, dtype=object)  # else all ids would be copied into a table of Arrow
        return known.get_indexer(pd.Index(ids, dtype=object)).astype(np.int64)

    def attributes_of(self, index: int) -> list[tuple[str, str, str, str]]:
        """Return (predicate, value, language, datatype) of each attribute triple of an entity."""
        of = self.attributes
        return [(of.predicate[i], of.value[i], of.language[i], of.datatype[i]) for i in of.rows_of(index)]

    def is_name(self, predicate: str) -> bool:
        """Return whether the values of an attribute predicate are labels."""
        return predicate in self.name_predicates if self.name_predicates else label_rank(predicate) != NO_LABEL

    def labels_of(self, index: int) -> list[tuple[str, str]]:
        """Return (text, language) of all labels of an entity, the preferred one first; the language may be ""."""
        return [(self.labels.text[row], self.labels.language[row]) for row in self.labels.rows_of(index)]

    def label(self, index: int) -> str | None:
        """Return the preferred label; None if the entity has none."""
        rows = self.labels.rows_of(index)
        return self.labels.text[rows[0]] if rows else None

    @cached_property
    def display(self) -> Callable[[int], str]:
        """Return the label of an entity by its index, else its IRI with a prefix, else its id; each is found once."""
        return lru_cache(MAX_NAMES_CACHED)(lambda index: self.label(index) or self.shorten(str(self.ids[index])))

    @cached_property
    def shorten(self) -> Callable[[str], str]:
        """Return an IRI with a prefix, if one fits; each is found once."""
        return lru_cache(MAX_NAMES_CACHED)(partial(prefixing.shorten, prefixes=self.prefixes))


MAX_ADDRESS_LENGTH = 2000
_LINK = re.compile(r"https?://[^\s/?#<>\"{}|\\^`@]+([/?#][^\s<>\"{}|\\^`]*)?", re.IGNORECASE)


@dataclass(frozen=True)
class DisplayName:
    """An entity for display: a text, and an address if its id is one on the web."""

    text: str
    address: str = ""


def display_name(graph: Graph, index: int) -> DisplayName:
    """Return an entity for display; only http and https ids are addresses."""
    label = str(graph.ids[index])
    is_address = len(label) <= MAX_ADDRESS_LENGTH and _LINK.fullmatch(label) and visible(label) == label
    return DisplayName(graph.display(index), label if is_address else "")
