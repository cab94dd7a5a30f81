"""Which columns of a table are meant, by their names."""

from __future__ import annotations

from collections.abc import Sequence

Headers = Sequence[tuple[str, ...]]
TRIPLE_HEADERS: Headers = (
    ("head", "relation", "tail"),
    ("subject", "predicate", "object"),
    ("source", "relation", "target"),
    ("subject", "relation", "object"),
    ("head", "predicate", "tail"),
    ("h", "r", "t"),
    ("s", "p", "o"),
)
LINK_HEADERS: Headers = (
    ("source", "target"),
    ("subject", "object"),
    ("subject_id", "object_id"),
    ("head", "tail"),
    ("left", "right"),
    ("entity1", "entity2"),
)
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


def header_places(names: Sequence[str], headers: Headers) -> list[int] | None:
    """Where the columns of the first fitting header are; None if no header fits."""
    found = [name.strip().lower() for name in names]
    for header in headers:
        if set(header) <= set(found):
            return [found.index(name) for name in header]
    return None
