"""An ontology of the size of an anatomy, and what is read of it beside what a person would count.

    python benchmarks/anatomy.py [--classes 3000]

Every class has a label, a superclass, a restriction, and two synonyms that are nodes of their own, one blank and one
with an IRI, as older files have them; every third has a definition that is a node. Prints a table, and ends with 1 if
a count is not as expected.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from mixtea.errors import Problems
from mixtea.graph.graph import Graph
from mixtea.io.load_graph import read_graph

E, OBO = "http://mouse.owl#", "http://www.geneontology.org/formats/oboInOwl#"
HEAD = f"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:o="{OBO}" xml:base="http://mouse.owl">
<owl:Ontology rdf:about=""/>
<owl:ObjectProperty rdf:ID="part_of"><rdfs:label>part of</rdfs:label></owl:ObjectProperty>
<owl:ObjectProperty rdf:ID="develops_from"><rdfs:label>develops from</rdfs:label></owl:ObjectProperty>
"""
CLASS = """<owl:Class rdf:ID="MA_{i}"><rdfs:label>structure {i}</rdfs:label>{parent}
<rdfs:subClassOf><owl:Restriction><owl:onProperty rdf:resource="#{relation}"/>
<owl:someValuesFrom rdf:resource="#MA_{whole}"/></owl:Restriction></rdfs:subClassOf>
<o:hasExactSynonym><o:Synonym><rdfs:label>other name {i}</rdfs:label></o:Synonym></o:hasExactSynonym>
<o:hasRelatedSynonym rdf:resource="#genid{i}"/>{definition}</owl:Class>
<o:Synonym rdf:ID="genid{i}"><rdfs:label>third name {i}</rdfs:label></o:Synonym>
"""
PARENT = '<rdfs:subClassOf rdf:resource="#MA_{}"/>'
DEFINED = "<o:hasDefinition><o:Definition><rdfs:label>It is structure {}.</rdfs:label></o:Definition></o:hasDefinition>"


def anatomy(n: int) -> str:
    """The file, with n classes."""
    return HEAD + "".join(
        CLASS.format(
            i=i, parent=PARENT.format((i - 1) // 4) if i else "", whole=(7 * i + 3) % n,
            relation=("part_of", "develops_from")[i % 2], definition="" if i % 3 else DEFINED.format(i),
        )
        for i in range(n)
    ) + "</rdf:RDF>\n"  # fmt: skip


def counted(n: int) -> dict[str, int]:
    """What a person counts in it."""
    labels, definitions = 3 * n + 2, (n + 2) // 3
    return {
        "classes": n, "properties": 2, "entities": n + 2, "relations": 3, "triples": n - 1 + n, "labels": labels,
        "values": labels + definitions + n + 2,  # of labels, definitions and types
    }  # fmt: skip


def read(graph: Graph) -> dict[str, int]:
    return {
        **graph.kind_counts(), "entities": graph.n_entities, "relations": graph.n_relations,
        "triples": graph.n_triples, "labels": len(graph.labels), "values": graph.n_attribute_triples,
    }  # fmt: skip


def main() -> None:
    from common import header, row

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", type=int, default=3000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, problems = Path(folder) / "anatomy.owl", Problems()
        path.write_text(anatomy(args.classes), encoding="utf-8")
        began = time.perf_counter()
        graph = read_graph(path, problems)
        seconds, mb = time.perf_counter() - began, path.stat().st_size / 1e6
        problems.raise_if_any()
    expected, found = counted(args.classes), read(graph)
    header("", "a person counts", "mixtea reads")
    for name, n in expected.items():
        row([name, f"{n:,}", f"{found.get(name, 0):,}"])
    print(f"{mb:.1f} MB in {seconds:.1f} s")
    sys.exit(found != expected)


if __name__ == "__main__":
    main()
