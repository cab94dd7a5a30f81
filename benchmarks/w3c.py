"""What our reader makes of W3C's test suites for RDF 1.1.

    pip download rdflib==7.6.0 --no-deps --no-binary rdflib && tar xzf rdflib-7.6.0.tar.gz
    python benchmarks/w3c.py rdflib-7.6.0/test/data/suites/w3c

The source distribution of rdflib holds the suites. Each test is a file that must be read, must not be read, or must
give certain statements. Those are compared with the expected file, which rdflib reads, so that one parser checks
another: up to the names of blank nodes and the case of language tags, as RDF 1.1 says. Prints a table and every miss
with its reason.
"""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyoxigraph as ox
import rdflib
from common import header, row
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.namespace import RDF, XSD

from mixtea.io.rdf.parse import Statements
from mixtea.io.safe.limits import UnreadableError

SUITES = {
    "ntriples": ("N-Triples", "http://www.w3.org/2013/N-TriplesTests/"),
    "nquads": ("N-Quads", "http://www.w3.org/2013/NQuadsTests/"),
    "turtle": ("Turtle", "http://www.w3.org/2013/TurtleTests/"),
    "trig": ("TriG", "http://www.w3.org/2013/TriGTests/"),
    "rdf-xml": ("RDF/XML", "http://www.w3.org/2013/RDFXMLTests/"),
}
WITHOUT_BASE = ("N-Triples", "N-Quads")
MANIFEST = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")

Words = tuple[str, ...]  # a term: its kind, text, language, datatype


@dataclass(frozen=True)
class Test:
    name: str
    kind: str  # positive, negative or statements
    action: Path
    result: Path | None
    base: str | None


def tests_of(folder: Path, suite: str) -> list[Test]:
    """The tests that the suite's manifest lists."""
    kind, base = SUITES[suite]
    root = (folder / suite).resolve()
    manifest = rdflib.Graph().parse(root / "manifest.ttl", publicID=base)
    found = []
    for test in manifest.items(next(manifest.objects(None, MANIFEST.entries))):
        type_ = str(manifest.value(test, RDF.type))
        action, result = (manifest.value(test, MANIFEST[name]) for name in ("action", "result"))
        verdict = "negative" if "Negative" in type_ else "positive" if result is None else "statements"
        paths = [None if iri is None else root / str(iri).removeprefix(base) for iri in (action, result)]
        assert paths[0] is not None and all(path is None or path.is_file() for path in paths)
        relative_to = None if kind in WITHOUT_BASE else str(action)
        found.append(Test(str(test).partition("#")[2], verdict, paths[0], paths[1], relative_to))
    return found


def miss(test: Test, kind: str) -> str:
    """Why the test fails; empty if it passes."""
    try:
        found = list(Statements(test.action, kind, base=test.base))
    except UnreadableError as error:
        return "" if test.kind == "negative" else f"not read: {error.problem.what}"
    if test.kind == "negative":
        return "read, though it is wrong"
    if test.result is not None and canonical(map(ours, found)) != canonical(expected(test.result)):
        shown = ", ".join(str(quad.object) for quad in found[:3])
        return f"other statements than expected, with the objects {shown}"
    return ""


def canonical(quads: Iterable[tuple[Words, Words, Words, Words | None]]) -> ox.Dataset:
    """The statements with canonical names for blank nodes; IRIs are wrapped, so that none is too odd."""
    dataset = ox.Dataset()
    for *triple, graph in quads:
        subject, predicate, value = map(wrapped, triple)
        dataset.add(ox.Quad(subject, predicate, value, ox.DefaultGraph() if graph is None else wrapped(graph)))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return dataset


def wrapped(term: Words) -> Any:
    if term[0] == "blank":
        return ox.BlankNode(term[1])
    return ox.NamedNode("urn:x:" + quote("\n".join(term), safe=""))


def ours(quad: ox.Quad) -> tuple[Any, ...]:
    return *map(words, quad.triple), None if isinstance(quad.graph_name, ox.DefaultGraph) else words(quad.graph_name)


def words(term: Any) -> Words:
    if isinstance(term, ox.Literal):
        return "literal", term.value, (term.language or "").lower(), term.datatype.value
    return ("blank" if isinstance(term, ox.BlankNode) else "iri"), term.value


def expected(path: Path) -> Iterator[tuple[Any, ...]]:
    """The statements of an N-Triples or N-Quads file, as rdflib reads them."""
    dataset = rdflib.Dataset()
    dataset.parse(path, format="nquads")
    for *triple, graph in dataset.quads():
        yield *map(theirs, triple), None if graph in (None, DATASET_DEFAULT_GRAPH_ID) else theirs(graph)


def theirs(term: Any) -> Words:
    if isinstance(term, rdflib.Literal):
        datatype = RDF.langString if term.language else term.datatype or XSD.string
        return "literal", str(term), (term.language or "").lower(), str(datatype)
    return ("blank" if isinstance(term, rdflib.BNode) else "iri"), str(term)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", type=Path, help="the folder with ntriples, nquads, turtle, trig and rdf-xml")
    args = parser.parse_args()
    logging.getLogger("rdflib").setLevel(logging.ERROR)
    rdflib.NORMALIZE_LITERALS = False
    misses, total, right = [], Counter[str](), Counter[str]()
    header("suite", "must be read", "must not be read", "must give these statements", "as required")
    for suite, (kind, _) in SUITES.items():
        tests = tests_of(args.suites, suite)
        kinds = Counter(test.kind for test in tests)
        why = {test.name: miss(test, kind) for test in tests}
        misses += [(suite, name, reason) for name, reason in why.items() if reason]
        total[suite], right[suite] = len(tests), sum(not reason for reason in why.values())
        counts = [kinds[name] for name in ("positive", "negative", "statements")]
        row([kind, *counts, f"{right[suite]} of {total[suite]}"])
    row(["all", "", "", "", f"{right.total()} of {total.total()}"])
    for suite, name, reason in misses:
        print(f"{suite} {name}: {reason}")


if __name__ == "__main__":
    main()
