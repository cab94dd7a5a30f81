"""An rdflib graph, read as the file of N-Triples would be that holds it: the same entities, values and limits."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mixtea.data.formats.link_tables import LinkTable
from mixtea.data.formats.registry import FORMATS, read_part
from mixtea.data.part import Part
from mixtea.data.safe.problems import UnreadableError
from mixtea.errors import Problem, Problems
from mixtea.text import visible

KIND = "N-Triples"
MADE_UP = re.compile(r"[nN][0-9a-f]{32}(b\d+)?")  # the name that rdflib gives a blank node without one


def rdflib_part(graph: Any, path: Path, number: int, problems: Problems) -> Part:
    """What the graph says, with its prefixes; of a dataset all graphs together."""
    if not len(graph):
        raise UnreadableError(path, None, "", "empty", "It needs triples.")
    with _written(graph, path, problems) as (file, found):
        part = read_part(file, KIND, number, found)
    prefixes = {prefix: str(namespace) for prefix, namespace in graph.namespaces()}
    return replace(part, prefixes=part.prefixes | prefixes)


def rdflib_links(graph: Any, path: Path, problems: Problems) -> LinkTable:
    """The statements of the graph that two are the same."""
    with _written(graph, path, problems) as (file, found):
        table = FORMATS[KIND].read_links(file, KIND, found)
    warnings = tuple(warning.replace(str(file), str(path)) for warning in table.warnings)
    return replace(table, path=path, warnings=warnings)


@contextmanager
def _written(graph: Any, path: Path, problems: Problems) -> Iterator[tuple[Path, Problems]]:
    """A file of the graph, a statement a line; what is wrong with it becomes a problem of the graph."""
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


def _lines(graph: Any, path: Path) -> Iterator[str]:
    """The statements as N-Triples."""
    from pyoxigraph import Triple

    quads = graph.quads((None, None, None, None)) if hasattr(graph, "quads") else graph
    term = _terms()
    for subject, predicate, value, *_ in quads:
        try:
            yield f"{Triple(term(subject), term(predicate), term(value))} .\n"
        except (ValueError, TypeError) as error:
            shown = f"{subject} {predicate} {value}"
            todo = "Mend the statement: IRIs are absolute and without spaces, predicates are IRIs."
            raise UnreadableError(path, None, shown, f"no RDF ({visible(error)}):", todo) from None


def _terms() -> Callable[[Any], Any]:
    """What makes terms of the parser of terms of rdflib; blank nodes without a name of their own are numbered."""
    import pyoxigraph as ox
    import rdflib

    numbers: dict[str, str] = {}

    def term(value: Any) -> Any:
        if isinstance(value, rdflib.URIRef):
            return ox.NamedNode(str(value))
        if isinstance(value, rdflib.BNode):
            is_named = not MADE_UP.fullmatch(value)
            return ox.BlankNode(str(value) if is_named else numbers.setdefault(value, f"rdflib.{len(numbers) + 1}"))
        if isinstance(value, rdflib.Literal):
            datatype = ox.NamedNode(str(value.datatype)) if value.datatype and not value.language else None
            return ox.Literal(str(value), language=value.language, datatype=datatype)
        raise TypeError(f"a term of type {type(value).__name__}")

    return term
