"""Recognise IRIs, and parse the namespaces in which plain ids become IRIs."""

from __future__ import annotations

import re
from typing import NamedTuple

from pyoxigraph import NamedNode

from mixtea.errors import ConfigError
from mixtea.export.curies import PREFIX_NAME, SCHEMES, SSSOM_PREFIXES

LOOKS_LIKE_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|urn:.")
_WITH_PREFIX = re.compile(r"(?P<prefix>[^=:/?#]*)=(?P<iri>.*)", re.DOTALL)
RESERVED_PREFIXES = {*SSSOM_PREFIXES, *SCHEMES, "mixtea"}
NAMESPACE_ADVICE = "Give a URL for ids to follow, such as https://example.org/items/, or PREFIX=URL."


class Namespace(NamedTuple):
    """A prefix and its namespace IRI."""

    prefix: str
    iri: str


def is_iri(text: str) -> bool:
    """Return whether the text is a valid absolute IRI."""
    try:
        return bool(NamedNode(text))
    except ValueError:
        return False


def parse_namespace(text: str, side: str) -> Namespace:
    """Read `URL` or `PREFIX=URL`; without a prefix of its own the namespace is called after the side.

    >>> parse_namespace("https://example.org/items/", "source"), parse_namespace("shop=https://s/?id=", "target").prefix
    (Namespace(prefix='source', iri='https://example.org/items/'), 'shop')
    """
    found, name = _WITH_PREFIX.fullmatch(text), f"{side}_namespace"
    prefix, iri = (found["prefix"], found["iri"]) if found else (side, text)
    if not LOOKS_LIKE_IRI.match(iri) or not is_iri(iri + "1"):
        raise ConfigError(f"{name}: {text!r:.200} is not a namespace. {NAMESPACE_ADVICE}")
    if iri[-1].isalnum():
        raise ConfigError(f"{name}: {iri!r:.200} and an id would be one word. End it with / or #, as in {iri:.200}/")
    if not PREFIX_NAME.fullmatch(prefix) or prefix in RESERVED_PREFIXES:
        why = "is one of SSSOM's own" if prefix in RESERVED_PREFIXES else "is not a name"
        raise ConfigError(f"{name}: the prefix {prefix!r:.100} {why}. Take another word of letters and digits.")
    return Namespace(prefix, iri)
