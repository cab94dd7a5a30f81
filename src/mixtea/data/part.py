"""What a file says of a graph, in numbers, and several of them as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.data.formats.tsv import Table
from mixtea.data.names import Candidate


@dataclass(frozen=True)
class FileRead:
    """A file that a graph was read from, and what it held."""

    path: Path
    format: str
    n_triples: int
    n_attribute_triples: int


@dataclass(frozen=True, eq=False)
class Part:
    """`entities` and `predicates` are arrays of str; the rest are places in them.

    `triples` is int64 [t, 3] (head, predicate, tail), `attributes` int64 [a, 2] (entity, predicate) without the values.
    """

    ids: np.ndarray
    predicates: np.ndarray
    triples: np.ndarray
    attributes: np.ndarray
    names: dict[str, Candidate] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)


def triple_part(table: Table) -> Part:
    """Head, relation, tail: entities in the order of the heads, then of the tails."""
    head, relation, tail = table.columns
    codes, entities = pd.factorize(np.concatenate([head, tail]))
    relations, predicates = pd.factorize(relation)
    triples = np.stack([codes[: len(head)], relations, codes[len(head) :]], axis=1).astype(np.int64)
    return Part(entities, predicates, triples, _none(2))


def attribute_part(table: Table) -> Part:
    """Entity, predicate, value."""
    entity, entities = pd.factorize(table.columns[0])
    predicate, predicates = pd.factorize(table.columns[1])
    return Part(entities, predicates, _none(3), np.stack([entity, predicate], axis=1).astype(np.int64))


def entity_part(labels: np.ndarray) -> Part:
    """Entities alone, in this order."""
    return Part(pd.unique(labels), np.empty(0, dtype=object), _none(3), _none(2))


def joined(parts: Sequence[Part]) -> Part:
    """One part of all: entities and predicates keep the order in which they come first."""
    if len(parts) == 1:
        return parts[0]
    entity_places, entities = _places([part.ids for part in parts])
    predicate_places, predicates = _places([part.predicates for part in parts])
    triples, attributes = [_none(3)], [_none(2)]
    names: dict[str, Candidate] = {}
    prefixes: dict[str, str] = {}
    for part, entity, predicate in zip(parts, entity_places, predicate_places, strict=True):
        head, relation, tail = part.triples.T
        triples.append(np.stack([entity[head], predicate[relation], entity[tail]], axis=1))
        owner, relation = part.attributes.T
        attributes.append(np.stack([entity[owner], predicate[relation]], axis=1))
        for label, name in part.names.items():
            names[label] = min(name, names.get(label, name))
        prefixes = part.prefixes | prefixes
    return Part(entities, predicates, np.concatenate(triples), np.concatenate(attributes), names, prefixes)


def _places(labels: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """For each array the places of its labels among the unique ones of all; and those."""
    codes, unique = pd.factorize(np.concatenate([np.empty(0, dtype=object), *labels]))
    ends = np.cumsum([len(one) for one in labels])
    return np.split(codes.astype(np.int64), ends[:-1]), unique


def _none(columns: int) -> np.ndarray:
    return np.empty((0, columns), dtype=np.int64)
