"""Reliability of reviewers: known items, hidden repeats, and the influence of the shown verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mixtea.graph.task import Task
from mixtea.review.decision import ACCEPT, AUDIT, KNOWN, NONE, REJECT, REPEAT, UNSURE, Decision, Share

FACT_RELIABILITY = 0.95  # of decisions that are right: from there on they are facts
MAX_RELIABILITY, MIN_RELIABILITY = 0.99, 0.5  # bounds of an opinion; .5 has no effect
MIN_KNOWN_ITEMS = 20  # known items from which on a reviewer counts as measured


class Reviewer(NamedTuple):
    """Measures of a reviewer.

    `right` of the known items; `same` again of hidden repeats; agreement with the model where its verdict was `seen`
    before deciding, and where it was not (`blind`).
    """

    name: str
    decided: int
    right: Share
    same: Share
    seen: Share
    blind: Share

    @property
    def reliability(self) -> float:
        """Return how often this reviewer is right; NaN if too few known items were decided, or it may be enough.

        Then the decisions are facts.
        """
        if self.right.of < MIN_KNOWN_ITEMS or self.right.high >= FACT_RELIABILITY:
            return math.nan
        return min(max(self.right.share, MIN_RELIABILITY), MAX_RELIABILITY)

    @property
    def log_odds(self) -> float:
        """Return the weight of an accepted pair of this reviewer; infinite for a fact."""
        p = self.reliability
        return math.inf if math.isnan(p) else math.log(p / (1 - p))

    @property
    def pull(self) -> float:
        """Return how much more often the reviewer agrees with a visible verdict; NaN if one side is missing."""
        return self.seen.share - self.blind.share


UNMEASURED = Reviewer("", 0, Share(0, 0), Share(0, 0), Share(0, 0), Share(0, 0))


def known_targets(task: Task) -> dict[str, set[str]]:
    """Return the targets of sources with a validation link, by ids."""
    found: dict[str, set[str]] = {}
    for source, target in task.valid.tolist():
        found.setdefault(str(task.source.ids[source]), set()).add(str(task.target.ids[target]))
    return found


def measure_reviewers(active: Iterable[Decision], truth: Mapping[str, Iterable[str]]) -> dict[str, Reviewer]:
    """Measure each reviewer by name; `truth` holds the targets of sources whose links are known, by ids."""
    by_name: dict[str, list[Decision]] = {}
    for one in active:
        by_name.setdefault(one.reviewer, []).append(one)
    return {name: _measured(name, own, truth) for name, own in sorted(by_name.items())}


def _measured(name: str, own: list[Decision], truth: Mapping[str, Iterable[str]]) -> Reviewer:
    judged = [is_right(one, truth[one.source]) for one in own if one.reason == KNOWN and one.source in truth]
    known = [right for right in judged if right is not None]
    first = {one.source: one for one in reversed(own) if one.reason not in AUDIT}
    again = [(first[one.source], one) for one in own if one.reason == REPEAT and one.source in first]
    same = sum((a.action, a.target) == (b.action, b.target) for a, b in again)
    agreeing = {shown: [a for one in own if one.shown == shown and (a := agrees(one)) is not None]
                for shown in (True, False)}  # fmt: skip
    seen, blind = (Share(sum(agreeing[shown]), len(agreeing[shown])) for shown in (True, False))
    return Reviewer(name, len(own), Share(sum(known), len(known)), Share(same, len(again)), seen, blind)


def is_right(one: Decision, targets: Iterable[str]) -> bool | None:
    """Return whether a decision is right where the true targets are known; None for unsure."""
    true = set(targets)
    if one.action == UNSURE:
        return None
    if one.action == ACCEPT:
        return one.target in true
    return not true & ({*one.others} if one.action == NONE else {one.target})


def agrees(one: Decision) -> bool | None:
    """Return whether a decision agrees with the model's verdict on its first candidate; None if that is unknown."""
    if one.probability is None or one.action not in (ACCEPT, REJECT, NONE) or not one.others:
        return None
    return (one.action == ACCEPT and one.target == one.others[0]) == (one.probability >= 0.5)
