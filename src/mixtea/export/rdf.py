"""Mappings as RDF: triples of skos:exactMatch or owl:sameAs, and the Alignment format of the OAEI.

The latter is RDF/XML that is read as XML too: https://moex.gitlabpages.inria.fr/alignapi/format.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from collections.abc import Mapping as Table
from pathlib import Path
from typing import TypeVar
from xml.sax.saxutils import escape, quoteattr

import pandas as pd

from mixtea.decide.mapping import Mapping
from mixtea.export.identifiers import Curies, add_iris, is_iri, known_prefixes
from mixtea.export.metadata import PREDICATE_IRIS, MappingMetadata
from mixtea.graph.iris import MARK
from mixtea.relations.alignment import Relations
from mixtea.runs.atomic import atomic_file

Triple = tuple[str, str, str]  # of IRIs
Found = TypeVar("Found", Mapping, Relations)
_SIMPLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_SPACE = re.compile(r"\s")
_OPEN = """<?xml version="1.0" encoding="utf-8"?>
<rdf:RDF xmlns="http://knowledgeweb.semanticweb.org/heterogeneity/alignment"
         xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
         xmlns:dcterms="http://purl.org/dc/terms/">
"""
_CELL = """  <map>
    <Cell>
      <entity1 rdf:resource={}/>
      <entity2 rdf:resource={}/>
      <relation>=</relation>
      <measure rdf:datatype="http://www.w3.org/2001/XMLSchema#float">{:.6f}</measure>
    </Cell>
  </map>
"""


def mapping_triples(mapping: Mapping, path: Path, metadata: MappingMetadata) -> Iterable[Triple]:
    """Return one triple per mapping."""
    rows = add_iris(mapping.pairs(), mapping, path, metadata)
    predicate = [PREDICATE_IRIS[metadata.predicate]] * len(rows)
    return zip(rows["source_iri"].tolist(), predicate, rows["target_iri"].tolist(), strict=True)


def triple_writer(
    triples_of: Callable[[Found, Path, MappingMetadata], Iterable[Triple]], *, turtle: bool = False
) -> Callable[[Found, Path, MappingMetadata], int]:
    """Return a writer of the triples of a mapping or of relations: N-Triples, or Turtle with prefixes."""

    def write(found: Found, path: Path, metadata: MappingMetadata) -> int:
        prefixes = known_prefixes(found, metadata) if turtle else {}
        return _write_triples(triples_of(found, path, metadata), path, prefixes, metadata)

    return write


def _write_triples(triples: Iterable[Triple], path: Path, prefixes: Table[str, str], metadata: MappingMetadata) -> int:
    """Write one line per triple of IRIs, after the prefixes. Return the number of triples.

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


def write_alignment(mapping: Mapping, path: Path, metadata: MappingMetadata) -> int:
    """Write one cell per mapping, with the relation `=` and the probability as its measure."""
    rows = add_iris(mapping.pairs(), mapping, path, metadata)
    ends = (rows[name].tolist() for name in ("source_iri", "target_iri"))
    cells = zip(*(map(quoteattr, end) for end in ends), rows["probability"].tolist(), strict=True)
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(_OPEN + _head(metadata, _kind(rows, mapping)))
        file.writelines(_CELL.format(*cell) for cell in cells)
        file.write("</Alignment>\n</rdf:RDF>\n")
    return len(rows)


def _head(metadata: MappingMetadata, kind: str) -> str:
    graphs = {"onto1": metadata.graph_iri(metadata.source_name), "onto2": metadata.graph_iri(metadata.target_name)}
    created = metadata.date.isoformat() if metadata.date else ""
    texts = {"title": metadata.title, "description": metadata.description, "created": created}
    return "".join(
        (
            f"<Alignment rdf:about={quoteattr(metadata.set_id)}>\n",
            f"  <xml>yes</xml>\n  <level>0</level>\n  <type>{kind}</type>\n",
            *(f"  <dcterms:{name}>{escape(text)}</dcterms:{name}>\n" for name, text in texts.items() if text),
            *(
                f"  <ids:{name} xmlns:ids={quoteattr(metadata.set_id + MARK)}>{escape(iri)}</ids:{name}>\n"
                for name, iri in metadata.id_notes().items()
            ),
            f"  <dcterms:license rdf:resource={quoteattr(metadata.licence)}/>\n",
            *(
                f"  <{name}>\n    <Ontology rdf:about={quoteattr(iri)}>\n"
                f"      <location>{escape(iri)}</location>\n    </Ontology>\n  </{name}>\n"
                for name, iri in graphs.items()
            ),
        )
    )


def _kind(rows: pd.DataFrame, mapping: Mapping) -> str:
    """Return a sign for the mapping and one for its converse: 1 injective and total, ? injective, + total, * none."""
    signs = ""
    for here, there, n in (
        ("source", "target", mapping.source.n_entities),
        ("target", "source", mapping.target.n_entities),
    ):
        pairs = rows[[here, there]].drop_duplicates()
        injective, total = not pairs[there].duplicated().any(), pairs[here].nunique() == n
        signs += "1?+*"[2 * (not injective) + (not total)]
    return signs
