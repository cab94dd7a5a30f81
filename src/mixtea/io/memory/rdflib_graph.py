"""Read an rdflib graph as its N-Triples file would be read: the same entities, values and limits."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from mixtea.errors import Problem, Problems
from mixtea.graph.builder import GraphData
from mixtea.io.formats.link_tables import LinkTable
from mixtea.io.formats.registry import FORMATS, rdf_graph
from mixtea.io.safe.problems import HALF_A_CHARACTER, MEND, UnreadableError
from mixtea.messages import is_whole, visible

KIND = "N-Triples"
RANDOM_NAME = re.compile(r"[A-Za-z]?[0-9a-f]{32}(b\d+)?")  # the name that rdflib gives a blank node without one


def read_rdflib(graph: Any, path: Path, problems: Problems) -> GraphData:
    """Read the triples and prefixes; of a dataset those of all graphs."""
    if not len(graph):
        raise UnreadableError(path, None, "", "empty", "It needs triples.")
    with _as_file(graph, path, problems) as (file, found):
        part = rdf_graph(file, KIND, found)
    prefixes = {prefix: str(namespace) for prefix, namespace in graph.namespaces()}
    for prefix, namespace in prefixes.items():
        if not is_whole(prefix + namespace):
            raise UnreadableError(path, None, f"{prefix}: {namespace}", f"{HALF_A_CHARACTER} the prefix", MEND)
    return replace(part, prefixes=part.prefixes | prefixes)


def read_rdflib_links(graph: Any, path: Path, problems: Problems) -> LinkTable:
    """Read the statements of identity."""
    with _as_file(graph, path, problems) as (file, found):
        table = FORMATS[KIND].read_links(file, KIND, found)
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
