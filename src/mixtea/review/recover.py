"""Save what can be read of a damaged file of decisions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from mixtea.review.decision_rows import COLUMNS
from mixtea.review.decisions import DecisionStore

MAX_ID = 1 << 40  # the last row number to search where the file does not hold it
MAX_FAILURES = 10_000  # reads; a file of which nothing can be read ends the search


def recover(damaged: sqlite3.Connection, path: Path) -> tuple[int, Path]:
    """Copy the readable rows to a new file beside `path`; returns how many there are, and the new file."""
    other = _free_name(path)
    insert = f"INSERT INTO decision ({', '.join(COLUMNS)}, id) VALUES ({', '.join('?' * (len(COLUMNS) + 1))})"
    with closing(DecisionStore(other)) as store:
        for row in sorted(_readable(damaged, _last_id(damaged)), key=lambda row: row[-1]):
            with suppress(sqlite3.Error):  # a row that breaks a rule of the table
                store.base.execute(insert, row)
        return len(store.rows()), other


def _free_name(path: Path) -> Path:
    names = (path.with_name(f"{path.stem}.recovered{n or ''}{path.suffix}") for n in range(1000))
    return next(name for name in names if not name.exists())


def _last_id(damaged: sqlite3.Connection) -> int:
    with suppress(sqlite3.Error):
        found = damaged.execute("SELECT seq FROM sqlite_sequence WHERE name = 'decision'").fetchone()
        if found is not None and type(found[0]) is int and 0 < found[0] < MAX_ID:
            return found[0]
    return MAX_ID


def _readable(damaged: sqlite3.Connection, last_id: int) -> Iterator[tuple[Any, ...]]:
    """Yield rows, by ranges of their numbers: one that cannot be read is halved, down to single rows."""
    select = f"SELECT {', '.join(COLUMNS)}, id FROM decision WHERE id BETWEEN ? AND ?"
    ranges, n_failures = [(1, last_id)], 0
    while ranges and n_failures < MAX_FAILURES:
        first, last = ranges.pop()
        try:
            yield from damaged.execute(select, [first, last]).fetchall()
        except sqlite3.Error:
            n_failures += 1
            middle = (first + last) // 2
            if first < last:
                ranges += [(middle + 1, last), (first, middle)]
