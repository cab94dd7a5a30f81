"""A search for settings: Optuna proposes, validation links judge, and every finished trial is kept in a folder.

A trial is a training, and its value is its best validation Hit@1. Test links are taken away before the first one. The
folder holds `tune.json` (what is searched, and the trials), rewritten whole after each trial: whatever ends the
process, the trials before are there, and the one that was running is run again.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import logging
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mixtea import __version__
from mixtea.config import Config
from mixtea.errors import (
    DAMAGED_FILE_ERRORS,
    ConfigError,
    DataError,
    MissingExtraError,
    MixTEAError,
    RunError,
    TrainingError,
)
from mixtea.experiments.tune.ranges import Range
from mixtea.graph.fingerprint import checksum
from mixtea.graph.task import Task
from mixtea.messages import visible
from mixtea.runs.atomic import atomic_file, check_free
from mixtea.runs.lock import alone

logger = logging.getLogger(__name__)
FORMAT = 1
STATES = ("complete", "pruned", "failed")
STARTUP = 5  # finished trials before the first can be pruned
ENOUGH = 10  # finished trials before importance says anything


@dataclass
class Trial:
    """A training and what came of it. `validations` holds [epoch, Hit@1], `value` the best of them."""

    number: int
    settings: dict[str, Any]
    seed: int
    version: str
    state: str = "failed"  # or complete, or pruned
    value: float | None = None
    seconds: float = 0.0
    epochs: int = 0
    validations: list[tuple[int, float]] = field(default_factory=list)
    note: str = ""


class Watch:
    """Is told what happens; for a person to see."""

    def begins(self, number: int, settings: dict[str, Any]) -> None:
        """A trial begins."""

    def epoch(self, record: dict[str, Any]) -> None:
        """An epoch of it has ended."""

    def ends(self, trial: Trial) -> None:
        """It has ended and is kept."""


class Study:
    """The search in the folder `out`, new or to be gone on with. `trials` holds what has ended so far."""

    def __init__(
        self, task: Task, out: Path, ranges: Sequence[Range], preset: str = "best",
        settings: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        if not len(task.valid):
            raise DataError(f"{task.name}: no validation links, by which settings are compared. Give some.")
        self.task, self.out, self.ranges = dataclasses.replace(task, test=task.test[:0]), out, ranges
        self.preset, self.settings = preset, dict(settings or {})
        self.config = Config.preset(preset, **self.settings)
        fixed = {name: value for name, value in self.settings.items() if name not in ("device", "seed")}
        self.about: dict[str, Any] = {
            "task": task.name, "fold": task.fold, "checksum": checksum(task), "preset": preset,
            "settings": json.loads(json.dumps(fixed)),  # as they are read again: lists of names are tuples here
            "ranges": [str(one) for one in ranges], "seed": self.config.seed,
        }  # fmt: skip
        self.trials = self._read()

    def run(self, n_trials: int, watch: Watch | None = None) -> None:
        """Go on until `n_trials` have ended in all; then every file is there."""
        from mixtea.compute.device import choose_device

        optuna, watch = _optuna(), watch or Watch()
        choose_device(self.config.device)
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise ConfigError("A search runs in one process: start it without torchrun.")
        if not self.out.is_dir():
            check_free(self.out, overwrite=False)
            self.out.mkdir(exist_ok=True)
        with alone(self.out):
            self.trials = self._read()
            self.save()
            while len(self.trials) < n_trials:
                trial = self._next(optuna, watch)
                self.trials.append(trial)
                self.save()
                watch.ends(trial)

    @property
    def best(self) -> Trial | None:
        return next(iter(self.ranking()), None)

    def ranking(self) -> list[Trial]:
        """The trials that ran to their end, best first."""
        complete = [trial for trial in self.trials if trial.state == "complete"]
        return sorted(complete, key=lambda trial: -(trial.value or 0.0))

    def importance(self) -> dict[str, float]:
        """How much each field decides whether a trial is among the best five or 10 % (PED-ANOVA); empty if unknown."""
        complete = self.ranking()
        if len(complete) < ENOUGH or complete[0].value == complete[-1].value:
            return {}
        optuna = _optuna()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it was experimental once, and says so
            judge = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=max(0.1, 5 / len(complete)))
            return dict(optuna.importance.get_param_importances(self._study(optuna), evaluator=judge))

    def best_settings(self) -> dict[str, Any]:
        """What the best trial was trained with, beside the preset and the device."""
        assert self.best is not None
        return self.about["settings"] | self.best.settings | {"seed": self.config.seed}

    def _study(self, optuna: Any) -> Any:
        """The trials in Optuna's hands. The next draw depends on the seed and on them alone, however often resumed."""
        seed = int(np.random.SeedSequence((self.config.seed, len(self.trials))).generate_state(1)[0])
        sampler, pruner = optuna.samplers.TPESampler(seed=seed), optuna.pruners.MedianPruner(n_startup_trials=STARTUP)
        study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
        for trial in self.trials:
            if trial.state != "failed":
                known = dict(params=trial.settings, distributions=self._distributions(), value=trial.value)
                state = optuna.trial.TrialState[trial.state.upper()]
                study.add_trial(
                    optuna.trial.create_trial(**known, state=state, intermediate_values=dict(trial.validations))
                )
        return study

    def _distributions(self) -> dict[str, Any]:
        return {one.field: one.distribution() for one in self.ranges}

    def _next(self, optuna: Any, watch: Watch) -> Trial:
        """The next trial; settings that were tried before have the same value again and are not trained twice."""
        asked = self._study(optuna).ask(self._distributions())
        trial = Trial(len(self.trials) + 1, dict(asked.params), self.config.seed, __version__)
        watch.begins(trial.number, trial.settings)
        for known in self.trials:
            if known.settings == trial.settings and known.state != "failed":
                trial.state, trial.value, trial.note = known.state, known.value, f"the same as trial {known.number}"
                trial.validations = known.validations if known.state == "pruned" else []  # one say in the median
                return trial
        started = time.perf_counter()
        self._train(trial, asked, optuna, watch)
        trial.seconds = round(time.perf_counter() - started, 3)
        return trial

    def _train(self, trial: Trial, asked: Any, optuna: Any, watch: Watch) -> None:
        import torch

        from mixtea.aligner import MixTEA

        def on_epoch(record: dict[str, Any]) -> None:
            if record["epoch"] <= trial.epochs:  # it has gone back to a lower rate, which would be another trial
                raise TrainingError(f"The training diverged after epoch {trial.epochs}.")
            trial.epochs = record["epoch"]
            watch.epoch(record)
            if "valid_hits@1" not in record:
                return
            trial.validations.append((record["epoch"], record["valid_hits@1"]))
            trial.value = max(value for _, value in trial.validations)
            asked.report(record["valid_hits@1"], record["epoch"])
            if record["epoch"] < aligner.config.max_epochs and asked.should_prune():
                raise optuna.TrialPruned

        try:
            aligner = MixTEA(self.preset, **self.settings | trial.settings)
            aligner.fit(self.task, on_epoch)
            if aligner.lowered_:
                raise TrainingError(f"The training diverged at epoch {aligner.lowered_['diverged_at']}.")
            trial.state = "complete"
        except optuna.TrialPruned:
            trial.state = "pruned"
        except (MixTEAError, MemoryError, torch.cuda.OutOfMemoryError) as error:
            trial.note, trial.value = " ".join(str(error).split()) or "out of memory", None

    def save(self) -> None:
        """`tune.json`, `trials.csv` and, once there is a best trial, `best.toml`."""
        content = {"format": FORMAT, **self.about, "trials": [dataclasses.asdict(trial) for trial in self.trials]}
        with atomic_file(self.out / "tune.json", follow=False) as path:
            path.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
        names = [one.field for one in self.ranges]
        with (
            atomic_file(self.out / "trials.csv", follow=False) as path,
            path.open("w", encoding="utf-8", newline="") as file,
        ):
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["number", "state", "value", "seconds", "epochs", *names, "seed", "version", "note"])
            for trial in self.trials:
                tried = (trial.settings[name] for name in names)
                head = (trial.number, trial.state, trial.value, trial.seconds, trial.epochs)
                table.writerow([*head, *tried, trial.seed, trial.version, trial.note])
        if self.best is not None:
            said = f"# preset {self.preset}, trial {self.best.number}: validation Hit@1 {self.best.value:.4f}\n"
            lines = [f"{name} = {json.dumps(value)}\n" for name, value in self.best_settings().items()]
            with atomic_file(self.out / "best.toml", follow=False) as path:
                path.write_text(said + "".join(lines), encoding="utf-8")

    def _read(self) -> list[Trial]:
        """The trials of the folder, if it holds a study of the same; it may be new or empty too."""
        file = self.out / "tune.json"
        if not file.is_file():
            if self.out.is_dir() and any(not path.name.startswith(".") for path in self.out.iterdir()):
                raise RunError(f"{self.out}: the folder is not empty, and holds no search. Name another.")
            return []
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            there = {name: content[name] for name in ("format", *self.about)}
            trials = [Trial(**trial) for trial in content["trials"]]
        except DAMAGED_FILE_ERRORS as error:
            raise RunError(f"{file}: damaged ({visible(repr(error), 200)}). Name another folder.") from None
        other = [
            f"{name} {there[name]!r}, not {value!r}"
            for name, value in {"format": FORMAT, **self.about}.items()
            if there[name] != value
        ]
        if other:
            raise RunError(
                f"{self.out}: a search is there with {'; '.join(other)}. Call it as before, or name another."
            )
        try:
            return [self._checked(trial) for trial in trials]
        except DAMAGED_FILE_ERRORS as error:
            raise RunError(f"{file}: damaged ({error}). Name another folder.") from None

    def _checked(self, trial: Trial) -> Trial:
        """The trial, if it can be one of this search."""
        numbers = [trial.number, trial.seed, trial.seconds, trial.epochs]
        numbers += [part for validation in trial.validations for part in validation]
        if not all(type(number) in (int, float) and abs(number) < 1e18 for number in numbers):
            raise ValueError("a value is not a number")
        if any(len(validation) != 2 for validation in trial.validations):
            raise ValueError("validations of another form")
        if trial.state not in STATES or not all(type(text) is str for text in (trial.version, trial.note)):
            raise ValueError("what it says of how it ended")
        has_value = type(trial.value) in (int, float) and 0 <= (trial.value or 0) <= 1
        if not has_value and (trial.state == "complete" or trial.value is not None):
            raise ValueError("a value that is none")
        if trial.settings.keys() != {one.field for one in self.ranges} or not all(
            one.holds(trial.settings[one.field]) for one in self.ranges
        ):
            raise ValueError("settings that are not searched")
        return trial


def _optuna() -> Any:
    """Optuna, which is optional, and quiet."""
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("mixtea tune needs Optuna: pip install 'mixtea[tune]'.") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
