"""How a training begins: anew, or where an interrupted one was, and what keeps it from that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mixtea.compute.torchrun import is_first
from mixtea.errors import ConfigError, RunError
from mixtea.runs.atomic import check_free
from mixtea.runs.folder import read_run
from mixtea.runs.in_progress import Start, Unfinished, run_checksum


def begun(work: Unfinished, read: Callable[[], Start], overwrite: bool) -> Start:
    """A new training; refused where something is that it would replace, unless told to."""
    if is_first():
        work.check_free(overwrite=overwrite)
    start = read()
    if is_first():
        work.begin(start)
    return start


def resumed(
    work: Unfinished, read: Callable[[], Start] | None, chosen: dict[str, Any], overwrite: bool
) -> Start | None:
    """The interrupted training of a run; a new one if there is none but the call says what to train.

    None if the run is finished. What the call says must be what the training began with.
    """
    try:
        start = work.start()
    except RunError as error:
        raise RunError(f"{error} Or begin anew: with --overwrite, without --resume.") from None
    if start is None and (overwrite or run_checksum(work.out) is None):
        if read is None:
            raise RunError(f"{work.out}: no interrupted training is there. Say what to train, as without --resume.")
        return begun(work, read, overwrite)
    if read is not None:
        _check_same(work, start or _finished_start(work.out), read())
    if _is_end(work.out, start):
        if is_first():
            work.forget()
        return None
    assert start is not None  # else the run is the end of what there was
    where = {name: value for name, value in chosen.items() if name not in start.config.training_settings()}
    if read is None and any(getattr(start.config, name) != value for name, value in chosen.items() - where.items()):
        raise ConfigError(f"{work.out}: the training goes on with its own settings; leave them out.")
    if is_first():
        check_free(work.out, overwrite=overwrite)
    return replace(start, settings=start.settings | where)


def _is_end(out: Path, start: Start | None) -> bool:
    """Whether the run folder holds what the training has become: not the run from before, nor that of another one."""
    if start is not None and run_checksum(out) in (None, start.replaces):
        return False
    found = _finished_start(out)
    return start is None or not found.differences(replace(start, warm_start=None))


def _finished_start(out: Path) -> Start:
    """What a run was trained with, to compare; whether it began with another run is not known any more.

    If the run is damaged, the error says so.
    """
    run = read_run(out)
    return Start(run.task, run.about["preset"], run.about["chosen"])


def _check_same(work: Unfinished, start: Start, called: Start) -> None:
    """The call must say what the training began with."""
    if not work.path.exists():
        called = replace(called, warm_start=None)
    if other := start.differences(called):
        raise ConfigError(f"{work.out}: the training there is another: {'; '.join(other)}. Say only --resume --out.")
