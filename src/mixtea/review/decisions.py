"""The decisions of reviewers, in SQLite beside the run: one row each, never changed, safe when `add` returns.

A decision is taken back by another row. Rows name entities by their ids, so they outlive a training and the entities
themselves.
"""

from __future__ import annotations

import datetime
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from mixtea.errors import RunError
from mixtea.runs.atomic import atomic_file
from mixtea.text import visible

ACCEPT, REJECT, NONE, UNSURE, UNDO = "accept", "reject", "none", "unsure", "undo"
ACTIONS = (ACCEPT, REJECT, NONE, UNSURE)
KNOWN, REPEAT, RANDOM, IMPORTED = "known", "repeat", "random", "imported"  # why a pair was asked, beside its worth
AUDIT = (KNOWN, REPEAT)  # they tell about the reviewer, and are not learned from
MARK = 0x6D697874  # application_id of the file: "mixt"
VERSION = 1
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
COLUMNS = (
    "key", "at", "reviewer", "action", "source", "target", "others", "undoes", "batch", "reason", "shown",
    "probability", "votes", "model",
)  # fmt: skip


class Decision(NamedTuple):
    """What a reviewer said of a source: accept or reject a target, "none" of those that were there, or unsure.

    `others` are the candidates that were seen, the model's own first. `key` is the same when the same decision is sent
    twice. `batch` is shared by those that were decided together, `reason` says why the pair was asked, `shown` whether
    the model's verdict was seen before deciding, `probability` and `votes` what it was, `model` by which run. "undo"
    takes back the row `undoes`.
    """

    key: str
    reviewer: str
    action: str
    source: str
    target: str | None = None
    others: tuple[str, ...] = ()
    undoes: int | None = None
    batch: str = ""
    reason: str = ""
    shown: bool = False
    probability: float | None = None
    votes: str = ""
    model: str = ""
    at: str = ""
    id: int = 0


def beside(run: Path) -> Path:
    """The file of decisions about a run."""
    return run.with_name(f"{run.name}.decisions.sqlite")


