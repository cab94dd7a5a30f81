"""Find the requested columns of a table by their names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from mixtea.io.safe.limits import UnreadableError
from mixtea.io.safe.sandboxed.table_child import normalise_header

Headers = Sequence[tuple[str, ...]]
TRIPLE_HEADERS: Headers = (
    ("head", "relation", "tail"),
    ("subject", "predicate", "object"),
    ("source", "relation", "target"),
    ("subject", "relation", "object"),
    ("head", "predicate", "tail"),
    ("h", "r", "t"),
    ("s", "p", "o"),
    ("subject", "property", "object"),
    *((start, word, end) for start, end in (("source", "target"), ("from", "to"), ("start", "end"))
      for word in ("relation", "type", "label")),
    (":startid", ":type", ":endid"),
)  # fmt: skip
EDGE_HEADERS: Headers = [row[::2] for row in TRIPLE_HEADERS if len(row[0]) > 1]
LINK_HEADERS: Headers = (
    ("source", "target"),
    ("subject", "object"),
    ("head", "tail"),
    ("left", "right"),
    ("from", "to"),
    *((f"{one}{what}", f"{other}{what}") for one, other in (
        ("source", "target"), ("subject", "object"), ("src", "tgt"), ("left", "right"), ("ltable", "rtable"),
    ) for what in ("id", "uri", "iri", "entity")),
    *((f"{what}1", f"{what}2") for what in ("entity", "uri", "iri", "id", "source", "kg", "e", "ent")),
)  # fmt: skip
NAME_HEADERS: Headers = (
    ("id", "text"),
    ("id", "name"),
    ("id", "label"),
    ("entity", "text"),
    ("entity", "name"),
    ("entity", "label"),
    ("id", "translation"),
    ("entity", "translation"),
)
WORD_HEADERS: Headers = (("word", "translation"), ("source", "target"), ("from", "to"))

ID_WORDS = ("item", "entity", "subject", "node", "concept", "term", "code", "identifier", "key", "resource", "url")
ID_NAME = re.compile(
    r":?(?:[\w -]*[a-z_ -])?(?:ID|URI|IRI|Id|Uri|Iri)|(?:[\w -]*[_ -])?(?:id|uri|iri)|geonameid"
)  # not Madrid
ID_WORDS_ANYWHERE = ("id", "uri", "iri", "identifier")  # in a column that is not the first one
RELATIONS = ("relation", "predicate", "property", "relationship", "edge", "type", "rel", "p", "r")


def find_header(names: Sequence[str], headers: Headers) -> list[int] | None:
    """Return the positions of the columns of the first fitting header; None if no header fits."""
    found = [normalise_header(name) for name in names]
    for header in headers:
        if set(header) <= set(found):
            return [found.index(name) for name in header]
    return None


def repeated_name(names: Sequence[str], places: Sequence[int]) -> str:
    """Return the first requested column whose name another column has too; "" if there is none."""
    found = [normalise_header(name) for name in names]
    counts = Counter(found)
    return next((names[place].strip() for place in places if counts[found[place]] > 1), "")


def too_few_columns(path: Path, names: Sequence[str], headers: Headers) -> UnreadableError:
    """Make the error of a table with fewer columns than these headers need."""
    shown = f"{len(names)} column{'s' * (len(names) != 1)}"
    todo = f"It needs {len(headers[0])}: {' or '.join(', '.join(header) for header in headers[:2])}."
    return UnreadableError(path, None, ", ".join(names), shown, todo)


def is_id_name(name: str) -> bool:
    """Return whether a first column of this name holds ids."""
    return normalise_header(name) in ID_WORDS or ID_NAME.fullmatch(name) is not None


def find_id_column(names: Sequence[str], *, certain: bool = True) -> int | None:
    """Return the position of the column of ids; None without one, or where the columns are those of triples.

    A first column without a name holds them unless another has the name of one: pandas writes the index there. Where it
    is not `certain` that these are names, a first line of three words may be a triple.
    """
    if is_triple_header(names) or len(names) < 2 or not all(names[1:]):
        return None
    if is_id_name(names[0]):
        return 0
    if find_header(names, EDGE_HEADERS) or not (certain or len(names) > 3 or not names[0]):
        return None
    place = next((place for place, name in enumerate(names) if normalise_header(name) in ID_WORDS_ANYWHERE), None)
    return 0 if place is None and not names[0] else place


def is_triple_header(names: Sequence[str]) -> bool:
    """Return whether columns so called hold triples."""
    return find_header(names, TRIPLE_HEADERS) is not None or (
        len(names) == 3 and normalise_header(names[1]) in RELATIONS
    )
