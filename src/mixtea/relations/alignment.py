"""Alignment of relations, attribute predicates and classes of two graphs, given a mapping of entities. No torch.

As in PARIS (Suchanek, Abiteboul and Senellart, 2011): r lies within r' as far as triples of r meet triples of r', among
those whose two ends are both matched.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from mixtea.compute.intervals import wilson
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.errors import ConfigError
from mixtea.graph.graph import Graph
from mixtea.graph.terms import TYPE
from mixtea.relations.neighbours import join_triples, matched, weighted_pairs
from mixtea.text.names import entity_names
from mixtea.text.values import form_of

if TYPE_CHECKING:
    from mixtea.decide.mapping import Mapping

MAX_TRIPLES_PER_PAIR = 200  # statements between two ends, or classes of an entity: beyond, a single one says nothing
COMPARISON_KINDS = ("relation", "attribute", "class")
RELATION_COLUMNS = (
    "kind",
    "source",
    "target",
    "relation",
    "inverse",
    "score",
    "count",
    "source_count",
    "target_count",
)
MIN_SCORE = 0.1
LOWER_Z = 1.64  # standard errors below what was seen: nineteen times of twenty, the true share is greater
EQUAL_RATIO = 0.5  # equal where the smaller share of the two directions is at least this part of the greater
INVERSE_FACTOR = 0.9  # a pair is inverse where its score as such, times this, is greater: symmetric relations are not
MAX_COUNTERPARTS = 20  # counterparts of an entity; of one that has more, none says anything


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


# of both graphs, and which near and which far ends are the same
Comparison = tuple[Triples, Triples, ScoredPairs, ScoredPairs]


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


@dataclass(frozen=True, eq=False)
class Relations:
    """Pairs of relations, of attribute predicates and of classes, the best score first in each kind.

    `frame` has the columns of RELATION_COLUMNS: `kind` is relation, attribute or class, an attribute being a predicate
    with literals in one graph at least, and in the other perhaps entities of these names; `source` and `target` are ids
    as in the graphs; `relation` is that of the source to the target: equal, narrower, broader or inverse. `inverse` is
    true where the target is read from its object to its subject. `score` is a cautious share: of the source's triples
    that the target has too (narrower), of the target's that the source has (broader), or the smaller of both. `count`
    triples met, of `source_count` and `target_count` that could have, each weighted by the probability of the mapping
    of its ends. For classes, members are counted. `links_from` is that of the task.
    """

    source: Graph
    target: Graph
    frame: pd.DataFrame
    links_from: str = "given"

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        found = (f"{int((self.frame['kind'] == kind).sum()):,} of kind {kind}" for kind in COMPARISON_KINDS)
        return f"Relations({', '.join(found)})"

    def to_frame(self) -> pd.DataFrame:
        return self.frame.copy()

    def above(self, score: float) -> Relations:
        """Return the pairs with at least this score."""
        return replace(self, frame=self.frame[self.frame["score"] >= score].reset_index(drop=True))


def relations_of(mapping: Mapping, min_score: float = MIN_SCORE) -> Relations:
    """Align relations, attribute predicates and classes by a mapping with its given links."""
    if not 0 <= min_score <= 1:
        raise ConfigError(f"min_score must be from 0 to 1, not {min_score!r}.")
    source, target, pairs = mapping.source, mapping.target, _matched_pairs(mapping)
    rows = pd.concat([_aligned(kind, *compared(source, target, pairs)) for kind, compared in COMPARISONS])
    order = np.lexsort([-rows["count"], -rows["score"], rows["kind"].map(COMPARISON_KINDS.index)])
    found = rows.iloc[order].reset_index(drop=True)
    return Relations(source, target, found, mapping.links_from).above(min_score)


def _matched_pairs(mapping: Mapping) -> ScoredPairs:
    """Return the pairs of the mapping by entity index, without entities of too many counterparts."""
    rows = mapping.pairs()
    ends = [g.find(rows[side].to_numpy()) for side, g in (("source", mapping.source), ("target", mapping.target))]
    few = np.all([np.bincount(end, minlength=1)[end] <= MAX_COUNTERPARTS for end in ends], axis=0)
    return weighted_pairs(ends[0][few], ends[1][few], rows["probability"].to_numpy(np.float64)[few])


def _aligned(kind: str, ours: Triples, theirs: Triples, near: ScoredPairs, far: ScoredPairs) -> pd.DataFrame:
    """Return the rows of one kind."""
    rows = _counts(ours, theirs, near, far)
    within = lower_bound(rows["count"].to_numpy(), rows["source_count"].to_numpy())
    around = lower_bound(rows["count_back"].to_numpy(), rows["target_count"].to_numpy())
    less, more = np.minimum(within, around), np.maximum(within, around)
    equal, inverse = less >= EQUAL_RATIO * more, theirs.inverse[rows["second"]]
    words = np.select([equal & inverse, equal, within > around], ["inverse", "equal", "narrower"], "broader")
    ends = {"source": ours.names[rows["first"]], "target": theirs.names[rows["second"]]}
    names = {side: pd.Series(ids, rows.index, dtype=object) for side, ids in ends.items()}
    rows = rows.assign(kind=kind, **names, relation=words, inverse=inverse, score=np.where(equal, less, more))
    return _without_dominated(rows)[list(RELATION_COLUMNS)]


def _without_dominated(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the better of a pair and its inverse, and an equal pair only where one of both has none better."""
    favour = rows["score"] * np.where(rows["inverse"], INVERSE_FACTOR, 1)
    rows = rows.loc[favour.sort_values(ascending=False, kind="stable").index]
    rows = rows[~rows.duplicated(["source", "target"])]
    sides = (rows.groupby(["relation", side], sort=False)["score"] for side in ("source", "target"))
    beaten = np.all([rows["score"] < side.transform("max") for side in sides], axis=0)
    return rows[~(beaten & rows["relation"].isin(["equal", "inverse"]))]


