"""Store of decisions, in SQLite beside the run: one row each, never changed, durable when `add` returns.

A decision is taken back by another row. Rows name entities by their ids, so they outlive a training and the entities
themselves.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from mixtea.errors import RunError
from mixtea.messages import visible
from mixtea.review.decision import COLUMNS, Decision, decode_text, from_row, now, to_row, wrong_column
from mixtea.runs.atomic import atomic_file

APPLICATION_ID = 0x6D697874  # application_id of the file: "mixt"
VERSION = 1
HEADER_BYTES = 100  # of any database
SCHEMA = """
CREATE TABLE decision (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    at TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('accept', 'reject', 'none', 'unsure', 'undo')),
    source TEXT NOT NULL,
    target TEXT,
    others TEXT NOT NULL DEFAULT '[]',
    undoes INTEGER UNIQUE REFERENCES decision (id),
    batch TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    shown INTEGER NOT NULL DEFAULT 0,
    probability REAL,
    votes TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT ''
);
CREATE TABLE training (model TEXT PRIMARY KEY, last_id INTEGER NOT NULL, at TEXT NOT NULL);
CREATE TABLE place (reviewer TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TRIGGER decision_stays BEFORE UPDATE ON decision BEGIN SELECT RAISE(ABORT, 'decisions are never changed'); END;
CREATE TRIGGER decision_kept BEFORE DELETE ON decision BEGIN SELECT RAISE(ABORT, 'decisions are never deleted'); END;
"""
LOCK_SECONDS = 5.0  # to wait for another process that writes
ROWS_PER_WRITE = 500  # of many: other writers wait for a few milliseconds
MAX_FIELD_BYTES = 16 << 20  # of one value in a row; a longer one is not ours
MAX_ID = 1 << 40  # the last row number to search in a damaged file that does not hold it
MAX_FAILED_READS = 10_000  # a damaged file of which nothing can be read ends the search
FileId = tuple[int, int] | None  # device and inode; None for no file


def decisions_path(run: Path) -> Path:
    """Return the path of the decisions about a run."""
    return run.with_name(f"{run.name}.decisions.sqlite")


class Rows(NamedTuple):
    """Consecutive rows of a file: those that can be read, and the number up to which it was read."""

    decisions: list[Decision]
    last_id: int


class DecisionStore:
    """An open file of decisions, created if it does not exist. Several processes may have it open.

    `unreadable` names the rows that are left out, with the invalid column. They stay in the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unreadable: dict[int, str] = {}
        # SQLite takes one byte for an empty file. Looking into it would end the locks that this process holds on it.
        with suppress(OSError):
            if 0 < path.stat().st_size < HEADER_BYTES:
                raise RunError(f"{path}: not a database. Name another file: --decisions FILE.")
        with ExitStack() as closing_on_error:
            try:
                base = sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False)
                self.base = closing_on_error.enter_context(closing(base))
                base.text_factory = decode_text
                base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_FIELD_BYTES)
                self._open()
                self.file_ids = _file_ids(path)
            except sqlite3.Error as error:
                raise RunError(
                    f"{path}: cannot be used for decisions ({error}). Name another file: --decisions FILE, or mend it."
                ) from None
            closing_on_error.pop_all()

    def again(self) -> DecisionStore:
        """Open the same file once more, for another thread; OSError if another file lies there by now."""
        self._check_file()
        other = DecisionStore(self.path)
        if other.file_ids != self.file_ids:
            other.close()
            raise self._gone()
        return other

    @cached_property
    def reader(self) -> DecisionStore:
        """Open the same file once more: its readers do not wait for writers."""
        other = self.again()
        other.unreadable = self.unreadable
        return other

    def _open(self) -> None:
        self.base.execute("PRAGMA trusted_schema=OFF")  # no code that a stranger's file brings
        if not self._is_empty():  # before anything is written to a foreign file
            self._check_mark()
            self._check_schema()
        self._use_wal()
        self.base.execute("PRAGMA synchronous=FULL")
        with self._transaction():
            if self._is_empty():
                for statement in SCHEMA.split(";\n"):
                    self.base.execute(statement)
                self.base.execute(f"PRAGMA application_id={APPLICATION_ID}")
                self.base.execute(f"PRAGMA user_version={VERSION}")
        self._check_pages()

    def _use_wal(self) -> None:
        """Use a write-ahead log; SQLite does not wait by itself where two open a new file at the same moment."""
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                self.base.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def _is_empty(self) -> bool:
        return not self.base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]

    def _check_mark(self) -> None:
        mark, version = (
            self.base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if mark != APPLICATION_ID:
            raise RunError(f"{self.path}: a database of something else. Move it away, or name another file.")
        if version > VERSION:
            raise RunError(f"{self.path}: written by a later mixtea. Update mixtea: pip install --upgrade mixtea.")

    def _check_schema(self) -> None:
        """Refuse views, triggers and columns that are not ours: reading them may never end, or may run anything."""
        with closing(sqlite3.connect(":memory:")) as fresh:
            fresh.executescript(SCHEMA)
            ours = _schema(fresh)
        found = _schema(self.base)
        if found != ours:
            names = sorted({str(name) for _, name, _ in found ^ ours})
            raise RunError(
                f"{self.path}: not a file of decisions as mixtea writes it ({visible(', '.join(names), 100)}). "
                "Move it away, or name another file: --decisions FILE."
            )

    def _check_pages(self) -> None:
        """Refuse a damaged file, with what can be read of it saved beside it."""
        try:
            found = self.base.execute("PRAGMA quick_check(1)").fetchone()[0]
            lengths = ", ".join(f"max(length({name}))" for name in COLUMNS)
            self.base.execute(f"SELECT {lengths} FROM decision").fetchone()  # fails where a value is too long
            if found == "ok":
                return
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                raise
            found = error
        n, other = recover(self.base, self.path)
        raise RunError(
            f"{self.path}: damaged ({visible(found, 100)}). The {n:,} decisions that can be read are in {other}: "
            f"go on with --decisions {other}, or move {self.path.name} away."
        )

    def _check_file(self) -> None:
        """Raise OSError if the file was deleted or replaced: writes to it would be lost."""
        file, log = _file_ids(self.path)
        if file != self.file_ids[0] or (self.file_ids[1] is not None and log != self.file_ids[1]):
            raise self._gone()

    def _gone(self) -> OSError:
        return OSError(
            f"{visible(self.path)} was deleted or replaced since it was opened. Put it back, or start again."
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commit all or nothing, durably."""
        self.base.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.base.execute("COMMIT")
        except BaseException:
            if self.base.in_transaction:  # a full disk has ended it already
                self.base.execute("ROLLBACK")
            raise

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write all or nothing; OSError if it is not in the file that lies at the path."""
        with self._or_error("not saved"):
            self._check_file()
            with self._transaction():
                yield
            self._check_file()

    def add(self, decisions: Sequence[Decision]) -> list[Decision]:
        """Keep decisions, all or none, and return them as they are kept: one whose key is there already as it was.

        OSError if they could not be kept.
        """
        with self._writing():
            self.base.executemany(_INSERT, map(to_row, decisions))
            return [self._rows("WHERE key = ?", [decision.key])[0] for decision in decisions]

    def take_over(self, decisions: Iterable[Decision]) -> int:
        """Keep any number of decisions from elsewhere, and return how many are new.

        They are written in parts, between which others may write. If it ends in the middle, the same once more
        completes it: what is there already stays as it is.
        """
        waiting, n_new = iter(decisions), 0
        while part := [*islice(waiting, ROWS_PER_WRITE)]:
            n_new += self.add_new(part)
        return n_new

    def add_new(self, decisions: Sequence[Decision]) -> int:
        """Keep decisions, all or none, and return how many of them were not there."""
        with self._writing():
            return self.base.executemany(_INSERT, map(to_row, decisions)).rowcount

    def undo(self, reviewer: str, key: str) -> list[Decision]:
        """Take back what the reviewer decided last, with all that was decided together with it; returns what it was.

        Sent twice with the same key, it is done once.
        """
        with self._writing():
            if done := self.undo_rows(key):
                return self._rows(f"WHERE id IN ({', '.join(str(one.undoes) for one in done)})")
            active = f"{_STANDING} AND reviewer = ?"
            last = self._rows(f"{active} ORDER BY id DESC LIMIT 1", [reviewer])
            if not last:
                return []
            together = f"{active} AND batch = ? ORDER BY id"
            taken = self._rows(together, [reviewer, last[0].batch]) if last[0].batch else last
            for one in taken:
                self.base.execute(
                    "INSERT INTO decision (key, at, reviewer, action, source, target, undoes, batch)"
                    " VALUES (?, ?, ?, 'undo', ?, ?, ?, ?)",
                    [f"{key}/{one.id}", now(), reviewer, one.source, one.target, one.id, one.batch],
                )
            return taken

    def undo_rows(self, key: str) -> list[Decision]:
        """Return the rows that `undo` wrote for a key."""
        escaped = "".join(f"\\{c}" if c in "\\%_" else c for c in key)
        return self._rows("WHERE key LIKE ? ESCAPE '\\' AND action = 'undo'", [f"{escaped}/%"])

    def rows(self, after: int = 0) -> list[Decision]:
        """Return every readable row after one of this number, in the order in which they came."""
        return self.read(after).decisions

    def read(self, after: int = 0, most: int = -1) -> Rows:
        """Read on after a row of this number, `most` rows or all."""
        with self._or_error("cannot be read"):
            found = self._found("WHERE id > ? ORDER BY id LIMIT ?", [after, most])
        return Rows(self._readable(found), int(found[-1]["id"]) if found else after)

    def active(self) -> list[Decision]:
        """Return the decisions that were not taken back, in their order."""
        return self._rows(f"{_STANDING} ORDER BY id")

    def last_id(self) -> int:
        """Return the number of the last row, 0 if there is none; it grows with every decision and every undo."""
        return int(self.base.execute("SELECT coalesce(max(id), 0) FROM decision").fetchone()[0])

    def position(self, reviewer: str) -> dict[str, object]:
        """Return the position that `keep_position` stored last; {} if it cannot be read."""
        with self._or_error("cannot be read"):
            found = self.base.execute("SELECT value FROM place WHERE reviewer = ?", [reviewer]).fetchone()
        try:
            value = json.loads(found[0]) if found else {}
        except (TypeError, ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def keep_position(self, reviewer: str, value: dict[str, object]) -> None:
        with self._writing():
            self.base.execute("INSERT OR REPLACE INTO place VALUES (?, ?)", [reviewer, json.dumps(value)])

    def trained(self, model: str) -> int | None:
        """Return the last decision that a model was trained with; None if that is not recorded."""
        with self._or_error("cannot be read"):
            found = self.base.execute("SELECT last_id FROM training WHERE model = ?", [model]).fetchone()
        return found[0] if found is not None and type(found[0]) is int else None

    def keep_trained(self, model: str, last_id: int) -> None:
        with self._writing():
            self.base.execute("INSERT OR REPLACE INTO training VALUES (?, ?, ?)", [model, last_id, now()])

    def copy_to(self, path: Path) -> None:
        """Copy the file as of now, whole or not at all, while others go on deciding."""
        with atomic_file(path) as temporary:
            try:
                with closing(sqlite3.connect(temporary)) as copy:
                    self.base.backup(copy)
            except sqlite3.Error as error:
                raise RunError(f"{path}: the copy could not be written ({error}).") from error

    def close(self) -> None:
        if "reader" in self.__dict__:
            self.reader.close()
        self.base.close()

    def _rows(self, where: str, values: Iterable[object] = ()) -> list[Decision]:
        return self._readable(self._found(where, values))

    def _found(self, where: str, values: Iterable[object] = ()) -> list[dict[str, Any]]:
        found = self.base.execute(f"SELECT {', '.join(COLUMNS)}, id FROM decision {where}", list(values))
        return [dict(zip((*COLUMNS, "id"), row, strict=True)) for row in found]

    def _readable(self, found: Sequence[dict[str, Any]]) -> list[Decision]:
        wrong = {int(row["id"]): column for row in found if (column := wrong_column(row))}
        self.unreadable |= wrong
        return [from_row(row) for row in found if int(row["id"]) not in wrong]

    @contextmanager
    def _or_error(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise OSError(f"{visible(self.path)}: {what} ({error})") from error


_COLUMNS = ", ".join(COLUMNS)
_VALUES = ", ".join("?" * len(COLUMNS))
_INSERT = f"INSERT INTO decision ({_COLUMNS}) VALUES ({_VALUES}) ON CONFLICT (key) DO NOTHING"
_STANDING = "WHERE action != 'undo' AND id NOT IN (SELECT undoes FROM decision WHERE undoes IS NOT NULL)"


def _schema(base: sqlite3.Connection) -> set[tuple[object, ...]]:
    return set(base.execute("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"))


def _file_ids(path: Path) -> tuple[FileId, FileId]:
    """Return device and inode of the file, and of its log."""

    def inode(path: Path) -> FileId:
        with suppress(OSError):
            about = path.stat()
            return about.st_dev, about.st_ino
        return None

    return inode(path), inode(path.with_name(f"{path.name}-wal"))


def recover(damaged: sqlite3.Connection, path: Path) -> tuple[int, Path]:
    """Copy the readable rows to a new file beside `path`; return how many there are, and the new file."""
    names = (path.with_name(f"{path.stem}.recovered{n or ''}{path.suffix}") for n in range(1000))
    other = next(name for name in names if not name.exists())
    insert = f"INSERT INTO decision ({_COLUMNS}, id) VALUES ({_VALUES}, ?)"
    with closing(DecisionStore(other)) as store:
        for row in sorted(_readable(damaged), key=lambda row: row[-1]):
            with suppress(sqlite3.Error):  # a row that breaks a rule of the table
                store.base.execute(insert, row)
        return len(store.rows()), other


def _readable(damaged: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    """Yield rows, by ranges of their numbers: one that cannot be read is halved, down to single rows."""
    last_id = MAX_ID
    with suppress(sqlite3.Error):
        found = damaged.execute("SELECT seq FROM sqlite_sequence WHERE name = 'decision'").fetchone()
        if found is not None and type(found[0]) is int and 0 < found[0] < MAX_ID:
            last_id = found[0]
    select = f"SELECT {_COLUMNS}, id FROM decision WHERE id BETWEEN ? AND ?"
    ranges, n_failures = [(1, last_id)], 0
    while ranges and n_failures < MAX_FAILED_READS:
        first, last = ranges.pop()
        try:
            yield from damaged.execute(select, [first, last]).fetchall()
        except sqlite3.Error:
            n_failures += 1
            middle = (first + last) // 2
            if first < last:
                ranges += [(middle + 1, last), (first, middle)]
