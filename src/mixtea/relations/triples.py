"""What a graph states, by kind, as numbers that both graphs share where they can be compared. No torch."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from mixtea.graph.graph import Graph
from mixtea.graph.terms import TYPE
from mixtea.relations.join import Pairs
from mixtea.text.names import entity_names
from mixtea.text.values import form_of

MANY = 200  # statements between the same two ends, or classes of one entity, from which on a single one says nothing


class Statements(NamedTuple):
    """(near, kind, far), each once. A kind is a relation, a predicate or a class, and may be the inverse of one.

    `names` and `inverse` are by kind: its id, and whether it is read from its far end.
    """

    near: np.ndarray
    kind: np.ndarray
    far: np.ndarray
    names: np.ndarray
    inverse: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, names: np.ndarray) -> Statements:
        """Rows [t, 3], without those between two ends of which too much is said."""
        rows = np.unique(rows.astype(np.int64), axis=0)
        _, place, count = np.unique(rows[:, [0, 2]], axis=0, return_inverse=True, return_counts=True)
        near, kind, far = rows[count[place.reshape(-1)] <= MANY].T
        return cls(near, kind, far, names, np.zeros(len(names), dtype=bool))

    def both_ways(self) -> Statements:
        """The same, and after them all again from their far ends, as kinds of their own."""
        n = len(self.names)
        return Statements(
            np.r_[self.near, self.far], np.r_[self.kind, self.kind + n], np.r_[self.far, self.near],
            np.r_[self.names, self.names], np.r_[self.inverse, ~self.inverse],
        )  # fmt: skip


Compared = tuple[Statements, Statements, Pairs, Pairs]  # of both graphs, and which near and which far ends are the same


def relations(source: Graph, target: Graph, pairs: Pairs) -> Compared:
    """Relation triples, those of the target both ways."""
    ours, theirs = (Statements.of(graph.triples, graph.relations) for graph in (source, target))
    return ours, theirs.both_ways(), pairs, pairs


def attributes(source: Graph, target: Graph, pairs: Pairs) -> Compared:
    """Attribute triples, but for empty values; `normalised` says which values are the same."""
    return _by_texts(_Said.literals(source), _Said.literals(target), pairs)


def literals_and_entities(source: Graph, target: Graph, pairs: Pairs) -> Compared:
    """Attribute triples of the source, relation triples of the target: a value there may be an entity's name here."""
    return _by_texts(_Said.literals(source), _Said.named_tails(target), pairs)


def entities_and_literals(source: Graph, target: Graph, pairs: Pairs) -> Compared:
    """The same with the relation triples of the source."""
    return _by_texts(_Said.named_tails(source), _Said.literals(target), pairs)


class _Said(NamedTuple):
    """Statements (entity, kind) about a text: the place of each one's in `texts`, None for an empty one."""

    entity: np.ndarray
    kind: np.ndarray
    place: np.ndarray
    texts: list[str | None]
    names: np.ndarray

    @classmethod
    def literals(cls, graph: Graph) -> _Said:
        of, words, (texts, place) = graph.attributes, graph.attributes.predicate.texts(), _normalised_values(graph)
        is_value = np.array([word not in TYPE for word in words], dtype=bool)[of.predicate.codes]
        names = np.array([*words, None], dtype=object)[:-1]
        return cls(of.entity[is_value], of.predicate.codes[is_value], place[is_value], texts, names)

    @classmethod
    def named_tails(cls, graph: Graph) -> _Said:
        """Each triple once for every name of its tail."""
        owner, column = entity_names(graph)
        order = np.argsort(owner, kind="stable")
        n = np.bincount(owner, minlength=graph.n_entities)
        repeated = np.repeat(np.arange(graph.n_triples), n[graph.triples[:, 2]])
        head, kind, tail = graph.triples[repeated].T
        step = np.arange(len(repeated)) - np.searchsorted(repeated, repeated)
        place = column.codes[order][(np.cumsum(n) - n)[tail] + step]
        return cls(head, kind, place, [normalised(text) or None for text in column.texts()], graph.relations)


def _by_texts(ours: _Said, theirs: _Said, pairs: Pairs) -> Compared:
    codes, _ = pd.factorize(np.array([*ours.texts, *theirs.texts, None], dtype=object)[:-1])
    sides = []
    for said, start in ((ours, 0), (theirs, len(ours.texts))):
        rows = np.stack([said.entity, said.kind, codes[start + said.place]], axis=1)
        sides.append(Statements.of(rows[rows[:, 2] >= 0], said.names))
    same = np.intersect1d(sides[0].far, sides[1].far)
    return sides[0], sides[1], pairs, Pairs(same, same, np.ones(len(same)))


def classes(source: Graph, target: Graph, pairs: Pairs) -> Compared:
    """(member, class), of members that are typed in both graphs; all of them have the same far end."""
    sides = []
    for graph in (source, target):
        typed = graph.triples[np.isin(graph.relations, list(TYPE))[graph.triples[:, 1]]]
        sides.append(Statements.of(np.stack([typed[:, 0], typed[:, 2], np.zeros(len(typed))], axis=1), graph.ids))
    both = np.isin(pairs.source, sides[0].near) & np.isin(pairs.target, sides[1].near)
    one = np.zeros(1, dtype=np.int64)
    return sides[0], sides[1], Pairs(*(part[both] for part in pairs)), Pairs(one, one, np.ones(1))


KINDS = ("relation", "attribute", "class")
COMPARED: tuple[tuple[str, Callable[[Graph, Graph, Pairs], Compared]], ...] = (
    ("relation", relations), ("attribute", attributes), ("attribute", literals_and_entities),
    ("attribute", entities_and_literals), ("class", classes),
)  # fmt: skip


def _normalised_values(graph: Graph) -> tuple[list[str | None], np.ndarray]:
    """The different literals of a graph, None for an empty one, and the place of each attribute triple's among them."""
    value, datatype = graph.attributes.value, graph.attributes.datatype
    keys, place = np.unique(value.codes.astype(np.int64) * datatype.n_texts + datatype.codes, return_inverse=True)
    texts, kinds = value.texts(), datatype.texts()
    literals = (divmod(key, len(kinds)) for key in keys.tolist())
    return [normalised(texts[text], kinds[kind]) or None for text, kind in literals], place.reshape(-1)


def normalised(text: str, datatype: str = "") -> str:
    """A value as it is compared: as the voter of attributes does, or as it stands where that sees nothing to compare.

    >>> normalised(" 1.50 "), normalised("1.5e0"), normalised("007"), normalised("New  YORK"), normalised("3.5.1990")
    ('1.5', '1.5', '007', 'new york', '1990-05-03')
    """
    return form_of(text, datatype).whole or " ".join(unicodedata.normalize("NFKC", text).casefold().split())
