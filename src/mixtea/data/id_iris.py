"""Plain ids as IRIs, and back: for files that hold IRIs only.

The id `territory/France` of the source graph becomes `SET#mixtea/source/territory%2FFrance`, where SET is the
identifier of the mapping set: every byte of its UTF-8 but letters, digits and `_.-~` is percent-encoded.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

MARK = "#mixtea/"
SIDES = ("source", "target")


def id_namespace(set_id: str, side: str) -> str:
    """Where the plain ids of a side live."""
    return f"{set_id}{MARK}{side}/"


def encode_id(id: str, set_id: str, side: str) -> str:
    """The IRI that stands for a plain id.

    >>> encode_id("100 % é", "https://example.org/set", "target")
    'https://example.org/set#mixtea/target/100%20%25%20%C3%A9'
    """
    return id_namespace(set_id, side) + quote(id, safe="")


def decode_id(iri: str) -> str | None:
    """The plain id that an IRI stands for; None where it stands for itself.

    >>> decode_id("https://example.org/set#mixtea/target/100%20%25%20%C3%A9")
    '100 % é'
    >>> decode_id("https://example.org/100%20%25") is None
    True
    """
    _, _, rest = iri.partition(MARK)
    side, _, encoded = rest.partition("/")
    if side not in SIDES or not encoded:
        return None
    try:
        id = unquote(encoded, errors="strict")
        return id if quote(id, safe="") == encoded else None
    except UnicodeError:
        return None
