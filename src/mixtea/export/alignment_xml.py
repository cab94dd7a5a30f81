"""Mappings in the Alignment format of the OAEI, RDF/XML that is read as XML too.

https://moex.gitlabpages.inria.fr/alignapi/format.html
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pandas as pd

from mixtea.decide.mapping import Mapping
from mixtea.export.identifiers import add_iris
from mixtea.export.metadata import MappingMetadata
from mixtea.graph.iris import MARK
from mixtea.runs.atomic import atomic_file

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
