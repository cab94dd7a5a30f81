"""Limit what an input file may ask for; a file beyond a limit is refused with a message that names the limit.

The values are far above what honest files need and far below what does harm: they are for files that are broken, or
made to break their reader. They hold for whatever is read inside `use_limits`. Errors of files, and how many of them
are kept, belong to the same.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mixtea.errors import DataError, Problem, Problems
from mixtea.fields import Fields, assignments, setting
from mixtea.messages import visible

MIB = 1 << 20
FREE_BYTES = 16 * MIB  # what any file may unpack to, however small it is
ENVIRONMENT = "MIXTEA_LIMITS"  # for the processes of `mixtea reproduce`


def _limit(default: float, why: str, low: float, high: float) -> Any:
    return setting(default, why, low=low, high=high, allowed=f"from {low:,} to {high:,}")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits on one input file; see docs/formats.md."""

    max_gib: float = _limit(64.0, "size of a file, unpacked, in GiB", 2**-20, 2.0**20)
    max_expansion: int = _limit(
        200, "how many times its own size a file may grow, by unpacking or by its prefixes and entities, after the "
        f"first {FREE_BYTES // MIB} MiB", 2, 1_000_000)  # fmt: skip
    max_token_mib: int = _limit(
        16, "length of a line, a field, a label or a statement, in MiB; 16 is the most that the parser of RDF takes",
        1, 16)  # fmt: skip
    max_nesting: int = _limit(
        1000, "depth of elements in RDF/XML, and of triples in triples (RDF 1.2), whose parser needs time or stack for "
        "each level", 1, 5000)  # fmt: skip
    max_rows: int = _limit(2_000_000_000, "lines, rows or statements in a file", 1, 10**15)
    max_columns: int = _limit(
        10_000, "columns of a table, attributes of an element in RDF/XML; the work that all attributes and namespaces "
        "of a file may make grows with it", 3, 1_000_000)  # fmt: skip
    max_problems: int = _limit(
        1000, "problems of a file that are kept with their places; further ones are counted", 20, 10_000_000
    )
    max_parser_mib: int = _limit(
        640,
        "memory for the process that parses Turtle, TriG, RDF/XML, JSON-LD, Parquet, Excel or SQLite, in MiB; for the "
        "last three 32 times the size of the file are added",
        64,
        1 << 20,
    )
    max_stall_seconds: float = _limit(
        3.0, "computing time that this process may take without asking for more of the file, and in all for each 6 "
        "MiB of the file and of what is made of it", 0.1, 86400.0)  # fmt: skip

    def __post_init__(self) -> None:
        _LIMITS.check(self)

    def bytes_for(self, packed: int) -> int:
        """Return to how many bytes a packed file of this size may unpack."""
        return min(int(self.max_gib * 1024 * MIB), max(FREE_BYTES, self.max_expansion * packed))


def parse_limits(texts: Iterable[str]) -> Limits:
    """Parse limits given as `name=value` on the command line.

    >>> parse_limits(["max_rows=1e6"]).max_rows
    1000000
    """
    return Limits(**dict(map(_LIMITS.parse, texts)))


def advice(name: str) -> str:
    """Return what to do about a limit that a file exceeds."""
    highest, now = FIELDS[name].metadata["high"], getattr(current_limits(), name)
    if now >= highest:
        return f"No more is read (--limit {name}={now:g} is the most): make the file smaller there."
    return f"If the file is right, allow more: --limit {name}=... (now {now:g})."


def current_limits() -> Limits:
    """Return the limits of `use_limits`, else those of the parent process, else the defaults."""
    inherited = os.environ.get(ENVIRONMENT, "")
    return _applied.get() or (parse_limits(inherited.split()) if inherited else DEFAULT)


@contextmanager
def use_limits(limits: Limits | None) -> Iterator[None]:
    """Use these limits inside the block; None keeps those outside."""
    token = _applied.set(limits or _applied.get())
    try:
        yield
    finally:
        _applied.reset(token)


@contextmanager
def also_in_new_processes(limits: Limits) -> Iterator[None]:
    """Use these limits inside the block, and in the processes that it starts."""
    before = os.environ.get(ENVIRONMENT)
    os.environ[ENVIRONMENT] = " ".join(assignments(dataclasses.asdict(limits)))
    try:
        with use_limits(limits):
            yield
    finally:
        os.environ.pop(ENVIRONMENT)
        os.environ |= {ENVIRONMENT: before} if before is not None else {}


def describe() -> str:
    """Return all limits as a Markdown table, for docs/formats.md."""
    rows = ["| limit | default | allowed | what it limits |", "|---|---|---|---|"]
    for name, field in FIELDS.items():
        meta = field.metadata
        low = "above 0" if meta["low"] < 0.1 else f"{meta['low']:,g}"
        rows.append(f"| `{name}` | {field.default:,} | {low} to {int(meta['high']):,} | {meta['why']} |")
    return "\n".join(rows)


_LIMITS = Fields(Limits, "limit", "name=value, as --limit needs it")
FIELDS = _LIMITS.by_name
_applied: ContextVar[Limits | None] = ContextVar("limits", default=None)
DEFAULT = Limits()


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
