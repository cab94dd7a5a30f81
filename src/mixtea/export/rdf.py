"""Mappings as RDF triples: source, skos:exactMatch or owl:sameAs, target."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from mixtea.export.about import PREDICATES, About, is_iri
from mixtea.export.curies import Curies, known_prefixes
from mixtea.export.identifiers import only_pairs, with_iris
from mixtea.match.mapping import Mapping
from mixtea.runs.atomic import atomic_file

_SIMPLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_SPACE = re.compile(r"\s")


def write_ntriples(mapping: Mapping, path: Path, about: About) -> int:
    """One line a mapping, all IRIs in full."""
    rows = with_iris(only_pairs(mapping, path, about), mapping, path, about)
    return _write(path, [], _lines(rows, PREDICATES[about.predicate], Curies({})))


def write_turtle(mapping: Mapping, path: Path, about: About) -> int:
    """The same with prefixes, those of the graphs included. Names that Turtle would have to escape stay in full."""
    rows = with_iris(only_pairs(mapping, path, about), mapping, path, about)
    known = known_prefixes(mapping, about.set_id)
    curies = Curies({name: namespace for name, namespace in known.items() if is_iri(namespace)})
    lines = _lines(rows, PREDICATES[about.predicate], curies)
    head = [f"@prefix {name}: {_full(namespace)} ." for name, namespace in sorted(curies.used.items())]
    return _write(path, [*head, ""] if head else [], lines)


def _lines(rows: pd.DataFrame, predicate: str, curies: Curies) -> list[str]:
    ends = zip(rows["source_iri"].tolist(), rows["target_iri"].tolist(), strict=True)
    verb = _term(predicate, curies) if len(rows) else ""
    return [f"{_term(source, curies)} {verb} {_term(target, curies)} ." for source, target in ends]


def _term(iri: str, curies: Curies) -> str:
    namespace = curies.find(iri)
    if namespace is not None and _SIMPLE.fullmatch(iri, len(namespace)):
        return curies.contract(iri)
    return _full(iri)


def _full(iri: str) -> str:
    """The IRI in angle brackets. Unicode's own spaces are allowed in it, but some readers want them escaped."""
    return "<" + _SPACE.sub(lambda found: f"\\u{ord(found[0]):04X}", iri) + ">"


def _write(path: Path, head: list[str], lines: list[str]) -> int:
    with atomic_file(path) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in (*head, *lines)), encoding="utf-8", newline="")
    return len(lines)
