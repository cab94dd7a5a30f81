"""Begin a training anew, or resume an interrupted one, or refuse both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mixtea.compute.torchrun import is_first
from mixtea.errors import ConfigError, RunError
from mixtea.runs.atomic import check_free
from mixtea.runs.folder import read_run
from mixtea.runs.in_progress import TrainingInputs, UnfinishedRun, run_checksum


def begin_training(work: UnfinishedRun, read: Callable[[], TrainingInputs], overwrite: bool) -> TrainingInputs:
    """Begin a new training; refused where it would replace something, unless `overwrite`."""
    if is_first():
        work.check_free(overwrite=overwrite)
    start = read()
    if is_first():
        work.store_inputs(start)
    return start


def resume_training(
    work: UnfinishedRun, read: Callable[[], TrainingInputs] | None, chosen: dict[str, Any], overwrite: bool
) -> TrainingInputs | None:
    """Return the interrupted training of a run; a new one if there is none but the call has a task.

    None if the run is finished. The arguments of the call must be those that the training began with.
    """
    try:
        start = work.read_inputs()
    except RunError as error:
        raise RunError(f"{error} Or begin anew: with --overwrite, without --resume.") from None
    if start is None and (overwrite or run_checksum(work.out) is None):
        if read is None:
            raise RunError(f"{work.out}: no interrupted training is there. Say what to train, as without --resume.")
        return begin_training(work, read, overwrite)
    if read is not None:
        _check_same(work, start or _finished_inputs(work.out), read())
    if _is_result(work.out, start):
        if is_first():
            work.remove()
        return None
    assert start is not None  # else the run is the end of what there was
    where = {name: value for name, value in chosen.items() if name not in start.config.training_settings()}
    if read is None and any(getattr(start.config, name) != value for name, value in chosen.items() - where.items()):
        raise ConfigError(f"{work.out}: the training goes on with its own settings; leave them out.")
    if is_first():
        check_free(work.out, overwrite=overwrite)
    return replace(start, settings=start.settings | where)


def _is_result(out: Path, start: TrainingInputs | None) -> bool:
    """Check whether the run folder is the result of this training: not the run from before, nor that of another one."""
    if start is not None and run_checksum(out) in (None, start.replaces):
        return False
    found = _finished_inputs(out)
    return start is None or not found.differences(replace(start, warm_start=None))


def _finished_inputs(out: Path) -> TrainingInputs:
    """Return the inputs of a finished run, to compare; without its warm start, which is not stored.

    If the run is damaged, the error names the file.
    """
    run = read_run(out)
    return TrainingInputs(run.task, run.about["preset"], run.about["chosen"])


def _check_same(work: UnfinishedRun, start: TrainingInputs, called: TrainingInputs) -> None:
    """Refuse a call with other inputs than the training began with."""
    if not work.path.exists():
        called = replace(called, warm_start=None)
    if other := start.differences(called):
        raise ConfigError(f"{work.out}: the training there is another: {'; '.join(other)}. Say only --resume --out.")
