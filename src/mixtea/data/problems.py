"""What is wrong in files: one that cannot be read at all, and as many places as anyone will look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from mixtea.data.limits import in_force, way_out
from mixtea.errors import SHOWN_PER_FILE, DataError, Problem, Problems

KEPT = 400  # characters of a value: more than is ever shown


class UnreadableError(DataError):
    """A file that cannot be read, or not any further."""

    def __init__(self, path: Path, line: int | None, value: str, what: str, todo: str) -> None:
        self.problem = Problem(path, line, value[:KEPT], what, todo)
        super().__init__(f"{path}: {str(self.problem).strip()}")


def beyond(path: Path, line: int | None, what: str, limit: str) -> UnreadableError:
    """The error of a file that exceeds a limit; it names the limit."""
    return UnreadableError(path, line, "", f"{what}: beyond the limit {limit}", way_out(limit))


@contextmanager
def collected(problems: Problems) -> Iterator[None]:
    """A file that turns out unreadable in the block joins the problems."""
    try:
        yield
    except UnreadableError as error:
        problems.found.append(error.problem)


class FileProblems(Problems):
    """Problems of files that may have any number of them: those beyond a limit are counted, not kept."""

    def __init__(self) -> None:
        super().__init__()
        self.limit, self.kept, self.skipped = in_force().max_problems, Counter[Path](), Counter[Path]()

    def add(self, file: Path, line: int | None, value: str, what: str, todo: str) -> None:
        if self.kept[file] < self.limit:
            self.kept[file] += 1
            super().add(file, line, value[:KEPT], what, todo)
        else:
            self.skipped[file] += 1

    def raise_if_any(self) -> None:
        """Raise one DataError that lists, for each file, the first twenty problems and their number."""
        by_file: dict[Path, list[Problem]] = {}
        for problem in self.found:
            by_file.setdefault(problem.file, []).append(problem)
        lines: list[str] = []
        for file, problems in by_file.items():
            n = self.skipped[file] + len(problems)
            shown = sorted(problems, key=lambda p: p.line or 0)[:SHOWN_PER_FILE]
            lines += [f"{file}: {n} problem{'s' if n > 1 else ''}", *map(str, shown)]
            lines += [f"  ... and {n - len(shown)} more"] if n > len(shown) else []
        if lines:
            raise DataError("\n".join(lines))


def told(problems: Problems, path: Path, rows: np.ndarray) -> np.ndarray:
    """The first of the rows, to be told one by one; the rest is counted and costs no more than that."""
    if not isinstance(problems, FileProblems):
        return rows
    kept = rows[: max(problems.limit - problems.kept[path], 0)]
    problems.skipped[path] += len(rows) - len(kept)
    return kept
