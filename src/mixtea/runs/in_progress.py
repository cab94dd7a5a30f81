"""The folder of an unfinished training, RUN.unfinished beside RUN: its inputs and its checkpoints, and how to go on."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mixtea.compute.device import is_first
from mixtea.config import Config
from mixtea.errors import ConfigError, RunError
from mixtea.graph.fingerprint import checksum
from mixtea.graph.task import Task
from mixtea.runs.atomic import check_free, clear_errors, clear_leftovers, lock_folder, rename, resolve_place
from mixtea.runs.checkpoints import CHECKPOINT_NAME, Checkpoints, epoch_of
from mixtea.runs.folder import about_task, graph_arrays, read_run, vocabulary
from mixtea.runs.safe_read import check_forms, clear_read_errors, file_fingerprint
from mixtea.runs.state_file import SAFETENSORS_TYPES, read_state_file, write_state_file
from mixtea.runs.validate import check_config, check_task, check_vocabulary, graph_forms

START_KIND = "mixtea start 4"
OTHER_RUNS = ("warm_start", "warm_checksum", "learned", "learned_checksum", "replaces")  # fields of the inputs
OWN_FILES = re.compile(rf"{CHECKPOINT_NAME.pattern}|next\.safetensors")


@dataclass(frozen=True, eq=False)
class TrainingInputs:
    """Inputs of a training, so that it can go on when the files they were read from are gone.

    `warm_start` is the run that it began with, if any, and `warm_checksum` that of its run.json; `learned` and
    `learned_checksum` are those of the run whose weights and calibration it applies; `replaces` is the checksum of the
    run.json that the training is to replace.
    """

    task: Task
    preset: str
    settings: dict[str, Any]
    warm_start: str | None = None
    warm_checksum: str | None = None
    learned: str | None = None
    learned_checksum: str | None = None
    replaces: str | None = None

    @property
    def config(self) -> Config:
        return Config.preset(self.preset, **self.settings)

    def differences(self, other: TrainingInputs) -> list[str]:
        """Describe what differs in another one; nothing if it would train the same."""
        mine, others = self.config.training_settings(), other.config.training_settings()
        found = [f"{name} is {value!r}, not {others[name]!r}" for name, value in mine.items() if value != others[name]]
        if self.warm_start != other.warm_start:
            found.append(f"it began with {self.warm_start or 'no other run'}, not {other.warm_start or 'with none'}")
        if self.learned != other.learned:
            found.append(f"it applies what {self.learned or 'no run'} learned, not {other.learned or 'no run'}")
        same = checksum(self.task) == checksum(other.task) and np.array_equal(self.task.test, other.task.test)
        same = same and self.task.links_from == other.task.links_from
        return found if same else ["the graphs or links are others", *found]


def run_checksum(run: Path) -> str | None:
    """Compute the checksum of the run.json in a run folder; None if there is none."""
    path = run / "run.json"
    with clear_read_errors(path):
        return file_fingerprint(path)["sha256"] if path.is_file() else None


class UnfinishedRun:
    """The unfinished training of the run folder `out`. Of several processes only the first locks, checks and stores."""

    def __init__(self, out: Path) -> None:
        self.out = out
        with clear_errors(out):
            place = resolve_place(out)
        self.folder = place.with_name(f"{place.name}.unfinished")
        self.path, self.next = self.folder / "start.safetensors", self.folder / "next.safetensors"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder; an empty one is not left behind."""
        if not is_first():
            yield
            return
        with clear_errors(self.out):
            if self.folder.is_symlink():
                raise RunError(f"{self.folder}: a link, where a folder of a training is needed. Move it away.")
            self.folder.mkdir(parents=True, exist_ok=True)
        with lock_folder(self.folder):
            try:
                with clear_errors(self.folder):
                    clear_leftovers(self.folder, OWN_FILES)
                    clear_leftovers(self.folder.parent, re.compile(re.escape(self.folder.stem)))
                    self.next.unlink(missing_ok=True)
                yield
            finally:
                with suppress(OSError):  # it is not empty, or was removed
                    self.folder.rmdir()

    def epoch(self) -> int | None:
        """Return the epoch of the newest checkpoint, None if there is none."""
        return next(map(epoch_of, Checkpoints(self.folder).files()), None)

    def resume_advice(self) -> str:
        """Describe what is saved of the training, and the command that resumes it; "" if it has not begun."""
        epoch = self.epoch()
        words = ["mixtea", "fit", "--resume", "--out", str(self.out)]
        words += ["--overwrite"] if (self.out / "run.json").exists() else []
        if epoch is None:
            return f"No epoch was saved. Begin again with: {shlex.join(words)}" if self.path.exists() else ""
        return f"Saved: the state after epoch {epoch}. Go on with: {shlex.join(words)}"

    def check_free(self, *, overwrite: bool) -> None:
        """Refuse to begin where a training could go on instead, unless `overwrite`."""
        if not is_first():
            return
        check_free(self.out, overwrite=overwrite)
        if (epoch := self.epoch()) is not None and self.path.exists() and not overwrite:
            raise RunError(
                f"{self.out}: a training was interrupted there after epoch {epoch}. "
                "Go on with --resume, or begin anew with --overwrite."
            )

    def store_inputs(self, start: TrainingInputs) -> None:
        """Store the inputs of this training, then forget the earlier one."""
        if not is_first():
            return
        task = start.task
        parts = {
            "about": about_task(task),
            "warnings": task.warnings,
            "vocabulary": json.dumps(vocabulary(task)),  # as text, for any word may be a key in it
            "arrays": graph_arrays(task),
            "preset": start.preset,
            "settings": start.settings,
            "warm_start": start.warm_start,
            "warm_checksum": None if start.warm_start is None else run_checksum(Path(start.warm_start)),
            "learned": start.learned,
            "learned_checksum": None if start.learned is None else run_checksum(Path(start.learned)),
            "replaces": run_checksum(self.out),
        }
        write_state_file(self.next, START_KIND, parts)
        self.remove()
        with clear_errors(self.path):
            rename(self.next, self.path)

    def read_inputs(self) -> TrainingInputs | None:
        """Read the inputs of the training; None if there is none."""
        if not self.path.exists() and not self.path.is_symlink():
            return None
        held = read_state_file(self.path, START_KIND)
        with clear_read_errors(self.path):
            kinds = {name: (SAFETENSORS_TYPES.get(str(a.dtype), ""), a.shape) for name, a in held["arrays"].items()}
            check_forms(kinds, graph_forms(kinds))
            task = check_task(held["about"], check_vocabulary(json.loads(held["vocabulary"])), held["arrays"])
            task = replace(task, warnings=tuple(map(str, held["warnings"])))
            others = {name: held[name] for name in OTHER_RUNS}
            words = (held["about"]["task"], *others.values())
            if not all(type(word or "") is str for word in words) or type(held["about"]["fold"] or 0) is not int:
                raise TypeError("the fields of the task and of other runs")
            start = TrainingInputs(task, held["preset"], dict(held["settings"]), **others)
            check_config(start.config.to_dict())
        return start

    def remove(self) -> None:
        """Remove the training's files; first its inputs, for without these it cannot go on."""
        with clear_errors(self.folder):
            for path in (self.path, *Checkpoints(self.folder).files()):
                path.unlink(missing_ok=True)


def begin_training(work: UnfinishedRun, read: Callable[[], TrainingInputs], overwrite: bool) -> TrainingInputs:
    """Begin a new training; refused where it would replace something, unless `overwrite`."""
    work.check_free(overwrite=overwrite)
    start = read()
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
        called = read() if work.path.exists() else _without_other_runs(read())
        if differences := (start or _finished_inputs(work.out)).differences(called):
            other = "; ".join(differences)
            raise ConfigError(f"{work.out}: the training there is another: {other}. Say only --resume --out.")
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
    return start is None or not found.differences(_without_other_runs(start))


def _without_other_runs(inputs: TrainingInputs) -> TrainingInputs:
    """Return inputs as those of a finished run are known: without the runs that they name."""
    return replace(inputs, warm_start=None, learned=None)


def _finished_inputs(out: Path) -> TrainingInputs:
    """Return the inputs of a finished run, to compare; without the runs that it began with, which are not stored.

    If the run is damaged, the error names the file.
    """
    run = read_run(out)
    return TrainingInputs(run.task, run.about["preset"], run.about["chosen"])
