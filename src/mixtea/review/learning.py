"""Turn decisions into links, rejected pairs and opinions of a task, and retrain a model with them.

Decisions are facts to learn from, or opinions of a known reliability.
"""

from __future__ import annotations

import logging
import os
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mixtea.callbacks import Callback
from mixtea.errors import DataError, Problems, RunError
from mixtea.graph.task import Reviewed, Task
from mixtea.io.links.read import find_links, read_link_table
from mixtea.io.safe.limits import current_limits
from mixtea.messages import visible
from mixtea.review.decision import Decision, pair_decisions
from mixtea.review.decisions import DecisionStore
from mixtea.review.reviewers import (
    FACT_RELIABILITY,
    MAX_RELIABILITY,
    MIN_RELIABILITY,
    known_targets,
    measure_reviewers,
)
from mixtea.runs.atomic import HeldError, lock_folder

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA

logger = logging.getLogger(__name__)


def merge_decision_file(task: Task, path: Path) -> Task:
    """Return the task with the decisions of a link file, as `mixtea review` exports them, rejected pairs included.

    A `confidence` below .95 is the reliability of the reviewer: such rows are opinions, all others facts.
    """
    problems = Problems(current_limits().max_problems)
    table = read_link_table(path, problems)
    sure = np.full(len(table), np.nan) if table.confidences is None else table.confidences
    found = find_links(replace(table, confidences=None), "train", task.source, task.target, problems)
    problems.raise_if_any()
    known = np.isin(table.lines, found.lines) if len(table) else np.empty(0, dtype=bool)
    for warning in found.warnings:
        logger.warning("%s", warning)
    last = {tuple(pair): place for place, pair in enumerate(found.pairs.tolist())}  # the last row of a pair counts
    places = np.array(sorted(last.values()), dtype=np.int64)
    return merge_decisions(task, found.pairs[places], ~found.rejected[places], sure[known][places])


def merge_decisions(task: Task, pairs: np.ndarray, same: np.ndarray, reliability: np.ndarray) -> Task:
    """Return the task with decisions about pairs [p, 2]: whether they are the `same` [p], and their reliability [p].

    If the reliability is unknown (NaN) or at least FACT_RELIABILITY, a decision is a fact: accepted pairs are training
    links and no longer asked about, rejected ones are not links and never proposed. Else it is an opinion,
    `task.reviewed`, which the voter `reviewer` casts with that weight. So are accepted pairs where links are found by
    names: a handful of links would replace all evidence from names.
    """
    fact = ~(reliability < FACT_RELIABILITY)
    if task.links_from == "names":
        fact &= ~same
    accepted, rejected = pairs[fact & same], pairs[fact & ~same]
    train, valid = _without(task.train, rejected), _without(task.valid, rejected)
    train = np.concatenate([train, _unlinked(task, accepted, np.concatenate([train, valid]))])
    if task.links_from != "names" and not len(train):
        raise DataError("The decisions reject all training links: there is nothing left to learn from.")
    asked = ~(np.isin(task.test[:, 0], accepted[:, 0]) | np.isin(task.test[:, 1], accepted[:, 1]))
    never = np.concatenate([_without(_without(task.rejected, accepted), rejected), rejected])
    sure = np.clip(np.nan_to_num(reliability[~fact], nan=MAX_RELIABILITY), MIN_RELIABILITY, MAX_RELIABILITY)
    log_odds = np.log(sure / (1 - sure)) * np.where(same[~fact], 1, -1)
    opinions = Reviewed(np.concatenate([task.reviewed.pairs, pairs[~fact]]),
                        np.concatenate([task.reviewed.log_odds, log_odds]))  # fmt: skip
    return task.replace(train=train, valid=valid, test=task.test[asked], rejected=never, reviewed=opinions)


