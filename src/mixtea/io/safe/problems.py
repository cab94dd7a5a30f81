"""Errors in files: unreadable files, and places up to a limit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from mixtea.errors import DataError, Problem, Problems
from mixtea.io.safe.limits import advice
from mixtea.messages import visible

HALF_A_CHARACTER, MEND = "half a character in", "No file can hold it: mend the text."


class UnreadableError(DataError):
    """A file that cannot be read, or not any further."""

    def __init__(self, path: Path, line: int | None, value: str, what: str, todo: str) -> None:
        self.problem = Problem(path, line, value, what, todo)
        super().__init__(f"{visible(path)}: {str(self.problem).strip()}")


def limit_exceeded(path: Path, line: int | None, what: str, limit: str) -> UnreadableError:
    """Make the error of a file that exceeds a limit, which it names."""
    return UnreadableError(path, line, "", f"{what}: beyond the limit {limit}", advice(limit))


@contextmanager
def collect_unreadable(problems: Problems) -> Iterator[None]:
    """Add a file that turns out unreadable in the block to the problems."""
    try:
        yield
    except UnreadableError as error:
        by_row = error.problem.file in problems.by_row
        problems.found.append(replace(error.problem, counted="row") if by_row else error.problem)


def truncate_rows(problems: Problems, path: Path, rows: np.ndarray) -> np.ndarray:
    """Return the rows to report individually; the rest is only counted."""
    kept = rows[: max(problems.limit - problems.kept[path], 0)]
    problems.skipped[path] += len(rows) - len(kept)
    return kept