class Decisions:
    """An open file of decisions, made if it is not there. Several processes may have it open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.base = sqlite3.connect(self.path, timeout=20, isolation_level=None, check_same_thread=False)
            try:
                self._open()
            except BaseException:
                self.base.close()
                raise
        except sqlite3.Error as error:
            raise RunError(f"{path}: cannot be used for decisions ({error}). Name another file, or mend it.") from None

    def _open(self) -> None:
        if not self._is_empty():  # before anything is written to a file that is somebody else's
            self._check_mark()
        self._use_wal()
        self.base.execute("PRAGMA synchronous=FULL")
        with self._writing():
            if self._is_empty():
                for statement in SCHEMA.split(";\n"):
                    self.base.execute(statement)
                self.base.execute(f"PRAGMA application_id={MARK}")
                self.base.execute(f"PRAGMA user_version={VERSION}")

    def _use_wal(self) -> None:
        """Two who open a new file at the same moment: SQLite does not wait by itself here."""
        for _ in range(100):
            try:
                self.base.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                time.sleep(0.05)
        self.base.execute("PRAGMA journal_mode=WAL")

    def _is_empty(self) -> bool:
        return not self.base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]

    def _check_mark(self) -> None:
        mark, version = (
            self.base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if mark != MARK:
            raise RunError(f"{self.path}: a database of something else. Move it away, or name another file.")
        if version > VERSION:
            raise RunError(f"{self.path}: written by a later mixtea. Update mixtea: pip install --upgrade mixtea.")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """All of it, or nothing; on the disk when it ends."""
        self.base.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.base.execute("COMMIT")
        except BaseException:
            if self.base.in_transaction:  # a full disk has ended it already
                self.base.execute("ROLLBACK")
            raise

    def add(self, decisions: Sequence[Decision]) -> list[Decision]:
        """Keep decisions, all or none, and return them as they are kept: one whose key is there already as it was.

        OSError if they could not be kept.
        """
        with self._or_error(), self._writing():
            for decision in decisions:
                values = decision._replace(at=decision.at or _now())
                row = [_stored(getattr(values, name)) for name in COLUMNS]
                marks = ", ".join("?" * len(COLUMNS))
                self.base.execute(
                    f"INSERT INTO decision ({', '.join(COLUMNS)}) VALUES ({marks}) ON CONFLICT (key) DO NOTHING", row
                )
            return [self.by_key(decision.key) for decision in decisions]

    def undo(self, reviewer: str, key: str) -> list[Decision]:
        """Take back what the reviewer decided last, with all that was decided together with it; returns what it was.

        Sent twice with the same key, it is done once.
        """
        with self._or_error(), self._writing():
            done = self._rows("WHERE key LIKE ? ESCAPE '\\' AND action = 'undo'", [f"{_escaped(key)}/%"])
            if done:
                return self._rows(f"WHERE id IN ({', '.join(str(one.undoes) for one in done)})")
            standing = f"{_STANDING} AND reviewer = ?"
            last = self._rows(f"{standing} ORDER BY id DESC LIMIT 1", [reviewer])
            if not last:
                return []
            together = f"{standing} AND batch = ? ORDER BY id"
            taken = self._rows(together, [reviewer, last[0].batch]) if last[0].batch else last
            for one in taken:
                self.base.execute(
                    "INSERT INTO decision (key, at, reviewer, action, source, target, undoes, batch)"
                    " VALUES (?, ?, ?, 'undo', ?, ?, ?, ?)",
                    [f"{key}/{one.id}", _now(), reviewer, one.source, one.target, one.id, one.batch],
                )
            return taken

    def by_key(self, key: str) -> Decision:
        return self._rows("WHERE key = ?", [key])[0]

    def rows(self, after: int = 0) -> list[Decision]:
        """Every row after one of this number, in the order in which they came."""
        return self._rows("WHERE id > ? ORDER BY id", [after])

    def standing(self) -> list[Decision]:
        """Those that were not taken back, in the order in which they came."""
        return self._rows(f"{_STANDING} ORDER BY id")

    def last_id(self) -> int:
        """The number of the last row, 0 if there is none; it grows with every decision and every undo."""
        return int(self.base.execute("SELECT coalesce(max(id), 0) FROM decision").fetchone()[0])

    def place(self, reviewer: str) -> dict[str, object]:
        """Where the reviewer was: what `keep_place` was told last."""
        found = self.base.execute("SELECT value FROM place WHERE reviewer = ?", [reviewer]).fetchone()
        return dict(json.loads(found[0])) if found else {}

    def keep_place(self, reviewer: str, value: dict[str, object]) -> None:
        with self._or_error(), self._writing():
            self.base.execute("INSERT OR REPLACE INTO place VALUES (?, ?)", [reviewer, json.dumps(value)])

    def trained(self, model: str) -> int | None:
        """The last decision that a model was trained with; None for one that knows of none."""
        found = self.base.execute("SELECT last_id FROM training WHERE model = ?", [model]).fetchone()
        return None if found is None else int(found[0])

    def keep_trained(self, model: str, last_id: int) -> None:
        with self._or_error(), self._writing():
            self.base.execute("INSERT OR REPLACE INTO training VALUES (?, ?, ?)", [model, last_id, _now()])

    def copy_to(self, path: Path) -> None:
        """A copy as of now, whole or not at all, while others go on deciding."""
        with atomic_file(path) as temporary:
            try:
                with closing(sqlite3.connect(temporary)) as copy:
                    self.base.backup(copy)
            except sqlite3.Error as error:
                raise RunError(f"{path}: the copy could not be written ({error}).") from error

    def close(self) -> None:
        self.base.close()

    def _rows(self, where: str, values: Iterable[object] = ()) -> list[Decision]:
        found = self.base.execute(f"SELECT {', '.join(COLUMNS)}, id FROM decision {where}", list(values))
        return [_decision(dict(zip((*COLUMNS, "id"), row, strict=True))) for row in found]

    @contextmanager
    def _or_error(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise OSError(f"{visible(str(self.path))}: not saved ({error})") from error


_STANDING = "WHERE action != 'undo' AND id NOT IN (SELECT undoes FROM decision WHERE undoes IS NOT NULL)"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def _escaped(key: str) -> str:
    return "".join(f"\\{c}" if c in "\\%_" else c for c in key)


def _stored(value: object) -> object:
    return json.dumps(value) if isinstance(value, tuple) else value


def _decision(row: dict[str, object]) -> Decision:
    others = tuple(map(str, json.loads(str(row.pop("others")))))
    return Decision(others=others, shown=bool(row.pop("shown")), **row)  # type: ignore[arg-type]


class Said(NamedTuple):
    """What stands about one pair: whether it is the same, by whose word, and by which decision."""

    same: bool
    reviewer: str
    id: int


def facts(standing: Iterable[Decision], *, one_target: bool = True) -> dict[tuple[str, str], Said]:
    """What stands about pairs of ids, the last word counting; audits and unsure decisions say nothing.

    With `one_target` an accepted target takes the place of another that was accepted for the source before.
    """
    found: dict[tuple[str, str], Said] = {}
    accepted: dict[str, str] = {}
    for one in standing:
        if one.reason in AUDIT or one.action == UNSURE:
            continue
        if one.action == ACCEPT and one.target is not None:
            before = accepted.get(one.source)
            if one_target and before is not None and before != one.target:
                found.pop((one.source, before), None)
            accepted[one.source] = one.target
            found[one.source, one.target] = Said(True, one.reviewer, one.id)
            continue
        for target in one.others if one.action == NONE else [one.target or ""]:
            found[one.source, target] = Said(False, one.reviewer, one.id)
            if accepted.get(one.source) == target:
                del accepted[one.source]
    return found
