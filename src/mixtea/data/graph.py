"""A knowledge graph as arrays: labels once, triples as indices into them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.data.text import Table, read_table
from mixtea.errors import DataError, Problems

HEADERS = {("head", "relation", "tail"), ("subject", "predicate", "object"), ("source", "relation", "target")}
RDF_ENDINGS = (".nt", ".ttl", ".rdf", ".owl", ".nq", ".trig", ".xml", ".jsonld")


@dataclass(frozen=True, eq=False)
class Graph:
    """One side of a task.

    `entities` and `relations` are arrays of str, `triples` is int64 [t, 3] (head, relation, tail) as in the file,
    repetitions included. `names` gives some entities a readable name for display; it never reaches the learning.
    """

    entities: np.ndarray
    relations: np.ndarray
    triples: np.ndarray
    n_attribute_triples: int = 0
    names: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def n_entities(self) -> int:
        return len(self.entities)

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
        return pd.Index(self.entities).get_indexer(pd.Index(labels, dtype=object)).astype(np.int64)

    def display(self, index: int) -> str:
        label = str(self.entities[index])
        return self.names.get(label, label)


def read_graph(
    triples: Path,
    problems: Problems,
    *,
    attributes: Path | None = None,
    names: Path | None = None,
    also: np.ndarray | None = None,
) -> Graph:
    """Read a graph: entities in the order of the triples, then of the attribute triples, then `also`, sorted.

    `also` are the entities that a benchmark names in its links alone. Their order must not tell which link they come
    from, hence the sorting.
    """
    if triples.suffix.lower() in RDF_ENDINGS:
        raise DataError(f"{triples}: RDF is not read yet. Convert it to tab-separated triples (head, relation, tail).")
    table = read_table(triples, 3, problems)
    head, relation, tail = table.columns
    if len(table) and (head[0].lower(), relation[0].lower(), tail[0].lower()) in HEADERS:
        problems.add(
            triples, int(table.lines[0]), "\t".join(c[0] for c in table.columns), "a header", "Remove the line."
        )
    extra = []
    if attributes is not None:
        extra.append(read_table(attributes, 3, problems, rest_is_value=True, may_be_empty=True).columns[0])
    n_attribute_triples = len(extra[0]) if extra else 0
    if also is not None:
        extra.append(np.sort(pd.unique(also)))
    codes, entities = pd.factorize(np.concatenate([head, tail, *extra]))
    relation_codes, relations = pd.factorize(relation)
    n = len(head)
    arrays = np.stack([codes[:n], relation_codes, codes[n : 2 * n]], axis=1).astype(np.int64)
    return Graph(entities, relations, arrays, n_attribute_triples, _names(names, problems))


def _names(path: Path | None, problems: Problems) -> dict[str, str]:
    if path is None:
        return {}
    table: Table = read_table(path, 2, problems, may_be_empty=True)
    return dict(zip(*(column.tolist() for column in table.columns), strict=True))
