"""Index of the active decisions, updated row by row in constant time."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Callable, Container, Iterable

from mixtea.review.decision import ACCEPT, AUDIT, NONE, RANDOM, UNDO, UNSURE, Decision, PairDecision
from mixtea.review.reviewers import Share


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
        if sign > 0:
            self.decisions[one.id] = one
        else:
            del self.decisions[one.id]
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
