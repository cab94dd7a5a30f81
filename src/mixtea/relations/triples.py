"""Triples of a graph by kind, with indices that both graphs share where they can be compared. No torch."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.graph.graph import Graph
from mixtea.graph.terms import TYPE
from mixtea.relations.join import weighted_pairs
from mixtea.text.names import entity_names
from mixtea.text.values import form_of

MAX_TRIPLES_PER_PAIR = (
    200  # statements between the same two ends, or classes of one entity, from which on a single one says nothing
)


class Triples(NamedTuple):
    """Distinct triples (near, kind, far). A kind is a relation, a predicate or a class, and may be an inverse.

    `names` and `inverse` are by kind: its id, and whether it is read from its far end.
    """

    near: np.ndarray
    kind: np.ndarray
    far: np.ndarray
    names: np.ndarray
    inverse: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, names: np.ndarray) -> Triples:
        """Make triples of rows [t, 3], without those between two ends with too many."""
        rows = np.unique(rows.astype(np.int64), axis=0)
        _, place, count = np.unique(rows[:, [0, 2]], axis=0, return_inverse=True, return_counts=True)
        near, kind, far = rows[count[place.reshape(-1)] <= MAX_TRIPLES_PER_PAIR].T
        return cls(near, kind, far, names, np.zeros(len(names), dtype=bool))

    def both_ways(self) -> Triples:
        """Append all triples from their far ends, as kinds of their own."""
        n = len(self.names)
        return Triples(
            np.r_[self.near, self.far], np.r_[self.kind, self.kind + n], np.r_[self.far, self.near],
            np.r_[self.names, self.names], np.r_[self.inverse, ~self.inverse],
        )  # fmt: skip


Comparison = tuple[
    Triples, Triples, ScoredPairs, ScoredPairs
]  # of both graphs, and which near and which far ends are the same


def compare_relations(source: Graph, target: Graph, pairs: ScoredPairs) -> Comparison:
    """Compare relation triples, those of the target both ways."""
    ours, theirs = (Triples.of(graph.triples, graph.relations) for graph in (source, target))
    return ours, theirs.both_ways(), pairs, pairs


def compare_attributes(source: Graph, target: Graph, pairs: ScoredPairs) -> Comparison:
    """Compare attribute triples with values that are equal by `normalized_value`, without empty ones."""
    return _compare_texts(_TextTriples.literals(source), _TextTriples.literals(target), pairs)


def compare_literals_to_entities(source: Graph, target: Graph, pairs: ScoredPairs) -> Comparison:
    """Compare attribute triples of the source with relation triples of the target to entities of that name."""
    return _compare_texts(_TextTriples.literals(source), _TextTriples.named_tails(target), pairs)


def compare_entities_to_literals(source: Graph, target: Graph, pairs: ScoredPairs) -> Comparison:
    """Compare relation triples of the source with attribute triples of the target."""
    return _compare_texts(_TextTriples.named_tails(source), _TextTriples.literals(target), pairs)


class _TextTriples(NamedTuple):
    """Triples (entity, kind) about a text: the index of each one's in `texts`, None for an empty one."""

    entity: np.ndarray
    kind: np.ndarray
    place: np.ndarray
    texts: list[str | None]
    names: np.ndarray

    @classmethod
    def literals(cls, graph: Graph) -> _TextTriples:
        of, words, (texts, place) = graph.attributes, graph.attributes.predicate.texts(), _normalized_values(graph)
        is_value = np.array([word not in TYPE for word in words], dtype=bool)[of.predicate.codes]
        names = np.array([*words, None], dtype=object)[:-1]
        return cls(of.entity[is_value], of.predicate.codes[is_value], place[is_value], texts, names)

    @classmethod
    def named_tails(cls, graph: Graph) -> _TextTriples:
        """Return each triple once for every name of its tail."""
        owner, column = entity_names(graph)
        order = np.argsort(owner, kind="stable")
        n = np.bincount(owner, minlength=graph.n_entities)
        repeated = np.repeat(np.arange(graph.n_triples), n[graph.triples[:, 2]])
        head, kind, tail = graph.triples[repeated].T
        step = np.arange(len(repeated)) - np.searchsorted(repeated, repeated)
        place = column.codes[order][(np.cumsum(n) - n)[tail] + step]
        return cls(head, kind, place, [normalized_value(text) or None for text in column.texts()], graph.relations)


def _compare_texts(ours: _TextTriples, theirs: _TextTriples, pairs: ScoredPairs) -> Comparison:
    codes, _ = pd.factorize(np.array([*ours.texts, *theirs.texts, None], dtype=object)[:-1])
    sides = []
    for said, start in ((ours, 0), (theirs, len(ours.texts))):
        rows = np.stack([said.entity, said.kind, codes[start + said.place]], axis=1)
        sides.append(Triples.of(rows[rows[:, 2] >= 0], said.names))
    same = np.intersect1d(sides[0].far, sides[1].far)
    return sides[0], sides[1], pairs, weighted_pairs(same, same, np.ones(len(same)))


def compare_classes(source: Graph, target: Graph, pairs: ScoredPairs) -> Comparison:
    """Compare (member, class), of members that are typed in both graphs; all of them have the same far end."""
    sides = []
    for graph in (source, target):
        typed = graph.triples[np.isin(graph.relations, list(TYPE))[graph.triples[:, 1]]]
        sides.append(Triples.of(np.stack([typed[:, 0], typed[:, 2], np.zeros(len(typed))], axis=1), graph.ids))
    both = np.isin(pairs.source, sides[0].near) & np.isin(pairs.target, sides[1].near)
    one = np.zeros(1, dtype=np.int64)
    return sides[0], sides[1], pairs.where(both), weighted_pairs(one, one, np.ones(1))


COMPARISON_KINDS = ("relation", "attribute", "class")
COMPARISONS: tuple[tuple[str, Callable[[Graph, Graph, ScoredPairs], Comparison]], ...] = (
    ("relation", compare_relations), ("attribute", compare_attributes), ("attribute", compare_literals_to_entities),
    ("attribute", compare_entities_to_literals), ("class", compare_classes),
)  # fmt: skip


def _normalized_values(graph: Graph) -> tuple[list[str | None], np.ndarray]:
    """Return the distinct literals of a graph, None for an empty one, and the index of each attribute triple's."""
    value, datatype = graph.attributes.value, graph.attributes.datatype
    keys, place = np.unique(value.codes.astype(np.int64) * datatype.n_texts + datatype.codes, return_inverse=True)
    texts, kinds = value.texts(), datatype.texts()
    literals = (divmod(key, len(kinds)) for key in keys.tolist())
    return [normalized_value(texts[text], kinds[kind]) or None for text, kind in literals], place.reshape(-1)


def normalized_value(text: str, datatype: str = "") -> str:
    """Return a value as the voter `attributes` compares it, or as it is where that finds nothing to compare.

    >>> [normalized_value(text) for text in (" 1.50 ", "1.5e0", "007", "New  YORK", "3.5.1990")]
    ['1.5', '1.5', '007', 'new york', '1990-05-03']
    """
    return form_of(text, datatype).whole or " ".join(unicodedata.normalize("NFKC", text).casefold().split())
