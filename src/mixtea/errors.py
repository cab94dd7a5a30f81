"""The errors that a user can meet. Each message says where, what, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

SHOWN_PER_FILE = 20


class MixTEAError(Exception):
    """Base of all errors that mixtea raises on purpose."""


class DataError(MixTEAError, ValueError):
    """An input file cannot be used as it is."""


class ConfigError(MixTEAError, ValueError):
    """A setting is unknown, of the wrong type, or out of range."""


class RunError(MixTEAError):
    """A run folder cannot be read or written."""


class NotFittedError(MixTEAError, RuntimeError):
    """Something learned was asked of an aligner that has not learned yet."""


class TrainingError(MixTEAError, RuntimeError):
    """A training could not go on, through no fault of the call or the files."""


class ProcessLostError(TrainingError):
    """Another process of the same run has ended."""


class MissingExtraError(MixTEAError, ImportError):
    """An optional library is needed; the message names the extra that brings it."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong in one place of one file."""

    file: Path
    line: int | None
    value: str
    what: str
    todo: str

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        shown = f" {shorten(self.value)}" if self.value else ""
        return f"  {where}{self.what}{shown}. {self.todo}"


@dataclass
class Problems:
    """Collects what is wrong in the files of one task, so that a user sees everything at once."""

    found: list[Problem] = field(default_factory=list)

    def add(self, file: Path, line: int | None, value: str, what: str, todo: str) -> None:
        self.found.append(Problem(file, line, value, what, todo))

    def raise_if_any(self) -> None:
        """Raise one DataError that lists, for each file, the first twenty problems and their number."""
        if self.found:
            raise DataError("\n".join(_report(self.found)))


def _report(found: Iterable[Problem]) -> Iterable[str]:
    by_file: dict[Path, list[Problem]] = {}
    for problem in found:
        by_file.setdefault(problem.file, []).append(problem)
    for file, problems in by_file.items():
        problems.sort(key=lambda p: p.line or 0)
        yield f"{file}: {len(problems)} problem{'s' if len(problems) > 1 else ''}"
        yield from map(str, problems[:SHOWN_PER_FILE])
        if len(problems) > SHOWN_PER_FILE:
            yield f"  ... and {len(problems) - SHOWN_PER_FILE} more"


def shorten(value: str, width: int = 100) -> str:
    """The value as a Python literal, so that invisible characters show, cut to a line's length."""
    shown = repr(value)
    return shown if len(shown) <= width else shown[: width - 4] + "..." + shown[0]
