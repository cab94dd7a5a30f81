"""Update a run after its graphs have changed: what `mixtea fit --update RUN` does, in one call.

from mixtea import load_task from mixtea import update

aligner = update(load_task(source="a.csv", target="b.csv", links_from="names"), "runs/nightly")
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mixtea.callbacks import Callback, Callbacks, Log, check_callbacks, report_notice, run_callbacks
from mixtea.compute.device import n_processes
from mixtea.config import SETTINGS, Config
from mixtea.errors import ConfigError, RunError
from mixtea.graph.difference import difference
from mixtea.graph.task import Reviewed, Task
from mixtea.io.paths import PathOrStr, as_path
from mixtea.pipeline import ALMOST_DONE, TrainingRun, train
from mixtea.review.decisions import DecisionStore, decisions_path
from mixtea.review.learning import reviewed_task
from mixtea.runs.checkpoints import StopSignals
from mixtea.runs.in_progress import TrainingInputs, UnfinishedRun, run_checksum

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA

EARLIER_RUNS_KEPT = 3  # in history


def update(
    task: Task | Callable[[], Task],
    run: PathOrStr,
    *,
    keep_earlier: int = EARLIER_RUNS_KEPT,
    preset: str | None = None,
    callbacks: Callbacks = (),
    **settings: Any,
) -> MixTEA:
    """Update a run for graphs that have changed, in its place; the earlier run goes to `run`/history.

    Where few entities are new, changed or gone, and no relations connect them, only these are matched, by what the run
    has learned; all others keep their answers. Else it is trained again, beginning with what the run has found, or from
    nothing where other settings are asked for. `callbacks` receive which, and why.

    Parameters
    ----------
    task
        The task as it is now, or a function that returns it. Decisions of reviewers about the run
        (RUN.decisions.sqlite) hold for it too.
    run
        The run folder. It always holds a whole run, the earlier or the new one.
    keep_earlier
        How many earlier runs stay in `run`/history.
    preset, settings
        As in `train`; those of the run unless others are named.
    callbacks
        As in `train`.

    Returns
    -------
    MixTEA
        The aligner of the new run; of the old one if nothing has changed.

    Raises
    ------
    RunError
        There is no run, or a damaged one, or another process is at work there.
    ConfigError, DataError, VoterError, StoppedError
        As in `train`.
    """
    if not isinstance(keep_earlier, int) or isinstance(keep_earlier, bool) or keep_earlier < 0:
        raise ConfigError(f"keep_earlier is a whole number, 0 or more, not {keep_earlier!r:.100}.")
    callbacks, settings = check_callbacks(callbacks) or (Log(),), SETTINGS.check_all(settings)
    with run_callbacks(callbacks):
        return _update(task, as_path(run, "run"), keep_earlier, preset, callbacks, settings)


def _update(
    task: Task | Callable[[], Task], folder: Path, keep_earlier: int, preset: str | None,
    callbacks: tuple[Callback, ...], settings: dict[str, Any],
) -> MixTEA:  # fmt: skip
    """Match only what has changed, or train again."""
    from mixtea.aligner import MixTEA
    from mixtea.aligner.updating import update_aligner, why_train

    before, old = run_checksum(folder), MixTEA.load(folder, device=settings.get("device"))
    found = _with_decisions(task() if callable(task) else task, old.task_, folder)
    changed = (difference(old.task_.source, found.source), difference(old.task_.target, found.target))
    same_links = _pairs(found) == _pairs(old.task_) and found.synonyms == old.task_.synonyms
    preset = preset or old.preset
    chosen = (old.settings if preset == old.preset else {}) | settings
    same_settings = Config.preset(preset, **chosen).training_settings() == old.config.training_settings()
    why = why_train(old, found, changed, same_links=same_links) if same_settings else "other settings are asked for"
    why = "several processes are at work" if n_processes() > 1 else why
    if why:
        report_notice(f"{why}: trained again" + (", beginning with what the run has found" if same_settings else ""))
        chosen = {"max_epochs": old.config.max_epochs} | chosen if old._parent else chosen  # fewer already
        start = folder if same_settings else None
        learned = folder if old.applies_learned else None
        return train(
            found, folder, preset=preset, overwrite=True, warm_start=start, learned=learned, callbacks=callbacks,
            keep_earlier=keep_earlier, **chosen,
        )  # fmt: skip
    if not any(of.touched.any() or of.n_gone for of in changed):
        report_notice(f"{folder}: nothing has changed, so the run stays as it is")
        return old
    work = UnfinishedRun(folder)
    with work.locked(), StopSignals(lambda: report_notice(ALMOST_DONE)):
        if run_checksum(folder) != before:
            raise RunError(f"{folder}: replaced by another process meanwhile. Update it again.")
        new, summary = update_aligner(old, found, changed)
        report_notice(summary)
        TrainingRun(TrainingInputs(found, preset, chosen), work, overwrite=True, keep_earlier=keep_earlier).finish(
            new, old
        )
    return new


def _with_decisions(task: Task, old: Task, folder: Path) -> Task:
    """Add the decisions of reviewers in the run to the task, and those made since."""
    known = [_renumbered(pairs, old, task) for pairs in (old.rejected, old.reviewed.pairs)]
    new = [kept & ~_is_among(pairs, _known_pairs(task)) for pairs, kept in known]
    rejected, reviewed = (pairs[kept] for (pairs, _), kept in zip(known, new, strict=True))
    opinions = Reviewed(np.concatenate([task.reviewed.pairs, reviewed]),
                        np.concatenate([task.reviewed.log_odds, old.reviewed.log_odds[new[1]]]))  # fmt: skip
    task = task.replace(rejected=np.concatenate([task.rejected, rejected]), reviewed=opinions)
    if not decisions_path(folder).exists():
        return task
    store = DecisionStore(decisions_path(folder))
    try:
        return reviewed_task(task, store.active())
    finally:
        store.close()


def _renumbered(pairs: np.ndarray, old: Task, task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs [p, 2] by entity index of another task, and whether it has both ends, bool [p]."""
    ends = [new.find(of.ids[pairs[:, side]]) for side, (of, new) in
            enumerate(((old.source, task.source), (old.target, task.target)))]  # fmt: skip
    found = np.stack(ends, axis=1)
    there: np.ndarray = np.all(found >= 0, axis=1)
    return found, there


def _known_pairs(task: Task) -> np.ndarray:
    return np.concatenate([task.train, task.valid, task.rejected, task.reviewed.pairs])


def _is_among(pairs: np.ndarray, others: np.ndarray) -> np.ndarray:
    known = {tuple(pair) for pair in others.tolist()}
    return np.array([tuple(pair) in known for pair in pairs.tolist()], dtype=bool)


def _pairs(task: Task) -> list[set[tuple[str, str]]]:
    """Return links, rejected pairs and opinions by ids."""
    found: list[set[tuple[str, str]]] = []
    for pairs in (task.train, task.valid, task.test, task.rejected, task.reviewed.pairs):
        ends = task.source.ids[pairs[:, 0]].tolist(), task.target.ids[pairs[:, 1]].tolist()
        found.append(set(zip(*ends, strict=True)))
    return found
