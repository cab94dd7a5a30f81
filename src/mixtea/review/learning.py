"""Turn decisions into links, rejected pairs and opinions of a task, and retrain a model with them."""

from __future__ import annotations

import math
import os
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mixtea.callbacks import Callback
from mixtea.errors import RunError
from mixtea.graph.task import Task
from mixtea.messages import visible
from mixtea.review.decision import Decision, PairDecision, pair_decisions
from mixtea.review.decisions import DecisionStore
from mixtea.review.merge import merge_decisions
from mixtea.review.reviewers import Reviewer, measure_reviewers
from mixtea.runs.atomic import HeldError, lock_folder

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA


def known_targets(task: Task) -> dict[str, set[str]]:
    """Return the targets of sources with a validation link, by ids."""
    found: dict[str, set[str]] = {}
    for source, target in task.valid.tolist():
        found.setdefault(str(task.source.ids[source]), set()).add(str(task.target.ids[target]))
    return found


def reviewed_task(task: Task, active: Iterable[Decision]) -> Task:
    """Return the task with all active decisions, weighted by the reliability of the reviewer; drop missing entities.

    Sources with a given link stay as they are, unless they may have several targets: they may get further ones.
    """
    active = list(active)
    measured = measure_reviewers(active, known_targets(task))
    said = pair_decisions(active, task.multi_target_ids)
    rows = list(said.items())
    ends = [[pair[side] for pair, _ in rows] for side in (0, 1)]
    numbers = [
        graph.find(np.array(ids, dtype=object)) if ids else np.empty(0, dtype=np.int64)
        for graph, ids in zip((task.source, task.target), ends, strict=True)
    ]
    pairs = np.stack(numbers, axis=1)
    kept = (pairs >= 0).all(axis=1) & ~_is_settled(task, pairs)
    same = np.array([found.same for _, found in rows], dtype=bool)
    reliability = np.array([_reliability(found, measured) for _, found in rows], dtype=np.float64)
    return merge_decisions(task, pairs[kept], same[kept], reliability[kept])


def _is_settled(task: Task, pairs: np.ndarray) -> np.ndarray:
    """bool [p]: find the pairs that given links decide: they are given, or their source has its only target."""
    given, m = np.concatenate([task.train, task.valid]), max(task.target.n_entities, 1)
    is_given = np.isin(pairs @ [m, 1], given @ [m, 1])
    return is_given | (np.isin(pairs[:, 0], given[:, 0]) & ~task.may_have_multiple_targets(pairs[:, 0]))


def _reliability(said: PairDecision, measured: Mapping[str, Reviewer]) -> float:
    return measured[said.reviewer].reliability if said.reviewer in measured else math.nan


def retrain(old: MixTEA, active: Iterable[Decision], notify: Callable[[dict[str, Any]], None] | None = None) -> MixTEA:
    """Train a run again with the active decisions, from what it has learned."""
    from mixtea.aligner import MixTEA

    task, config = reviewed_task(old.task_, active), old.config
    changes = config.warm() | {"device": old.vectors_.device.type}
    settings = config.replace(**changes).to_dict()
    callbacks = [] if notify is None else [_Notifier(notify, changes["max_epochs"])]
    return MixTEA(old.preset, **settings).fit(task, callbacks=callbacks, warm_start=old, progress=False)


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
