"""Read a NetworkX graph: edges are triples, node attributes are attribute triples, names and labels are labels."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np

from mixtea.errors import Problems, shorten
from mixtea.graph.builder import GraphData, attribute_data, concat, entity_data, triple_data
from mixtea.graph.labels import PLAIN_LABEL_PREDICATES
from mixtea.io.formats.tsv import Table, object_array
from mixtea.io.memory.frames import as_table, id_text
from mixtea.io.safe.problems import HALF_A_CHARACTER, MEND, UnreadableError
from mixtea.messages import is_whole

logger = logging.getLogger(__name__)
RELATION_ATTRIBUTES = ("relation", "label", "type", "predicate")  # attributes of an edge that name its relation
DEFAULT_RELATION = "edge"  # the relation of a graph whose edges have no names
HEADERS = (("head", "relation", "tail"),)


def read_networkx(graph: Any, path: Path, problems: Problems) -> GraphData:
    """Read the edges, then the attributes of nodes, then nodes alone."""
    if not graph.is_directed():
        todo = "Give a DiGraph or MultiDiGraph; graph.to_directed() has each edge both ways."
        raise UnreadableError(path, None, "", "its edges have no direction", todo)
    if not len(graph):
        raise UnreadableError(path, None, "", "empty", "It needs nodes and edges.")
    ids = _ids(graph, path, problems)
    parts = [triple_data(as_table(list(_triples(graph, path)), path, HEADERS, problems))] if graph.size() else []
    rows = list(_values(graph, path, problems))
    columns = tuple(object_array([row[i] for row in rows]) for i in range(3))
    parts.append(attribute_data(Table(path, columns, np.arange(len(rows)))))
    return concat([*parts, entity_data(object_array(ids))])


def _ids(graph: Any, path: Path, problems: Problems) -> list[str]:
    """Return the nodes as ids, which must be distinct."""
    seen: dict[str, Any] = {}
    for node in graph.nodes:
        text = id_text(node)
        if not text:
            todo = "Nodes are text or whole numbers: networkx.relabel_nodes gives them such."
            problems.add(path, None, str(node), f"a node of type {type(node).__name__}:", todo)
        elif not is_whole(text):
            problems.add(path, None, text, f"{HALF_A_CHARACTER} the node", MEND)
        elif text in seen:
            what = f"nodes {seen[text]!r} and {node!r} have the same id"
            problems.add(path, None, text, what, "Give one of them another: networkx.relabel_nodes.")
        else:
            seen[text] = node
    return list(seen)


def _triples(graph: Any, path: Path) -> Iterator[tuple[Any, str, Any]]:
    """Yield (head, relation, tail) of each edge; all have a relation, or none."""
    edges = list(graph.edges(keys=True, data=True)) if graph.is_multigraph() else list(graph.edges(data=True))
    named = [_relation(edge) for edge in edges]
    if not any(named):
        named = [DEFAULT_RELATION] * len(edges)
    for edge, relation in zip(edges, named, strict=True):
        if not relation:
            shown, todo = (
                f"{edge[0]} {edge[1]}",
                f"Give every edge one of {', '.join(RELATION_ATTRIBUTES)}, or none of them any.",
            )
            raise UnreadableError(path, None, shown, "an edge without a relation, where others have one:", todo)
        yield edge[0], relation, edge[1]


def _relation(edge: tuple[Any, ...]) -> str | None:
    """Return the key of an edge if that is text, else the first of its attributes that name a relation."""
    key, data = edge[2] if len(edge) > 3 else None, edge[-1]
    if isinstance(key, str) and key:
        return key
    return next((text for name in RELATION_ATTRIBUTES if (text := id_text(data.get(name)))), None)


def _values(graph: Any, path: Path, problems: Problems) -> Iterator[tuple[str, str, str]]:
    """Yield (node, attribute, value), one per value; what is neither text nor number is left out."""
    left_out: dict[str, str] = {}
    for node, data in graph.nodes(data=True):
        for name, value in data.items():
            for one in value if isinstance(value, list | tuple | set | frozenset) else [value]:
                if (text := _value(one)) is None:
                    left_out.setdefault(str(name), type(one).__name__)
                elif not (is_whole(text) and is_whole(str(name))):
                    shown = f"{shorten(str(name), 40)}: {shorten(text, 40)}"
                    problems.add(path, None, str(node), f"{HALF_A_CHARACTER} {shown}, an attribute of the node", MEND)
                elif text:
                    yield id_text(node) or "", PLAIN_LABEL_PREDICATES.get(name, str(name)), text
    if left_out:
        _warn_left_out(path, left_out.items())


def _value(value: Any) -> str | None:
    """Return a value as text, "" where it is missing; None for other types."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return str(value) if isinstance(value, str | Number | Decimal | date) else None


def _warn_left_out(path: Path, kinds: Iterable[tuple[str, str]]) -> None:
    shown = ", ".join(f"{shorten(name, 40)} ({kind})" for name, kind in list(kinds)[:3])
    logger.warning("%s: attributes of nodes are left out that are neither text nor number: %s", path, shown)
