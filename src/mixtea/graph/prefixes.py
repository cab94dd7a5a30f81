"""Prefixes: `dbr:Berlin` for people, `http://dbpedia.org/resource/Berlin` in the files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

BUILT_IN = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "skosxl": "http://www.w3.org/2008/05/skos-xl#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "schema": "http://schema.org/",
    "sdo": "https://schema.org/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "gn": "http://www.geonames.org/ontology#",
    "dbr": "http://dbpedia.org/resource/",
    "dbo": "http://dbpedia.org/ontology/",
    "dbp": "http://dbpedia.org/property/",
    "dbpedia-de": "http://de.dbpedia.org/resource/",
    "dbpedia-fr": "http://fr.dbpedia.org/resource/",
    "dbpedia-ja": "http://ja.dbpedia.org/resource/",
    "dbpedia-zh": "http://zh.dbpedia.org/resource/",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "yago": "http://yago-knowledge.org/resource/",
    "obo": "http://purl.obolibrary.org/obo/",
    "oboInOwl": "http://www.geneontology.org/formats/oboInOwl#",
    "semapv": "https://w3id.org/semapv/vocab/",
    "sssom": "https://w3id.org/sssom/",
    "linkml": "https://w3id.org/linkml/",
}
OWL = BUILT_IN["owl"]
OBO_ID = re.compile(r"[A-Za-z_]+:\w+")


def merge_prefixes(maps: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Merge prefixes of several files, then the built-in ones; the first of a name or a namespace counts.

    >>> merge_prefixes([{"": "http://dbpedia.org/resource/"}])["owl"]
    'http://www.w3.org/2002/07/owl#'
    """
    found: dict[str, str] = {}
    namespaces: set[str] = set()
    for prefixes in (*maps, BUILT_IN):
        for prefix, namespace in prefixes.items():
            if prefix not in found and namespace and namespace not in namespaces:
                found[prefix] = namespace
                namespaces.add(namespace)
    return found


def expand(text: str, prefixes: Mapping[str, str]) -> str:
    """Expand `dbr:Berlin` to an IRI; a text without a known prefix is unchanged.

    >>> expand("owl:sameAs", BUILT_IN)
    'http://www.w3.org/2002/07/owl#sameAs'
    """
    prefix, colon, rest = text.partition(":")
    return prefixes[prefix] + rest if colon and prefix in prefixes and not rest.startswith("//") else text


def iris(*names: str) -> frozenset[str]:
    """Expand names with built-in prefixes.

    >>> iris("owl:sameAs")
    frozenset({'http://www.w3.org/2002/07/owl#sameAs'})
    """
    return frozenset(expand(name, BUILT_IN) for name in names)


def obo_iri(text: str) -> str:
    """Return the IRI of `GO:0008150` in OBO; another text is unchanged.

    >>> obo_iri("GO:0008150"), obo_iri("http://e.org/a")
    ('http://purl.obolibrary.org/obo/GO_0008150', 'http://e.org/a')
    """
    return f"{BUILT_IN['obo']}{text.replace(':', '_')}" if OBO_ID.fullmatch(text) else text


def shorten(label: str, prefixes: Mapping[str, str]) -> str:
    """Replace the longest namespace that an IRI starts with by its prefix; other texts are unchanged.

    >>> shorten("http://www.wikidata.org/entity/Q64", BUILT_IN)
    'wd:Q64'
    """
    best = ""
    short = label
    for prefix, namespace in prefixes.items():
        if len(best) < len(namespace) < len(label) and label.startswith(namespace):
            best, short = namespace, f"{prefix}:{label[len(namespace) :]}"
    return short
