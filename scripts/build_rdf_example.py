"""Write the bundled example as RDF for the tutorial: `python scripts/build_rdf_example.py [FOLDER]` (world).

Two Turtle files with readable names, the links of fold 1 that train and validate as an SSSOM file, and those that test.
"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote

from mixtea import load_example
from mixtea.graph.graph import Graph

SIDES = {"geonames": "en", "cldr": "fr"}
BASE = "https://example.org/"
HEAD = """# The world, from {origin}; see src/mixtea/example/world/README.md for sources and licences.
@prefix {prefix}: <{base}> .
@prefix {prefix}-vocab: <{base}vocab#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .

"""


def local(label: str) -> str:
    """Return the end of an IRI: letters of all languages unchanged, blanks as underscores."""
    return "".join(c if c.isalnum() or c in "/_-." else "_" if c == " " else quote(c) for c in label)


def iri(prefix: str, label: str) -> str:
    return f"<{BASE}{prefix}/{local(label)}>"


def turtle(graph: Graph, prefix: str, language: str) -> str:
    """Return the relation triples, then a readable name of every entity."""
    base, origin = f"{BASE}{prefix}/", {"geonames": "GeoNames", "cldr": "Unicode CLDR"}[prefix]
    lines = [
        f"{iri(prefix, graph.ids[h])} <{base}vocab#{local(graph.relations[r])}> {iri(prefix, graph.ids[t])} ."
        for h, r, t in graph.triples.tolist()
    ]
    for label in graph.ids.tolist():
        name = label.partition("/")[2].replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'{iri(prefix, label)} rdfs:label "{name}"@{language} .')
    return HEAD.format(origin=origin, prefix=prefix, base=base) + "\n".join(lines) + "\n"


def sssom(links: list[tuple[str, str]], name: str) -> str:
    head = "".join(f"#  {prefix}: {BASE}{prefix}/\n" for prefix in SIDES)
    lines = [f"geonames:{local(s)}\tskos:exactMatch\tcldr:{local(t)}\tsemapv:ManualMappingCuration" for s, t in links]
    return (
        f"#curie_map:\n{head}#  skos: http://www.w3.org/2004/02/skos/core#\n"
        "#  semapv: https://w3id.org/semapv/vocab/\n"
        f"#mapping_set_id: {BASE}{name}\n#license: https://creativecommons.org/licenses/by/4.0/\n"
        "subject_id\tpredicate_id\tobject_id\tmapping_justification\n" + "\n".join(lines) + "\n"
    )


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "world")
    folder.mkdir(parents=True, exist_ok=True)
    task = load_example()
    for graph, (prefix, language) in zip((task.source, task.target), SIDES.items(), strict=True):
        (folder / f"{prefix}.ttl").write_text(turtle(graph, prefix, language), encoding="utf-8")

    def named(*splits: str) -> list[tuple[str, str]]:
        pairs = [pair for split in splits for pair in getattr(task, split).tolist()]
        return [(task.source.ids[s], task.target.ids[t]) for s, t in pairs]

    (folder / "seeds.sssom.tsv").write_text(sssom(named("train", "valid"), "seeds"), encoding="utf-8")
    (folder / "check.sssom.tsv").write_text(sssom(named("test"), "check"), encoding="utf-8")


if __name__ == "__main__":
    main()
