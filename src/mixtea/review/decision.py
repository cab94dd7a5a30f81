"""Decisions of reviewers: their rows in a file, their combination by pairs, and an index of those that are active."""

from __future__ import annotations

import datetime
import json
import math
from bisect import insort
from collections import Counter
from collections.abc import Callable, Container, Iterable
from typing import Any, NamedTuple

from mixtea.compute.intervals import interval

ACCEPT, REJECT, NONE, UNSURE, UNDO = "accept", "reject", "none", "unsure", "undo"
ACTIONS = (ACCEPT, REJECT, NONE, UNSURE)
KNOWN, REPEAT, RANDOM, IMPORTED = "known", "repeat", "random", "imported"  # why a pair was asked, beside its worth
AUDIT = (KNOWN, REPEAT)  # they measure the reviewer, and are not learned from
COLUMNS = (
    "key", "at", "reviewer", "action", "source", "target", "others", "undoes", "batch", "reason", "shown",
    "probability", "votes", "model",
)  # fmt: skip


class Decision(NamedTuple):
    """A reviewer's decision about a source: accept or reject a target, "none" of those shown, or unsure.

    `others` are the candidates that were shown, the model's own first. `key` is the same when the same decision is sent
    twice. `batch` is shared by decisions that were made together, `reason` is why the pair was asked, `shown` whether
    the model's verdict was visible before deciding, `probability` and `votes` what it was, `model` by which run. "undo"
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


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def to_row(decision: Decision) -> list[object]:
    values = decision._replace(at=decision.at or now())._asdict() | {"others": json.dumps(decision.others)}
    return [values[name] for name in COLUMNS]


def from_row(row: dict[str, Any]) -> Decision:
    others = tuple(json.loads(row["others"]))
    return Decision(**row | {"others": others, "shown": bool(row["shown"])})


def wrong_column(row: dict[str, Any]) -> str:
    """Return the first column whose value is not as mixtea writes it, "" if all are: SQLite takes anything anywhere."""
    wrong = next((name for name, value in row.items() if not _FITS[name](value)), "")
    return wrong or ("target" if row["action"] in (ACCEPT, REJECT) and row["target"] is None else "")


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_ids(value: object) -> bool:
    """Return whether a text is a JSON list of texts."""
    try:
        found = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return False
    return isinstance(found, list) and all(type(one) is str for one in found)


_FITS = dict.fromkeys(COLUMNS, _is_text) | {
    "id": lambda value: type(value) is int,
    "action": lambda value: value in (*ACTIONS, UNDO),
    "target": lambda value: value is None or _is_text(value),
    "others": _is_ids,
    "undoes": lambda value: value is None or type(value) is int,
    "shown": lambda value: type(value) is int,
    "probability": lambda value: value is None or (type(value) in (int, float) and math.isfinite(value)),
}


def decode_text(value: bytes) -> str | bytes:
    """Decode a text of the file; what is not UTF-8 stays bytes, which no column of ours holds."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


class PairDecision(NamedTuple):
    """The current decision about a pair: whether it is the same, by which reviewer, in which row."""

    same: bool
    reviewer: str
    id: int


def pair_decisions(active: Iterable[Decision], several: Container[str] = ()) -> dict[tuple[str, str], PairDecision]:
    """Return the current decision of each pair of ids, the last one counting; audits and unsure ones do not decide.

    An accepted target replaces one that was accepted for the source before, unless the source is one of `several`: the
    ids of those that may have several targets.
    """
    found: dict[tuple[str, str], PairDecision] = {}
    accepted: dict[str, str] = {}
    for one in active:
        if one.reason in AUDIT or one.action == UNSURE:
            continue
        if one.action == ACCEPT and one.target is not None:
            before = accepted.get(one.source)
            if one.source not in several and before is not None and before != one.target:
                found.pop((one.source, before), None)
            accepted[one.source] = one.target
            found[one.source, one.target] = PairDecision(True, one.reviewer, one.id)
            continue
        for target in one.others if one.action == NONE else [one.target or ""]:
            found[one.source, target] = PairDecision(False, one.reviewer, one.id)
            if accepted.get(one.source) == target:
                del accepted[one.source]
    return found


class Share(NamedTuple):
    """A count of a total; `low` and `high` bound the true share with 95 % confidence."""

    met: int
    of: int

    @property
    def share(self) -> float:
        return self.met / self.of if self.of else math.nan

    @property
    def low(self) -> float:
        return interval(self.share, self.of)[0]

    @property
    def high(self) -> float:
        return interval(self.share, self.of)[1]

    def __str__(self) -> str:
        return f"{self.share:.0%} ({self.low:.0%}–{self.high:.0%})" if self.of else "not measured"


