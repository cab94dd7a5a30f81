"""IRIs and CURIEs: ids that are IRIs are kept, plain ids get one in a namespace, prefixes shorten them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from pyoxigraph import NamedNode

from mixtea.decide.mapping import Mapping
from mixtea.errors import ConfigError
from mixtea.export.quoting import character_problem, raise_unsupported, surrogate_problem
from mixtea.graph.graph import SIDES, Graph
from mixtea.graph.iris import MARK, decode_id, encode_in
from mixtea.graph.prefixes import BUILT_IN as COMMON
from mixtea.messages import HALF_CHARACTER, visible
from mixtea.relations.alignment import Relations

if TYPE_CHECKING:
    from mixtea.export.metadata import MappingMetadata

logger = logging.getLogger(__name__)
MAX_ID_CHARS_SHOWN = 60  # characters of an id
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
_NOT_IN_IRI = re.compile('[\x00-\x20<>"{}|\\\\^`\x7f-\x9f\ufff0-\uffff]')


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


def is_blank(name: str) -> bool:
    """Return whether the id is that of a blank node, which has a name inside its own file only."""
    return name.startswith("_:") and len(name) > 2


def _is_absolute(name: str) -> bool:
    return not name.endswith(":") and is_iri(name)


class IriAssigner:
    """IRIs of one side's entities, relations or predicates; `problems` collects the ids that cannot get one.

    An id with `scheme://` or `urn:` in front is an IRI. Where all ids are absolute IRIs, as in any RDF graph, all of
    them are. The others are plain text and get IRIs in the user's namespace for the side, else in one of the mapping
    set.
    """

    def __init__(self, ids: Iterable[str], side: str, metadata: MappingMetadata) -> None:
        self.namespace, self.is_given = metadata.namespace(side).iri, bool(metadata.given_namespace(side))
        self.only_iris = all(is_blank(name) or _is_absolute(name) for name in ids)
        self.problems: dict[str, str] = {}

    def __call__(self, name: str | None) -> str | None:
        """Return the IRI of an entity; None for None, for a blank node, and where there is a problem."""
        if name is None or is_blank(name):
            return None
        what = self._problem(name)
        if what:
            self.problems[name] = what
            return None
        if decode_id(name) is None and (LOOKS_LIKE_IRI.match(name) or (self.only_iris and _is_absolute(name))):
            return name
        return encode_in(name, self.namespace)

    def _problem(self, name: str) -> str:
        half = HALF_CHARACTER.search(name)
        if half:
            return surrogate_problem(half[0])
        if not name:
            return "has an empty id, which no IRI can hold. .parquet can take it, or give it another id."
        if not LOOKS_LIKE_IRI.match(name):
            return ""
        bad = _NOT_IN_IRI.search(name)
        if bad:
            return character_problem(bad[0], "which an IRI must not hold")
        try:
            NamedNode(name)
        except ValueError as error:
            return f"is not a valid IRI ({error}). .parquet can take it, or mend the id."
        if self.is_given and not self.only_iris and name.startswith(self.namespace):
            return f"is an IRI in {self.namespace:.200}, the namespace for ids that are none. Give them another."
        return ""


def optional_texts(column: pd.Series) -> list[str | None]:
    """Return the texts of a column, None for missing values."""
    return [value if isinstance(value, str) else None for value in column.tolist()]


def labels_of(ids: list[str | None], graph: Graph) -> list[str | None]:
    """Return the display label of each entity, None if it has none."""
    places = graph.find(np.array([*ids, None], dtype=object)[:-1]).tolist()
    return [graph.label(place) if place >= 0 else None for place in places]


def rows_to_write(mapping: Mapping, metadata: MappingMetadata) -> pd.DataFrame:
    """Return the mappings, with sources without a target if the metadata asks for them."""
    return mapping.to_frame().reset_index(drop=True) if metadata.with_unmapped else mapping.pairs()


def add_iris(rows: pd.DataFrame, mapping: Mapping, path: Path, metadata: MappingMetadata) -> pd.DataFrame:
    """Add the columns source_iri, target_iri and runner_up_iri; drop rows of blank nodes."""
    source, target = (IriAssigner(getattr(mapping, side).ids, side, metadata) for side in SIDES)
    ids = {name: optional_texts(rows[name]) for name in ("source", "target", "runner_up")}
    iris = {
        f"{name}_iri": pd.Series([naming(one) for one in ids[name]], index=rows.index, dtype=object)
        for name, naming in (("source", source), ("target", target), ("runner_up", target))
    }
    raise_unsupported(path, source.problems | target.problems)
    return drop_blank_nodes(rows.assign(**iris), path)


def ids_without_namespace(mapping: Mapping, metadata: MappingMetadata) -> dict[str, str]:
    """Return for each side without a given namespace one written id that needs one."""
    sides = [side for side in SIDES if not metadata.given_namespace(side)]
    rows, found = rows_to_write(mapping, metadata), {}
    for side in sides:
        naming = IriAssigner(getattr(mapping, side).ids, side, metadata)
        found[side] = next((id for id in optional_texts(rows[side]) if naming(id) not in (None, id)), None)
    return {side: id for side, id in found.items() if id is not None}


def missing_namespace_note(plain: dict[str, str]) -> str:
    """Explain that ids are in a generated namespace, and how to give one.

    >>> missing_namespace_note({"source": "534"})
    'the namespace of source:534 is made up for this file: give yours with --source-namespace URL'
    """
    such = " and ".join(f"{side}:{encode_in(id, '')[:MAX_ID_CHARS_SHOWN]}" for side, id in plain.items())
    options = " and ".join(f"--{side}-namespace URL" for side in plain)
    return f"the namespace of {such} is made up for this file: give yours with {options}"


def drop_blank_nodes(rows: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Drop rows of blank nodes, which have no name in another file; log how many."""
    ends = zip(optional_texts(rows["source"]), optional_texts(rows["target"]), strict=True)
    blank = pd.Series([any(is_blank(e) for e in pair if e) for pair in ends], index=rows.index, dtype=bool)
    if blank.any():
        logger.warning(
            "%s: %s of %s rows left out, for blank nodes have no name outside their file; .tsv and .parquet keep them",
            visible(path), f"{int(blank.sum()):,}", f"{len(rows):,}",
        )  # fmt: skip
    return rows[~blank]
