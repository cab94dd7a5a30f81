"""What stands, kept up to date row by row, so that a decision costs the same after twenty thousand others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mixtea.review.decisions import ACCEPT, AUDIT, RANDOM, UNDO, UNSURE, Decision, Said, facts
from mixtea.review.reviewers import Share


class Ledger:
    """The decisions that were not taken back, by number, by source and by reviewer; and their counts."""

    def __init__(self, *, one_target: bool) -> None:
        self.one_target, self.last_id = one_target, 0
        self.standing: dict[int, Decision] = {}
        self.of_source: dict[str, dict[int, Decision]] = {}  # without audits
        self.audits: dict[str, dict[int, Decision]] = {}  # by reviewer
        self.plain: dict[str, dict[int, Decision]] = {}  # likewise, decided one by one
        self.counts: Counter[str] = Counter()  # of sources, by the last word about them
        self.sample = Share(0, 0)  # of the random slice

    def apply(self, rows: Iterable[Decision]) -> list[Decision]:
        """Take up further rows of the file; returns the decisions that came or went."""
        changed = []
        for row in rows:
            self.last_id = max(self.last_id, row.id)
            if row.action != UNDO:
                self._change(row, 1)
                changed.append(row)
            elif row.undoes in self.standing:
                taken = self.standing[row.undoes]
                self._change(taken, -1)
                changed.append(taken)
        return changed

    def _change(self, one: Decision, sign: int) -> None:
        _keep(self.standing, one, sign)
        if one.reason in AUDIT:
            _keep(self.audits.setdefault(one.reviewer, {}), one, sign)
            return
        if not one.batch:
            _keep(self.plain.setdefault(one.reviewer, {}), one, sign)
        if (before := self.last_about(one.source)) is not None:
            self.counts[before.action] -= 1
        _keep(self.of_source.setdefault(one.source, {}), one, sign)
        if (after := self.last_about(one.source)) is not None:
            self.counts[after.action] += 1
        else:
            del self.of_source[one.source]
        if one.reason == RANDOM and one.action != UNSURE and one.others:
            right = one.action == ACCEPT and one.target == one.others[0]
            self.sample = Share(self.sample.met + sign * right, self.sample.of + sign)

    def last_about(self, source: str) -> Decision | None:
        """The last decision about a source that stands."""
        own = self.of_source.get(source)
        return own[max(own)] if own else None

    def facts_about(self, source: str) -> dict[tuple[str, str], Said]:
        """What stands about the pairs of a source."""
        own = self.of_source.get(source, {})
        return facts([own[number] for number in sorted(own)], one_target=self.one_target)


def _keep(where: dict[int, Decision], one: Decision, sign: int) -> None:
    if sign > 0:
        where[one.id] = one
    else:
        del where[one.id]
