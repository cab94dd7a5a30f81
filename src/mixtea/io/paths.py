"""Check paths that a user gives, and split those that name a part of a file: a sheet, a table, or a query.

`people.xlsx#Sheet name`, `places.db#towns`, and `sqlite:FILE` or `sqlite:FILE#towns` whatever the file is called. A
query is in brackets, with other signs for slashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from mixtea.errors import DataError
from mixtea.io.safe.open import COMPRESSED

PathOrStr = str | PathLike[str]
OBJECTS = "Graphs in memory are given by name: load_task(source=..., target=..., links=...)."
Paths = PathOrStr | Iterable[PathOrStr]


def as_path(given: Any, name: str) -> Path:
    """Return the path that was given as the argument `name`."""
    if not isinstance(given, str | PathLike):
        todo = OBJECTS if name == "folder" else "Write it to a file, and name that."
        raise DataError(f"{name} is a path, not an object of type {type(given).__name__}. {todo}")
    if not str(given):
        raise DataError(f"{name} is a path, not an empty text.")
    return Path(given)


def as_paths(given: Any, name: str) -> list[Path]:
    """Return the paths that were given as the argument `name`: none, one or several."""
    if given is None or isinstance(given, str | PathLike):
        return [] if given is None else [as_path(given, name)]
    if not isinstance(given, Iterable) or isinstance(given, Mapping) or hasattr(given, "columns"):
        as_path(given, name)
    return [as_path(path, name) for path in given]


SQLITE = "sqlite:"
SQLITE_MAGIC = b"SQLite format 3\0"
WORKBOOK_ENDINGS, DATABASE_ENDINGS = ("xlsx", "xlsm"), ("db", "sqlite", "sqlite3")
HAS_PARTS = re.compile(rf"\.(?:{'|'.join((*WORKBOOK_ENDINGS, *DATABASE_ENDINGS))})(?:\.gz|\.zst)?(?=#)", re.IGNORECASE)
IS_DATABASE = re.compile(rf"\.(?:{'|'.join(DATABASE_ENDINGS)})(?:\.gz|\.zst)?", re.IGNORECASE)
SLASH = "\u2215"  # stands for a slash in a query, of which a path would make one of two
ESCAPE = "\u2216"


class NamedPart(NamedTuple):
    """The file of a path, and the sheet, table or query that the path names; "" if it names none."""

    file: Path
    part: str = ""
    query: str = ""


def split_name(path: Path) -> NamedPart:
    """Take a path apart.

    >>> [split_name(Path(name))[1:] for name in ("people.xlsx#My sheet", "sqlite:a.data#towns", "c#.csv")]
    [('My sheet', ''), ('towns', ''), ('', '')]
    """
    text = str(path).removeprefix(SQLITE)
    signs = re.finditer("(?=#)", text) if is_prefixed(path) else HAS_PARTS.finditer(text)
    places = [found.end() for found in signs]
    if not places or _is_file(text):
        return NamedPart(Path(text))
    place = next((place for place in places if _is_file(text[:place])), places[0])
    file, part = Path(text[:place]), text[place + 1 :]
    if not (part.startswith("(") and part.endswith(")")):
        return NamedPart(file, part)
    return NamedPart(file, query=re.sub(f"{ESCAPE}(.)|{SLASH}", lambda sign: sign[1] or "/", part[1:-1]))


def is_prefixed(path: Path) -> bool:
    """Return whether a path begins with `sqlite:`, whatever the file is called."""
    return str(path).startswith(SQLITE)


def plain_name(path: Path) -> str:
    """Return the file's name without its endings and without the part that the path names."""
    return bare_path(path).stem


def bare_path(path: Path) -> Path:
    """Return the file that a path names, without the ending of its compression."""
    file = split_name(path).file
    return file.with_suffix("") if file.suffix.lower() in COMPRESSED else file


def with_queries(given: Sequence[Any], queries: Sequence[str], name: str) -> list[Any]:
    """Return what was given as the argument `name` with its queries, one for each database in their order."""
    if not queries:
        return list(given)
    bases = [
        one for one in given if isinstance(one, Path)
        and (is_prefixed(one) or IS_DATABASE.fullmatch("".join(split_name(one).file.suffixes[-2:])))
    ]  # fmt: skip
    if len(bases) != len(queries):
        counts = f"{len(queries):,} for {len(bases):,} of its files that are databases"
        raise DataError(f"{name}_query: {counts}. Give one for each sqlite:FILE of {name}, or none.")
    left = iter(queries)
    return [_with_query(one, next(left), name) if one in bases else one for one in given]


def _with_query(path: Path, query: str, name: str) -> Path:
    found = split_name(path)
    if found.part or found.query:
        raise DataError(f"{name}_query: {path} names a table already. Leave that out, or the query.")
    query = re.sub(f"[{SLASH}{ESCAPE}]", rf"{ESCAPE}\g<0>", query).replace("/", SLASH)
    return Path(f"{SQLITE}{found.file}#({query})")


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # a name that is too long
        return False
