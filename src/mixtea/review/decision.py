"""Decisions of reviewers, and their combination by pairs."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

ACCEPT, REJECT, NONE, UNSURE, UNDO = "accept", "reject", "none", "unsure", "undo"
ACTIONS = (ACCEPT, REJECT, NONE, UNSURE)
KNOWN, REPEAT, RANDOM, IMPORTED = "known", "repeat", "random", "imported"  # why a pair was asked, beside its worth
AUDIT = (KNOWN, REPEAT)  # they measure the reviewer, and are not learned from


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
