"""Read entities that are added later like the graph they join, and compare them with its entities of the same ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mixtea.errors import DataError, Problems, listed
from mixtea.graph.entity_table import Attributes
from mixtea.graph.graph import Graph
from mixtea.graph.labels import Labels
from mixtea.io.load_graph import read_graph
from mixtea.io.memory.objects import parse_inputs
from mixtea.io.naming import named_by
from mixtea.io.safe.limits import current_limits

PredicateValues = frozenset[tuple[str, str]]  # of one entity: (predicate, value)


@dataclass(frozen=True, eq=False)
class NewRows:
    """Later entities: `rows` [n] of `graph` have statements, the others are only objects.

    `place` [n] are their indices in the known graph, -1 for new ones; `same` [n] marks those with the same statements
    there. `warnings` are about columns.
    """

    graph: Graph
    rows: np.ndarray
    place: np.ndarray
    same: np.ndarray
    warnings: tuple[str, ...] = ()


def read_new_rows(rows: Any, known: Graph) -> NewRows:
    """Read entities from what `load_task` takes as a graph, or from one dictionary, by the columns of a known graph."""
    problems = Problems(current_limits().max_problems)
    chosen = parse_inputs([dict(rows)] if isinstance(rows, Mapping) else rows, "rows")
    if not chosen:
        raise DataError("No rows are given.")
    graph = read_graph(chosen, problems)
    problems.raise_if_any()
    described = np.r_[graph.triples[:, 0], graph.attributes.entity, graph.labels.entity]
    led_to = np.setdiff1d(graph.triples[:, 2], described)
    graph = _with_values(graph, known)
    graph = named_by(graph, known.name_predicates) if known.name_predicates else graph
    warnings = _column_warnings(graph, known)
    rows = np.setdiff1d(np.arange(graph.n_entities), led_to)
    place = known.find(graph.ids[rows])
    columns = _columns(graph).keys() & _columns(known).keys()
    pairs = zip(rows.tolist(), place.tolist(), strict=True)
    same = [at >= 0 and _statements_of(graph, i, columns) == _statements_of(known, at, columns) for i, at in pairs]
    return NewRows(_with_known_labels(graph, led_to, known), rows, place, np.array(same, dtype=bool), warnings)


def _with_values(graph: Graph, known: Graph) -> Graph:
    """Replace entities by values in columns that hold values in the known graph."""
    values = {*known.attributes.predicate.texts()} - {*map(str, known.relations)}
    wanted = np.array([str(name) in values for name in graph.relations], dtype=bool)
    here = wanted[graph.triples[:, 1]]
    head, relation, tail = graph.triples[here].T
    more = Attributes.from_columns(head, graph.relations[relation], graph.ids[tail])
    attributes = Attributes.concat([graph.attributes, more]).as_set()
    triples = graph.triples[~here]
    triples[:, 1] = (np.cumsum(~wanted) - 1)[triples[:, 1]]
    return replace(graph, triples=triples, relations=graph.relations[~wanted], attributes=attributes)


def _column_warnings(graph: Graph, known: Graph) -> tuple[str, ...]:
    """Warn about columns that only one of both graphs has; an error if they share none."""
    there = [_columns(known), _columns(graph)]
    if there[1] and not there[0].keys() & there[1].keys() and not len(graph.labels):
        raise DataError(
            f"rows: no column is one of the run's source. They have: {_join_names(graph, there[1])}. "
            f"The run's source has: {_join_names(known, there[0]) or 'none at all'}."
        )
    found = []
    if unknown := [name for name in there[1] if name not in there[0] and not graph.is_name(name)]:
        found.append(f"not in the run's source, so left out: {_join_names(graph, unknown)}")
    if missing := [name for name in there[0] if name not in there[1]]:
        found.append(f"in the run's source, and not in these rows: {_join_names(known, missing)}")
    return tuple(found)


def _columns(graph: Graph) -> dict[str, None]:
    return dict.fromkeys([*graph.attributes.predicate.texts(), *map(str, graph.relations)])


def _join_names(graph: Graph, names: Any) -> str:
    return listed([graph.shorten(name) for name in names])


def _with_known_labels(graph: Graph, led_to: np.ndarray, known: Graph) -> Graph:
    """Add the labels of the known graph to entities that are only objects here."""
    place = known.find(graph.ids[led_to])
    called = [(i, known.label(at)) for i, at in zip(led_to.tolist(), place.tolist(), strict=True) if at >= 0]
    names = [(i, text) for i, text in called if text is not None]
    labels = Labels.of_entities([i for i, _ in names], [text for _, text in names])
    return replace(graph, labels=Labels.concat([graph.labels, labels]).as_set())


def _statements_of(graph: Graph, index: int, columns: set[str]) -> PredicateValues:
    """Return the predicates and values of an entity in some columns."""
    values = {(predicate, value) for predicate, value, _, _ in graph.attributes_of(index) if predicate in columns}
    leads = {(str(graph.relations[r]), str(graph.ids[t])) for _, r, t in graph.triples_of(index)[0].tolist()}
    return frozenset(values | {lead for lead in leads if lead[0] in columns})
