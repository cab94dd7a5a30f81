"""Plain ids as IRIs, and back: for files that hold IRIs only.

The id `territory/France` of the source graph becomes `SET#mixtea/source/territory%2FFrance`, where SET is the
identifier of the mapping set: every byte of its UTF-8 but letters, digits and `_.-~` is percent-encoded. In a
namespace that a user gives it is put behind that in the same way, and the file notes the namespace for its readers:
a triple with the predicate `SET#mixtea/source_ids` in RDF, an element `source_ids` in alignments, `ext_source_ids` in
SSSOM.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from mixtea.graph.graph import SIDES

MARK = "#mixtea/"
NOTES = tuple(f"{side}_ids" for side in SIDES)  # by which files note the namespaces that a user gave


def id_namespace(set_id: str, side: str) -> str:
    """Return the namespace of the plain ids of a side."""
    return f"{set_id}{MARK}{side}/"


def encode_id(id: str, set_id: str, side: str) -> str:
    """Return the IRI of a plain id.

    >>> encode_id("100 % é", "https://example.org/set", "target")
    'https://example.org/set#mixtea/target/100%20%25%20%C3%A9'
    """
    return encode_in(id, id_namespace(set_id, side))


def encode_in(id: str, namespace: str) -> str:
    """Return the IRI of a plain id in a namespace."""
    return namespace + quote(id, safe="")


def decode_id(iri: str, namespace: str = "") -> str | None:
    """Return the plain id of an IRI, also in a given namespace; None for any other IRI.

    >>> decode_id("https://example.org/set#mixtea/target/100%20%25%20%C3%A9")
    '100 % é'
    >>> decode_id("https://example.org/100%20%25") is None, decode_id("https://a.org/5%2F6", "https://a.org/")
    (True, '5/6')
    """
    _, _, rest = iri.partition(MARK)
    side, _, encoded = rest.partition("/")
    if side in SIDES and encoded:
        return _decoded(encoded)
    return _decoded(iri.removeprefix(namespace)) if namespace and iri.startswith(namespace) else None


def _decoded(encoded: str) -> str | None:
    try:
        id = unquote(encoded, errors="strict")
        return id if id and quote(id, safe="") == encoded else None
    except UnicodeError:
        return None
