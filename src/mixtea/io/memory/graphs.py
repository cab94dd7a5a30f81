"""Read graphs of other libraries: rdflib's as their N-Triples file would be read, NetworkX's by edges and nodes.

Of NetworkX, edges are triples, attributes of nodes are attribute triples, and names and labels are labels.
"""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from decimal import Decimal
from hashlib import sha256
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np

from mixtea.errors import Problem, Problems, shorten
from mixtea.graph.builder import GraphData, attribute_data, concat, entity_data, triple_data
from mixtea.graph.labels import PLAIN_LABEL_PREDICATES
from mixtea.io.formats.link_tables import LinkTable
from mixtea.io.formats.rdf import read_rdf, read_rdf_links
from mixtea.io.formats.tsv import Table, object_array
from mixtea.io.memory.objects import as_table, id_text
from mixtea.io.safe.limits import HALF_A_CHARACTER, MEND, UnreadableError
from mixtea.messages import is_whole, visible

KIND = "N-Triples"
RANDOM_NAME = re.compile(r"[A-Za-z]?[0-9a-f]{32}(b\d+)?")  # the name that rdflib gives a blank node without one


def read_rdflib(graph: Any, path: Path, problems: Problems) -> GraphData:
    """Read the triples and prefixes; of a dataset those of all graphs."""
    if not len(graph):
        raise UnreadableError(path, None, "", "empty", "It needs triples.")
    with _as_file(graph, path, problems) as (file, found):
        part = read_rdf(file, KIND, found)
    prefixes = {prefix: str(namespace) for prefix, namespace in graph.namespaces()}
    for prefix, namespace in prefixes.items():
        if not is_whole(prefix + namespace):
            raise UnreadableError(path, None, f"{prefix}: {namespace}", f"{HALF_A_CHARACTER} the prefix", MEND)
    return replace(part, prefixes=part.prefixes | prefixes)


def read_rdflib_links(graph: Any, path: Path, problems: Problems) -> LinkTable:
    """Read the statements of identity."""
    with _as_file(graph, path, problems) as (file, found):
        table = read_rdf_links(file, KIND, found)
    warnings = tuple(warning.replace(str(file), str(path)) for warning in table.warnings)
    return replace(table, path=path, warnings=warnings)


@contextmanager
def _as_file(graph: Any, path: Path, problems: Problems) -> Iterator[tuple[Path, Problems]]:
    """Write the graph to a file, one statement per line; problems of the file become problems of the graph."""
    found = Problems(problems.limit)

    def ours(problem: Problem) -> Problem:
        return replace(problem, file=path, line=None)  # a graph in memory has no lines

    try:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "graph.nt"
            with file.open("w", encoding="utf-8", newline="\n") as out:
                out.writelines(_lines(graph, path))
            yield file, found
    except UnreadableError as error:
        wrong = error.problem
        raise UnreadableError(path, None, wrong.value, wrong.what, wrong.todo) from None
    except OSError as error:
        what = f"cannot be written to the temporary folder ({visible(error.strerror or error)})"
        raise UnreadableError(path, None, "", what, "Make room there, or name another folder by TMPDIR.") from None
    problems.found += map(ours, found.found)
    problems.skipped[path] += found.skipped.total()


def _lines(graph: Any, path: Path) -> list[str]:
    """Return the statements as N-Triples, sorted: the order of rdflib varies."""
    from pyoxigraph import Triple

    quads = graph.quads((None, None, None, None)) if hasattr(graph, "quads") else graph
    statements, lines = [quad[:3] for quad in quads], []
    term = _terms(blank_names(statements))
    for statement in statements:
        try:
            lines.append(f"{Triple(*map(term, statement))} .\n")
        except (ValueError, TypeError) as error:
            parts = (*statement, getattr(statement[2], "datatype", None))
            shown = " ".join(str(part) for part in parts if part is not None)
            todo = "Mend the statement: IRIs are absolute and without spaces, predicates are IRIs."
            what = f"no RDF ({visible(error)}):"
            if not is_whole(shown):
                what, todo = f"{HALF_A_CHARACTER} the statement", MEND
            raise UnreadableError(path, None, shown, what, todo) from None
    return sorted(lines)


def _terms(names: dict[str, str]) -> Callable[[Any], Any]:
    """Return a function from rdflib's terms to those of the parser."""
    import pyoxigraph as ox
    import rdflib

    def term(value: Any) -> Any:
        if isinstance(value, rdflib.URIRef):
            return ox.NamedNode(str(value))
        if isinstance(value, rdflib.BNode):
            return ox.BlankNode(names.get(str(value), str(value)))
        if isinstance(value, rdflib.Literal):
            datatype = ox.NamedNode(str(value.datatype)) if value.datatype and not value.language else None
            return ox.Literal(str(value), language=value.language, datatype=datatype)
        raise TypeError(f"a term of type {type(value).__name__}")

    return term


def blank_names(statements: Sequence[Sequence[Any]]) -> dict[str, str]:
    """Return reproducible names for the blank nodes that rdflib has named at random.

    Each is identified by its statements, then by those of its neighbours, and so on, until no more differ. Those that
    stay alike are interchangeable.
    """
    import rdflib

    ends = {end for subject, _, value in statements for end in (subject, value) if isinstance(end, rdflib.BNode)}
    known = dict.fromkeys((end for end in ends if RANDOM_NAME.fullmatch(end)), "")
    n_different = 0
    while len(set(known.values())) > n_different:
        n_different = len(set(known.values()))
        statements_of: dict[Any, list[str]] = {end: [] for end in known}
        for subject, predicate, value in statements:
            if subject in known:
                statements_of[subject].append(f"> {predicate} {known.get(value, value)}")
            if value in known:
                statements_of[value].append(f"< {predicate} {known.get(subject, subject)}")
        joined = {end: "\n".join([known[end], *sorted(texts)]) for end, texts in statements_of.items()}
        known = {end: sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for end, text in joined.items()}
    order = sorted(known, key=lambda end: known[end])
    return {str(end): f"rdflib.{number}" for number, end in enumerate(order, 1)}


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
        shown = ", ".join(f"{shorten(name, 40)} ({kind})" for name, kind in list(left_out.items())[:3])
        logger.warning("%s: attributes of nodes are left out that are neither text nor number: %s", path, shown)


def _value(value: Any) -> str | None:
    """Return a value as text, "" where it is missing; None for other types."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return str(value) if isinstance(value, str | Number | Decimal | date) else None
