"""The same small graph, and the same links, in every format that is read; a new format needs a row here."""

from __future__ import annotations

import json

import pyoxigraph
from small_files import excel, parquet, sqlite

A, B = "http://a.org/", "http://b.org/"
TRIPLES = [(f"{A}a", f"{A}r", f"{A}b"), (f"{A}b", f"{A}s", f"{A}c")]
LINKS = [(f"{A}a", f"{B}x"), (f"{A}b", f"{B}y")]
SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
GRAPH_HEADER, LINK_HEADER = ("head", "relation", "tail"), ("source", "target")


def rdf(kind):
    """A function that writes rows in one of RDF's formats; two columns are joined by owl:sameAs.

    Quads are in a named graph, and names have prefixes, where the format can have them.
    """

    def written(rows, header):
        nodes = [[pyoxigraph.NamedNode(cell) for cell in row] for row in rows]
        same = pyoxigraph.NamedNode(SAME_AS)
        triples = [(row[0], row[1] if len(row) > 2 else same, row[-1]) for row in nodes]
        if kind.supports_datasets:
            quads = [pyoxigraph.Quad(*triple, pyoxigraph.NamedNode(f"{A}graph")) for triple in triples]
            return pyoxigraph.serialize(quads, format=kind, prefixes={"a": A, "b": B})
        return pyoxigraph.serialize([pyoxigraph.Triple(*t) for t in triples], format=kind, prefixes={"a": A, "b": B})

    return written


def text(sign):
    return lambda rows, header: "".join(sign.join(row) + "\n" for row in [header, *rows])


def columns(rows, header):
    return parquet(dict(zip(header, map(list, zip(*rows, strict=True)), strict=True)))


def database(rows, header):
    return sqlite({"t": (", ".join(f"{name} TEXT" for name in header), rows)})


def objects(rows, header):
    return [dict(zip(header, row, strict=True)) for row in rows]


def json_lines(rows, header):
    return "".join(json.dumps(one) + "\n" for one in objects(rows, header))


def json_file(rows, header):
    return json.dumps(objects(rows, header)) if len(header) == 2 else rdf(pyoxigraph.RdfFormat.JSON_LD)(rows, header)


def obo(rows, header):
    """Terms by their IRIs, with a relationship or an xref each."""
    lines = [
        f"[Term]\nid: {row[0]}\n{f'xref: {row[1]}' if len(row) == 2 else f'relationship: {row[1]} {row[2]}'}\n"
        for row in rows
    ]
    return "format-version: 1.4\n\n" + "\n".join(lines)


def alignment(rows, header):
    cells = "".join(
        f'<map><Cell><entity1 rdf:resource="{source}"/><entity2 rdf:resource="{target}"/>'
        "<relation>=</relation><measure>1</measure></Cell></map>"
        for source, target in rows
    )
    return (
        '<?xml version="1.0"?><rdf:RDF xmlns="http://knowledgeweb.semanticweb.org/heterogeneity/alignment#" '
        f'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><Alignment>{cells}</Alignment></rdf:RDF>'
    )


def sssom(rows, header):
    lines = [f"{source}\tskos:exactMatch\t{target}\tsemapv:LexicalMatching" for source, target in rows]
    names = "subject_id\tpredicate_id\tobject_id\tmapping_justification"
    return "\n".join(["#curie_map:", "#  a: http://a.org/", names, *lines]) + "\n"


SAMPLES = {  # by the name of the format, as in mixtea/io/formats/registry.py
    "Parquet": columns,
    "Excel": lambda rows, header: excel({"s": [header, *rows]}),
    "SQLite": database,
    "Alignment": alignment,
    "RDF/XML": rdf(pyoxigraph.RdfFormat.RDF_XML),
    "SSSOM": sssom,
    "N-Triples": rdf(pyoxigraph.RdfFormat.N_TRIPLES),
    "N-Quads": rdf(pyoxigraph.RdfFormat.N_QUADS),
    "TriG": rdf(pyoxigraph.RdfFormat.TRIG),
    "Turtle": rdf(pyoxigraph.RdfFormat.TURTLE),
    "JSON lines": json_lines,
    "JSON-LD": rdf(pyoxigraph.RdfFormat.JSON_LD),
    "OBO": obo,
    "TSV": text("\t"),
    "CSV": text(","),
    "JSON": json_file,
}
