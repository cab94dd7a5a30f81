"""Check paths that a user gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from mixtea.errors import DataError

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
