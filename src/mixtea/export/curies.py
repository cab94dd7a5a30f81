"""IRIs and CURIEs: recognise IRIs, parse namespaces for plain ids, shorten IRIs by prefixes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from pyoxigraph import NamedNode

from mixtea.decide.mapping import Mapping
from mixtea.errors import ConfigError
from mixtea.graph.iris import MARK, SIDES
from mixtea.graph.prefixes import BUILT_IN as COMMON
from mixtea.relations.alignment import Relations

if TYPE_CHECKING:
    from mixtea.export.metadata import MappingMetadata

SSSOM_PREFIXES = {
    "linkml": "https://w3id.org/linkml/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "semapv": "https://w3id.org/semapv/vocab/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sssom": "https://w3id.org/sssom/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
SCHEMES = ("http", "https", "urn", "file", "mailto")  # which begin IRIs, so they cannot be prefixes
_FILE = re.compile(r"\.(owl|rdf|ttl|obo|xml|nt)$")
PREFIX_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
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


def known_prefixes(mapping: Mapping | Relations, metadata: MappingMetadata) -> dict[str, str]:
    """Map prefixes to namespaces: SSSOM's own, those of plain ids, then those of the graphs that do not contradict."""
    own = dict(map(metadata.namespace, SIDES)) | {"mixtea": metadata.set_id + MARK}
    known: dict[str, str] = {}
    taken: set[str] = set()
    for prefixes in (
        SSSOM_PREFIXES,
        own,
        *(getattr(graph, "prefixes", {}) for graph in (mapping.source, mapping.target)),
    ):
        for name, namespace in prefixes.items():
            if namespace and name not in known and namespace not in taken and PREFIX_NAME.fullmatch(name):
                known[name] = namespace
                taken.add(namespace)
    return known


class Curies:
    """Contract IRIs by the longest known namespace, else by a prefix suggested by the namespace itself.

    `used` holds the prefixes needed so far.
    """

    def __init__(self, known: dict[str, str]) -> None:
        self.used: dict[str, str] = {}
        self._known = known
        self._prefix_of = {namespace: name for name, namespace in known.items()}
        self._lengths = sorted({len(namespace) for namespace in known.values()}, reverse=True)
        self._made_up: dict[str, str] = {}
        self._taken = {name.lower() for name in (*known, *COMMON, *SCHEMES)}
        self._numbered = map("ns{}".format, count(1))

    def find(self, iri: str) -> str | None:
        """Return the longest known namespace that is a proper prefix of the IRI, None if there is none."""
        return next((iri[:n] for n in self._lengths if n < len(iri) and iri[:n] in self._prefix_of), None)

    def contract(self, iri: str) -> str:
        namespace = self.find(iri)
        if namespace is not None:
            name = self._prefix_of[namespace]
        else:
            namespace = namespace_of(iri)
            name = self._made_up.get(namespace) or self._call(namespace)
        self.used[name] = namespace
        return f"{name}:{iri[len(namespace) :]}"

    def _call(self, namespace: str) -> str:
        """Add a prefix for a new namespace: a free word of its own, else ns1, ns2, ..."""
        name = next((word for word in prefix_suggestions(namespace) if word.lower() not in self._taken), "")
        self._made_up[namespace] = name or next(word for word in self._numbered if word not in self._taken)
        self._taken.add(self._made_up[namespace].lower())
        return self._made_up[namespace]

    def require(self, curies: Iterable[str]) -> None:
        """Note the prefixes of CURIEs that are written as they are."""
        for curie in curies:
            name = curie.partition(":")[0]
            self.used[name] = self._known[name]


def prefix_suggestions(namespace: str) -> Iterator[str]:
    """Yield names for a namespace: its last word, then that of its host.

    >>> list(prefix_suggestions("http://www.okkam.org/oaie/")), list(prefix_suggestions("http://a.org/1/"))
    (['oaie', 'okkam'], ['a'])
    """
    _, _, rest = namespace.rstrip("/#:").rpartition("://")
    host, *path = re.split("[/#:]", rest)
    labels = host.removeprefix("www.").split(".")
    if namespace in ("http://", "https://"):  # all that http://cmt has of one
        yield "web"
    last = _FILE.sub("", path[-1] if path else host)
    yield from (word for word in dict.fromkeys((last, labels[0])) if PREFIX_NAME.fullmatch(word))


def namespace_of(iri: str) -> str:
    """Return the namespace of an IRI: up to the last inner `#` or `/`, else up to the last inner `:`.

    >>> [namespace_of(iri) for iri in ("http://dbpedia.org/resource/France", "http://example.org/", "urn:isbn:12")]
    ['http://dbpedia.org/resource/', 'http://', 'urn:isbn:']
    """
    end = max(iri.rfind("#", 0, -1), iri.rfind("/", 0, -1))
    return iri[: (end if end >= 0 else iri.rfind(":", 0, -1)) + 1]