class SourceDecisions:
    """The active decisions about one source, by number, and the last of each kind.

    `by_target` has the numbers of those that accept or reject a target, in order; `accepted` of those that accept any.
    """

    def __init__(self) -> None:
        self.decisions: dict[int, Decision] = {}
        self.order: list[int] = []
        self.accepted: list[int] = []
        self.by_target: dict[str, list[int]] = {}

    def change(self, one: Decision, sign: int) -> None:
        """Add a decision (1), or remove it (-1)."""
        _keep(self.decisions, one, sign)
        touched = [self.order]
        if one.action == ACCEPT:
            touched.append(self.accepted)
        if one.action != UNSURE:
            targets = dict.fromkeys(one.others if one.action == NONE else [one.target or ""])
            touched += [self.by_target.setdefault(target, []) for target in targets]
        for numbers in touched:
            if sign > 0:
                insort(numbers, one.id)
            else:
                numbers.remove(one.id)

    def last(self) -> Decision:
        return self.decisions[self.order[-1]]

    def pair_decisions(self, source: str, *, one_target: bool) -> dict[tuple[str, str], PairDecision]:
        """Return the current decision of each pair of the source, equal to `decision.pair_decisions`."""
        found = {}
        for target, numbers in self.by_target.items():
            if not numbers:
                continue
            one = self.decisions[numbers[-1]]
            same = one.action == ACCEPT
            if not (same and one_target and one.id != self.accepted[-1]):  # else another was accepted since
                found[source, target] = PairDecision(same, one.reviewer, one.id)
        return found


class DecisionIndex:
    """The active decisions (not taken back), by number, by source and by reviewer; and their counts.

    `several` are the ids of the sources that may have several targets: there an accepted one does not replace another.
    `concerns_run` is whether the entities of a decision are in the run: those about others are `outside_run`, which are
    kept and exported, and have no effect. Rows may come in any order and more than once; `read_to` is the number up to
    which all rows of the file were applied.
    """

    def __init__(
        self, several: Container[str] = (), *, concerns_run: Callable[[Decision], bool] = lambda one: True
    ) -> None:
        self.several, self.concerns_run = several, concerns_run
        self.last_id = self.read_to = 0
        self.active: dict[int, Decision] = {}
        self.undone: dict[int, int] = {}  # number of a decision: that of the row that takes it back
        self.outside_run: dict[int, Decision] = {}
        self.by_source: dict[str, SourceDecisions] = {}  # without audits
        self.audits: dict[str, dict[int, Decision]] = {}  # by reviewer
        self.plain: dict[str, dict[int, Decision]] = {}  # likewise, decided one by one
        self.counts: Counter[str] = Counter()  # of sources, by the last decision about them
        self.sample = Share(0, 0)  # of the random slice

    def apply(self, rows: Iterable[Decision]) -> list[Decision]:
        """Apply further rows of the file; return the decisions that were added or removed."""
        changed = []
        for row in rows:
            self.last_id = max(self.last_id, row.id)
            if row.action != UNDO:
                if row.id not in self.active and row.id not in self.undone:
                    self._change(row, 1)
                    changed.append(row)
            elif row.undoes is not None and row.undoes not in self.undone:
                self.undone[row.undoes] = row.id
                if (taken := self.active.get(row.undoes)) is not None:
                    self._change(taken, -1)
                    changed.append(taken)
        return changed

    def _change(self, one: Decision, sign: int) -> None:
        _keep(self.active, one, sign)
        if not self.concerns_run(one):
            _keep(self.outside_run, one, sign)
            return
        if one.reason in AUDIT:
            _keep(self.audits.setdefault(one.reviewer, {}), one, sign)
            return
        if not one.batch:
            _keep(self.plain.setdefault(one.reviewer, {}), one, sign)
        if (before := self.last_about(one.source)) is not None:
            self.counts[before.action] -= 1
        own = self.by_source.setdefault(one.source, SourceDecisions())
        own.change(one, sign)
        if own.order:
            self.counts[own.last().action] += 1
        else:
            del self.by_source[one.source]
        if one.reason == RANDOM and one.action != UNSURE and one.others:
            right = one.action == ACCEPT and one.target == one.others[0]
            self.sample = Share(self.sample.met + sign * right, self.sample.of + sign)

    def last_about(self, source: str) -> Decision | None:
        """Return the last decision about a source that was not taken back."""
        own = self.by_source.get(source)
        return own.last() if own else None

    def pair_decisions_of(self, source: str) -> dict[tuple[str, str], PairDecision]:
        """Return the current decisions of the pairs of a source."""
        own = self.by_source.get(source)
        return own.pair_decisions(source, one_target=source not in self.several) if own else {}


def _keep(where: dict[int, Decision], one: Decision, sign: int) -> None:
    if sign > 0:
        where[one.id] = one
    else:
        del where[one.id]