def _unlinked(task: Task, accepted: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return the new pairs that contradict no link: their source has none, or may have several."""
    new = _without(accepted, given)
    other = np.isin(new[:, 0], given[:, 0]) & ~task.may_have_multiple_targets(new[:, 0])
    if other.any():
        logger.warning("%d accepted pairs are left out: their sources have another link", int(other.sum()))
    return new[~other]


def _without(pairs: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the pairs [p, 2] without the others."""
    known = {tuple(pair) for pair in others.tolist()}
    return pairs[[tuple(pair) not in known for pair in pairs.tolist()]] if known else pairs


def reviewed_task(task: Task, active: Iterable[Decision]) -> Task:
    """Return the task with all active decisions, weighted by the reliability of the reviewer; drop missing entities.

    Sources with a given link stay as they are, unless they may have several targets: they may get further ones.
    """
    active = list(active)
    measured = measure_reviewers(active, known_targets(task))
    said = pair_decisions(active, task.multi_target_ids)
    if not said:
        return task
    ids = np.array(list(said), dtype=object)
    pairs = np.stack([graph.find(ids[:, side]) for side, graph in enumerate((task.source, task.target))], axis=1)
    given, m = np.concatenate([task.train, task.valid]), max(task.target.n_entities, 1)
    is_given = np.isin(pairs @ [m, 1], given @ [m, 1])
    has_other = np.isin(pairs[:, 0], given[:, 0]) & ~task.may_have_multiple_targets(pairs[:, 0])
    kept = (pairs >= 0).all(axis=1) & ~is_given & ~has_other
    same = np.array([one.same for one in said.values()], dtype=bool)
    reliability = np.array([measured[one.reviewer].reliability for one in said.values()], dtype=np.float64)
    return merge_decisions(task, pairs[kept], same[kept], reliability[kept])


def retrain(old: MixTEA, active: Iterable[Decision], notify: Callable[[dict[str, Any]], None] | None = None) -> MixTEA:
    """Train a run again with the active decisions, from what it has learned."""
    from mixtea.aligner import MixTEA

    task, config = reviewed_task(old.task_, active), old.config
    changes = config.warm() | {"device": old.vectors_.device.type}
    settings = config.replace(**changes).to_dict()
    callbacks = [] if notify is None else [_Notifier(notify, changes["max_epochs"])]
    how: dict[str, Any] = {"warm_start": old, "learned": old if old.applies_learned else None, "progress": False}
    return MixTEA(old.preset, **settings).fit(task, callbacks=callbacks, **how)


class _Notifier(Callback):
    """Pass rounds and epochs of a training to a function."""

    def __init__(self, notify: Callable[[dict[str, Any]], None], max_epochs: int) -> None:
        self.notify, self.max_epochs = notify, max_epochs

    def on_round(self, number: int, n_sure: int) -> None:
        self.notify({"round": number, "sure": n_sure})

    def on_epoch(self, record: dict[str, Any]) -> None:
        self.notify({"epoch": record["epoch"], "of": self.max_epochs})


def learn(run: Path, decisions: Path, out: Path, notify: Callable[[dict[str, Any]], None], reviewer: str = "") -> None:
    """Train a run again with all active decisions of a file, and write the run `out`.

    `notify` gets the progress. One process at a time learns for `out`; another is refused, with the name of the first.
    """
    with _alone(out, reviewer):
        from mixtea.aligner import MixTEA  # which loads torch

        notify({"doing": "reading the run"})
        old, store = MixTEA.load(run), DecisionStore(decisions)
        last_id, active = store.last_id(), store.active()
        store.close()
        notify({"doing": "training"})
        new = retrain(old, active, notify)
        notify({"doing": "writing"})
        new.save(out, overwrite=True)
        notify({"done": True, "last_id": last_id})


@contextmanager
def _alone(out: Path, reviewer: str) -> Iterator[None]:
    """Hold a lock on learning, with a note of its owner for other processes."""
    folder = out.with_name(f"{out.name}.learning")
    note = folder / "who.txt"
    folder.mkdir(exist_ok=True)
    try:
        with lock_folder(folder):
            note.write_text(f"{reviewer or 'somebody'}, process {os.getpid()} on {platform.node()}", "utf-8")
            try:
                yield
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    except HeldError:
        with suppress(OSError):
            who = visible(note.read_bytes()[:200].decode("utf-8", "replace"), 150)
            raise RunError(f"Learning from these decisions is under way: {who}. Wait until it has ended.") from None
        raise
