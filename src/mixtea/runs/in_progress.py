"""The folder of a training that has not ended, RUN.unfinished beside RUN: what it began with, and its checkpoints."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mixtea.config import Config
from mixtea.errors import RunError
from mixtea.graph.fingerprint import checksum
from mixtea.graph.task import Task
from mixtea.runs.atomic import check_free, clear_errors, clear_leftovers, rename, resolved
from mixtea.runs.checkpoints import NAME, Checkpoints, epoch_of
from mixtea.runs.folder import about_task, graph_arrays, vocabulary
from mixtea.runs.lock import alone
from mixtea.runs.safe_read import check_forms, fingerprint, named
from mixtea.runs.state_file import KINDS, read_state_file, write_state_file
from mixtea.runs.validate import check_config, check_task, check_vocabulary, graph_forms

KIND = "mixtea start 3"
OWN = re.compile(rf"{NAME.pattern}|next\.safetensors")


@dataclass(frozen=True, eq=False)
class Start:
    """What a training began with, so that it can go on when the files it was read from are gone.

    `warm_start` is the run that it began with, if any, and `warm_checksum` that of its run.json; `replaces` is that of
    the run.json that the training is to replace.
    """

    task: Task
    preset: str
    settings: dict[str, Any]
    warm_start: str | None = None
    warm_checksum: str | None = None
    replaces: str | None = None

    @property
    def config(self) -> Config:
        return Config.preset(self.preset, **self.settings)

    def differences(self, other: Start) -> list[str]:
        """What is not the same in another one, in words; nothing if it would train the same."""
        mine, others = self.config.training_settings(), other.config.training_settings()
        found = [f"{name} is {value!r}, not {others[name]!r}" for name, value in mine.items() if value != others[name]]
        if self.warm_start != other.warm_start:
            found.append(f"it began with {self.warm_start or 'no other run'}, not {other.warm_start or 'with none'}")
        same = checksum(self.task) == checksum(other.task) and np.array_equal(self.task.test, other.task.test)
        same = same and self.task.links_from == other.task.links_from
        return found if same else ["the graphs or links are others", *found]


def run_checksum(run: Path) -> str | None:
    """Of the run.json in a run folder; None if there is none."""
    path = run / "run.json"
    with named(path):
        return fingerprint(path)["sha256"] if path.is_file() else None


class Unfinished:
    """The unfinished training of the run folder `out`."""

    def __init__(self, out: Path) -> None:
        self.out = out
        with clear_errors(out):
            place = resolved(out)
        self.folder = place.with_name(f"{place.name}.unfinished")
        self.path, self.next = self.folder / "start.safetensors", self.folder / "next.safetensors"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else may be at work for the same run; an empty folder is not left behind."""
        with clear_errors(self.out):
            if self.folder.is_symlink():
                raise RunError(f"{self.folder}: a link, where a folder of a training is needed. Move it away.")
            self.folder.mkdir(parents=True, exist_ok=True)
        with alone(self.folder):
            try:
                with clear_errors(self.folder):
                    clear_leftovers(self.folder, OWN)
                    clear_leftovers(self.folder.parent, re.compile(re.escape(self.folder.stem)))
                    self.next.unlink(missing_ok=True)
                yield
            finally:
                with suppress(OSError):  # it holds something, or somebody has removed it
                    self.folder.rmdir()

    def epoch(self) -> int | None:
        """The epoch of the newest checkpoint, None if there is none."""
        return next(map(epoch_of, Checkpoints(self.folder).files()), None)

    def how_to_go_on(self) -> str:
        """What is saved of the training, and the command that goes on with it; "" if it has not begun."""
        epoch = self.epoch()
        words = ["mixtea", "fit", "--resume", "--out", str(self.out)]
        words += ["--overwrite"] if (self.out / "run.json").exists() else []
        if epoch is None:
            return f"No epoch was saved. Begin again with: {shlex.join(words)}" if self.path.exists() else ""
        return f"Saved: the state after epoch {epoch}. Go on with: {shlex.join(words)}"

    def check_free(self, *, overwrite: bool) -> None:
        """Refuse to begin where a training could go on instead, unless told to."""
        check_free(self.out, overwrite=overwrite)
        if (epoch := self.epoch()) is not None and self.path.exists() and not overwrite:
            raise RunError(
                f"{self.out}: a training was interrupted there after epoch {epoch}. "
                "Go on with --resume, or begin anew with --overwrite."
            )

    def begin(self, start: Start) -> None:
        """Remember what this training begins with, and forget what was there once that is written."""
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
            "replaces": run_checksum(self.out),
        }
        write_state_file(self.next, KIND, parts)
        self.forget()
        with clear_errors(self.path):
            rename(self.next, self.path)

    def start(self) -> Start | None:
        """What the training began with; None if there is none."""
        if not self.path.exists() and not self.path.is_symlink():
            return None
        held = read_state_file(self.path, KIND)
        with named(self.path):
            kinds = {name: (KINDS.get(str(a.dtype), ""), a.shape) for name, a in held["arrays"].items()}
            check_forms(kinds, graph_forms(kinds))
            task = check_task(held["about"], check_vocabulary(json.loads(held["vocabulary"])), held["arrays"])
            task = replace(task, warnings=tuple(map(str, held["warnings"])))
            others = {name: held[name] for name in ("warm_start", "warm_checksum", "replaces")}
            words = (held["about"]["task"], *others.values())
            if not all(type(word or "") is str for word in words) or type(held["about"]["fold"] or 0) is not int:
                raise TypeError("what it says of the task and of other runs")
            start = Start(task, held["preset"], dict(held["settings"]), **others)
            check_config(start.config.to_dict())
        return start

    def forget(self) -> None:
        """Remove what the training left; first what it began with, for without that nothing can go on."""
        with clear_errors(self.folder):
            for path in (self.path, *Checkpoints(self.folder).files()):
                path.unlink(missing_ok=True)
