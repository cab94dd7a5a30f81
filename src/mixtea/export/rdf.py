"""Mappings as RDF triples: source, skos:exactMatch or owl:sameAs, target; and triples of IRIs in general."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Mapping as Table
from pathlib import Path

from mixtea.decide.mapping import Mapping
from mixtea.export.curies import Curies, is_iri, known_prefixes
from mixtea.export.identifiers import add_iris
from mixtea.export.metadata import PREDICATE_IRIS, MappingMetadata
from mixtea.graph.iris import MARK
from mixtea.runs.atomic import atomic_file

_SIMPLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_SPACE = re.compile(r"\s")


def write_ntriples(mapping: Mapping, path: Path, metadata: MappingMetadata) -> int:
    """Write one line per mapping, all IRIs in full."""
    return write_triples(_triples(mapping, path, metadata), path, {}, metadata)


def write_turtle(mapping: Mapping, path: Path, metadata: MappingMetadata) -> int:
    """Write one line per mapping, with prefixes, those of the graphs included."""
    prefixes = known_prefixes(mapping, metadata)
    return write_triples(_triples(mapping, path, metadata), path, prefixes, metadata)


def _triples(mapping: Mapping, path: Path, metadata: MappingMetadata) -> Iterable[tuple[str, str, str]]:
    rows = add_iris(mapping.pairs(), mapping, path, metadata)
    predicate = [PREDICATE_IRIS[metadata.predicate]] * len(rows)
    return zip(rows["source_iri"].tolist(), predicate, rows["target_iri"].tolist(), strict=True)


def write_triples(
    triples: Iterable[tuple[str, str, str]], path: Path, prefixes: Table[str, str], metadata: MappingMetadata
) -> int:
    """Write one line per triple of IRIs, after the prefixes, N-Triples if there are none. Return the number of triples.

    Names that Turtle would have to escape are written in full. The one-line description is a comment at the top; given
    namespaces of plain ids are triples before the others.
    """
    curies = Curies({name: namespace for name, namespace in prefixes.items() if is_iri(namespace)})
    lines = [" ".join(_term(iri, curies) for iri in triple) + " ." for triple in triples]
    head = [f"@prefix {name}: {_full(namespace)} ." for name, namespace in sorted(curies.used.items())]
    notes = [
        f'{_full(metadata.set_id)} <{metadata.set_id}{MARK}{name}> "{iri}" .'
        for name, iri in metadata.id_notes().items()
    ]
    comment = [f"# {metadata.description}"] if metadata.description else []
    whole = [*comment, *([*head, ""] if head else []), *notes, *lines]
    with atomic_file(path) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in whole), encoding="utf-8", newline="")
    return len(lines)


def _term(iri: str, curies: Curies) -> str:
    namespace = curies.find(iri)
    if namespace is not None and _SIMPLE.fullmatch(iri, len(namespace)):
        return curies.contract(iri)
    return _full(iri)


def _full(iri: str) -> str:
    """Return the IRI in angle brackets, with Unicode spaces escaped, as some readers require."""
    return "<" + _SPACE.sub(lambda found: f"\\u{ord(found[0]):04X}", iri) + ">"
