"""Decisions become links, rejected pairs and opinions of a task, and a model that knows them."""

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

from mixtea.errors import RunError
from mixtea.graph.task import Task
from mixtea.messages import visible
from mixtea.review.decision import Decision, Said, facts
from mixtea.review.decisions import Decisions
from mixtea.review.merge import with_reviewed
from mixtea.review.reviewers import Reviewer, reviewers
from mixtea.runs.lock import HeldError, alone

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA


def truth_of(task: Task) -> dict[str, set[str]]:
    """The targets of sources with a validation link, by ids: items that are known."""
    found: dict[str, set[str]] = {}
    for source, target in task.valid.tolist():
        found.setdefault(str(task.source.ids[source]), set()).add(str(task.target.ids[target]))
    return found


def reviewed_task(task: Task, standing: Iterable[Decision]) -> Task:
    """The task with all decisions that stand, each by the reliability of who decided; entities that are gone are not.

    Sources with a given link stay as they are, unless they may have several targets: they may get further ones.
    """
    standing = list(standing)
    measured = reviewers(standing, truth_of(task))
    said = facts(standing, task.multi_target_ids)
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
    return with_reviewed(task, pairs[kept], same[kept], reliability[kept])


def _is_settled(task: Task, pairs: np.ndarray) -> np.ndarray:
    """bool [p]: the pairs that given links decide about: they are such, or their source has its only target."""
    given, m = np.concatenate([task.train, task.valid]), max(task.target.n_entities, 1)
    is_given = np.isin(pairs @ [m, 1], given @ [m, 1])
    return is_given | (np.isin(pairs[:, 0], given[:, 0]) & ~task.may_have_multiple_targets(pairs[:, 0]))


def _reliability(said: Said, measured: Mapping[str, Reviewer]) -> float:
    return measured[said.reviewer].reliability if said.reviewer in measured else math.nan


def retrained(
    old: MixTEA, standing: Iterable[Decision], tell: Callable[[dict[str, Any]], None] | None = None
) -> MixTEA:
    """A run trained again, from what it has learned, with the decisions that stand."""
    from mixtea.aligner import MixTEA

    task, config, told = reviewed_task(old.task_, standing), old.config, tell or (lambda _: None)
    changes = config.warm() | {"device": old.vectors_.device.type}
    settings = config.replace(**changes).to_dict()
    return MixTEA(old.preset, **settings).fit(
        task,
        on_epoch=lambda record: told({"epoch": record["epoch"], "of": changes["max_epochs"]}),
        on_round=lambda number, n_sure: told({"round": number, "sure": n_sure}),
        warm_start=old,
        progress=False,
    )


def learn(run: Path, decisions: Path, out: Path, tell: Callable[[dict[str, Any]], None], reviewer: str = "") -> None:
    """Train a run again with all decisions of a file that were not taken back, and write the run `out`.

    `tell` gets the progress. One process at a time learns for `out`; another is refused, and told who it is.
    """
    with _alone(out, reviewer):
        from mixtea.aligner import MixTEA  # which loads torch

        tell({"doing": "reading the run"})
        old, store = MixTEA.load(run), Decisions(decisions)
        last_id, standing = store.last_id(), store.standing()
        store.close()
        tell({"doing": "training"})
        new = retrained(old, standing, tell)
        tell({"doing": "writing"})
        new.save(out, overwrite=True)
        tell({"done": True, "last_id": last_id})


@contextmanager
def _alone(out: Path, reviewer: str) -> Iterator[None]:
    """Learn while no other process does, and leave a note of who it is for those."""
    folder = out.with_name(f"{out.name}.learning")
    note = folder / "who.txt"
    folder.mkdir(exist_ok=True)
    try:
        with alone(folder):
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