def _counts(ours: Triples, theirs: Triples, near: ScoredPairs, far: ScoredPairs) -> pd.DataFrame:
    """Count for each two kinds that meet the triples that met, from either side, and those that could have."""
    first, second, weight = join_triples((ours.near, ours.far), (theirs.near, theirs.far), near, far)
    kinds = np.stack([ours.kind[first], theirs.kind[second]])
    (key, met), (_, met_back) = _distinct_counts(kinds, first, weight), _distinct_counts(kinds, second, weight)
    could = [
        np.bincount(
            side.kind,
            matched(near, end, side.near) * matched(far, end, side.far),
            minlength=len(side.names),
        )
        for end, side in enumerate((ours, theirs))
    ]
    columns = {"first": key[0], "second": key[1], "count": met, "count_back": met_back}
    return pd.DataFrame(columns | {"source_count": could[0][key[0]], "target_count": could[1][key[1]]})


def _distinct_counts(kinds: np.ndarray, statement: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct columns of `kinds` [2, m], and how many triples met in each, every one once at its best."""
    order = np.lexsort([-weight, statement, kinds[1], kinds[0]])
    rows = np.r_[kinds, statement[None]][:, order]
    once = np.r_[True, (np.diff(rows) != 0).any(axis=0)][: len(order)]
    key, place = np.unique(rows[:2, once], axis=1, return_inverse=True)
    return key, np.bincount(place.reshape(-1), weight[order][once], minlength=key.shape[1])


def lower_bound(met: np.ndarray, could: np.ndarray) -> np.ndarray:
    """Return the lower end of Wilson's interval for met / could, so that one of one is not certain.

    >>> lower_bound(np.array([1.0, 10.0, 5.0]), np.array([1.0, 10.0, 10.0])).round(2).tolist()
    [0.27, 0.79, 0.27]
    """
    return wilson(met, np.maximum(could, np.maximum(met, 1e-9)), LOWER_Z)[0]
