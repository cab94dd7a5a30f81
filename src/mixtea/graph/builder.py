"""Integer-encoded contents of one input; `concat` merges several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from mixtea.errors import MAX_VALUE_KEPT

if TYPE_CHECKING:
    from mixtea.io.formats.tsv import Table
from mixtea.graph.entity_table import Attributes
from mixtea.graph.labels import Labels
from mixtea.graph.text_column import TextColumn

HEADER_ADVICE = (
    "If it is one, remove it, or name the columns head, relation and tail; if each row is an entity, name the column "
    "of its ids id."
)


class ColumnRead(NamedTuple):
    """A column of a table with an entity per row, and what it was taken as, by a hint of the user where `is_hint`.

    `refers_to` is the table whose ids it holds, "" of a column of values; `filled` is the share of the rows that have a
    cell, `distinct` the share of these that are different.
    """

    name: str
    kind: str
    refers_to: str
    filled: float
    distinct: float
    is_hint: bool


@dataclass(frozen=True)
class FileRead:
    """A file that a graph was read from, and its contents: counts, the IRI of an ontology, notes for the user.

    `base` is the IRI that its relative IRIs were resolved against, where it has none of its own. `columns` are those of
    a table with an entity per row.
    """

    path: Path
    format: str
    n_triples: int
    n_attribute_triples: int
    ontology: str = ""
    notes: tuple[str, ...] = ()
    base: str = ""
    columns: tuple[ColumnRead, ...] = ()


@dataclass(frozen=True, eq=False)
class GraphData:
    """Entities, triples, attribute triples and labels of one input, encoded as integers.

    `ids` and `predicates` are arrays of str, all other numbers are indices into them. `triples` is int64 [t, 3] (head,
    predicate, tail). Attribute triples and labels are as read, repetitions included; the predicates of attribute
    triples are among `predicates` too. Labels and `kinds` (uint8 [n], numbers of terms.ENTITY_KINDS) are found after
    all inputs of a side are merged. `ontology` is the IRI that the file declares, `notes` are for the user, and `base`
    is that of `FileRead`. `kept_apart` are tables whose name precedes the ids of their rows, as other tables share some
    of these.
    """

    ids: np.ndarray
    predicates: np.ndarray
    triples: np.ndarray
    attributes: Attributes = field(default_factory=Attributes.empty)
    labels: Labels = field(default_factory=Labels.empty)
    prefixes: dict[str, str] = field(default_factory=dict)
    ontology: str = ""
    notes: tuple[str, ...] = ()
    base: str = ""
    kinds: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.uint8))
    kept_apart: tuple[str, ...] = ()

    def subset(self, stays: np.ndarray) -> GraphData:
        """Return the entities to keep (bool [n]), renumbered, with the triples and values among them alone."""
        place = np.cumsum(stays) - 1
        triples = self.triples[stays[self.triples[:, [0, 2]]].all(axis=1)]
        triples = np.stack([place[triples[:, 0]], triples[:, 1], place[triples[:, 2]]], axis=1)
        attributes, labels = self.attributes.subset(stays), self.labels.subset(stays)
        kinds = self.kinds[stays] if len(self.kinds) else self.kinds
        return replace(self, ids=self.ids[stays], triples=triples, attributes=attributes, labels=labels, kinds=kinds)

    def referenced(self) -> np.ndarray:
        """Return bool [n]: the entities of a triple or an attribute triple."""
        found = np.zeros(len(self.ids), dtype=bool)
        found[np.concatenate([self.triples[:, [0, 2]].ravel(), self.attributes.entity])] = True
        return found


def without_unreferenced(part: GraphData) -> GraphData:
    """Drop the entities without any triple or attribute triple."""
    stays = part.referenced()
    return part if stays.all() else part.subset(stays)


def triple_data(table: Table) -> GraphData:
    """Encode rows of head, relation, tail: entities in the order of the heads, then of the tails."""
    head, relation, tail = table.columns
    codes, ids = pd.factorize(np.concatenate([head, tail]))
    relations, predicates = pd.factorize(relation)
    triples = np.stack([codes[: len(head)], relations, codes[len(head) :]], axis=1).astype(np.int64)
    return GraphData(ids, predicates, triples)


def header_note(table: Table) -> tuple[str, ...]:
    """Return a note if the first line may be a header: none of its words is in another line."""
    if len(table) < 3 or table.lines[0] != 1:
        return ()
    first = [str(column[0]) for column in table.columns]
    plain = not any(":" in word or word.isdigit() for word in first)
    if not plain or (table.columns[1][1:] == first[1]).any():
        return ()
    if any((column[1:] == word).any() for word in first[::2] for column in table.columns[::2]):
        return ()
    return (f"line 1, {' '.join(first)[:MAX_VALUE_KEPT]!r}, may be a header, and is read as a triple. {HEADER_ADVICE}",)


def attribute_data(table: Table) -> GraphData:
    """Encode rows of entity, predicate, value."""
    entity, ids = pd.factorize(table.columns[0])
    predicate, predicates = pd.factorize(table.columns[1])
    columns = (TextColumn.coded(predicates, predicate), TextColumn.from_texts(table.columns[2]))
    return GraphData(
        ids, predicates, _no_triples(), Attributes(entity.astype(np.int32), *columns, *[_blank_column(len(table))] * 2)
    )


def value_data(ids: np.ndarray, said: Sequence[tuple[str, np.ndarray, TextColumn]]) -> GraphData:
    """Encode distinct entities with their values: per predicate the entity indices, and a value for each.

    The columns of values are compact.
    """
    if not said:
        return GraphData(ids, np.empty(0, dtype=object), _no_triples())
    codes, words = pd.factorize(np.array([word for word, _, _ in said], dtype=object))
    entity = np.concatenate([numbers for _, numbers, _ in said]).astype(np.int32)
    predicate = TextColumn.coded(words, np.repeat(codes, [len(numbers) for _, numbers, _ in said]))
    columns = (
        predicate,
        TextColumn.concat([values for _, _, values in said], are_compact=True),
        *[_blank_column(len(entity))] * 2,
    )
    return GraphData(ids, words, _no_triples(), Attributes(entity, *columns))


def entity_data(ids: np.ndarray) -> GraphData:
    """Encode entities alone, in this order."""
    return GraphData(pd.unique(ids), np.empty(0, dtype=object), _no_triples())


def concat(parts: Sequence[GraphData]) -> GraphData:
    """Merge several inputs; entities and predicates keep the order of their first occurrence."""
    if len(parts) == 1:
        return parts[0]
    entity_places, ids = _joint_codes([part.ids for part in parts])
    predicate_places, predicates = _joint_codes([part.predicates for part in parts])
    triples = [_no_triples()]
    prefixes: dict[str, str] = {}
    for part, entity, predicate in zip(parts, entity_places, predicate_places, strict=True):
        head, relation, tail = part.triples.T
        triples.append(np.stack([entity[head], predicate[relation], entity[tail]], axis=1))
        prefixes = part.prefixes | prefixes
    both = zip(parts, entity_places, strict=True)
    attributes = Attributes.concat([part.attributes.moved(place) for part, place in both])
    apart = tuple(dict.fromkeys(name for part in parts for name in part.kept_apart))
    return GraphData(ids, predicates, np.concatenate(triples), attributes, prefixes=prefixes, kept_apart=apart)


def distinct_triples(triples: np.ndarray) -> np.ndarray:
    """Return the triples without repetitions, in the order of their first occurrence.

    >>> distinct_triples(np.array([[0, 0, 1], [1, 0, 0], [0, 0, 1]])).tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    sizes = [int(column.max(initial=0)) + 1 for column in triples.T]
    if math.prod(sizes) >= 1 << 63:
        return triples[~pd.DataFrame(triples).duplicated().to_numpy()]
    keys = _triple_keys(triples, sizes)
    keys.sort()  # most graphs have few repetitions, if any: those are looked at
    several = np.unique(keys[1:][keys[1:] == keys[:-1]])
    if not len(several):
        return triples
    keys = _triple_keys(triples, sizes)
    rows = np.flatnonzero(several[np.searchsorted(several[:-1], keys)] == keys)
    return np.delete(triples, rows[pd.Index(keys[rows]).duplicated()], axis=0)


def _triple_keys(triples: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Return a number per triple, equal for equal triples, in as little memory as possible."""
    keys: np.ndarray = triples[:, 0] * sizes[1]
    keys += triples[:, 1]
    keys *= sizes[2]
    keys += triples[:, 2]
    return keys


def _joint_codes(words: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return per array the indices of its words among the unique words of all, and these."""
    codes, unique = pd.factorize(np.concatenate([np.empty(0, dtype=object), *words]))
    ends = np.cumsum([len(one) for one in words])
    return np.split(codes.astype(np.int64), ends[:-1]), unique


def _blank_column(n: int) -> TextColumn:
    """Return a column of n blank texts."""
    return TextColumn.coded([""], np.zeros(n, dtype=np.int64)).compact()


def _no_triples() -> np.ndarray:
    return np.empty((0, 3), dtype=np.int64)
