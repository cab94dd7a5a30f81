"""A search for settings: Optuna proposes, validation links score, and every finished trial is kept in a folder.

A trial is a training, and its value is its best validation Hit@1. Test links are removed before the first one. The
folder holds `tune.json` (the search space and the trials), rewritten whole after each trial: whatever ends the
process, earlier trials are kept, and the running one is run again.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import logging
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mixtea import __version__
from mixtea.callbacks import Callback
from mixtea.config import FIELDS, TYPES, Config, parse_setting
from mixtea.errors import (
    DAMAGED_FILE_ERRORS,
    ConfigError,
    DataError,
    MissingExtraError,
    MixTEAError,
    RunError,
    TrainingError,
)
from mixtea.graph.fingerprint import checksum
from mixtea.graph.task import Task
from mixtea.messages import visible
from mixtea.runs.atomic import atomic_text, check_free, lock_folder

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


logger = logging.getLogger(__name__)
FORMAT = 1
STATES = ("complete", "pruned", "failed")
TRIALS_BEFORE_PRUNING = 5  # finished trials before the first can be pruned
MIN_TRIALS_FOR_IMPORTANCE = 10  # completed trials


@dataclass
class Trial:
    """A training and its outcome. `validations` holds [epoch, Hit@1], `value` the best of them."""

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


class StudyCallback(Callback):
    """Receiver of what a search reports: the beginning of a trial, its training, and its end, when it is stored."""

    def on_trial(self, number: int, settings: dict[str, Any]) -> None: ...

    def on_trial_end(self, trial: Trial) -> None: ...


class _Trainer(Callback):
    """Note the validation of a trial's training, and end it if it is behind the others."""

    def __init__(self, trial: Trial, asked: Any, max_epochs: int) -> None:
        self.trial, self.asked, self.max_epochs = trial, asked, max_epochs

    def on_epoch(self, record: dict[str, Any]) -> None:
        trial = self.trial
        if record["epoch"] <= trial.epochs:  # it has gone back to a lower rate, which would be another trial
            raise TrainingError(f"The training diverged after epoch {trial.epochs}.")
        trial.epochs = record["epoch"]
        if "valid_hits@1" not in record:
            return
        trial.validations.append((record["epoch"], record["valid_hits@1"]))
        trial.value = max(value for _, value in trial.validations)
        self.asked.report(record["valid_hits@1"], record["epoch"])
        if record["epoch"] < self.max_epochs and self.asked.should_prune():
            raise _optuna().TrialPruned


class Study:
    """A search in the folder `out`, new or resumed. `trials` holds the finished ones."""

    def __init__(
        self, task: Task, out: Path, ranges: Sequence[Range], preset: str = "best",
        settings: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        if not len(task.valid):
            raise DataError(f"{task.name}: no validation links, by which settings are compared. Give some.")
        self.task, self.out, self.ranges = task.replace(test=task.test[:0]), out, ranges
        self.preset, self.settings = preset, dict(settings or {})
        self.config = Config.preset(preset, **self.settings)
        fixed = {name: value for name, value in self.settings.items() if name not in ("device", "seed")}
        self.about: dict[str, Any] = {
            "task": task.name, "fold": task.fold, "checksum": checksum(task), "preset": preset,
            "settings": json.loads(json.dumps(fixed)),  # as they are read again: lists of names are tuples here
            "ranges": [str(one) for one in ranges], "seed": self.config.seed,
        }  # fmt: skip
        self.trials = self._read()

    def run(self, n_trials: int, callback: StudyCallback | None = None) -> None:
        """Run trials until `n_trials` have ended in all; then every file is written."""
        from mixtea.compute.device import choose_device

        optuna, callback = _optuna(), callback or StudyCallback()
        choose_device(self.config.device)
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise ConfigError("A search runs in one process: start it without torchrun.")
        if not self.out.is_dir():
            check_free(self.out, overwrite=False)
            self.out.mkdir(exist_ok=True)
        with lock_folder(self.out), _quiet(optuna):
            self.trials = self._read()
            self.save()
            while len(self.trials) < n_trials:
                trial = self._next(optuna, callback)
                self.trials.append(trial)
                self.save()
                callback.on_trial_end(trial)

    @property
    def best(self) -> Trial | None:
        return next(iter(self.ranking()), None)

    def ranking(self) -> list[Trial]:
        """Return the completed trials, best first."""
        complete = [trial for trial in self.trials if trial.state == "complete"]
        return sorted(complete, key=lambda trial: -(trial.value or 0.0))

    def importance(self) -> dict[str, float]:
        """Return each field's share in whether a trial is in the best five or 10 % (PED-ANOVA); empty if unknown."""
        complete = self.ranking()
        if len(complete) < MIN_TRIALS_FOR_IMPORTANCE or complete[0].value == complete[-1].value:
            return {}
        optuna = _optuna()
        with warnings.catch_warnings(), _quiet(optuna):
            warnings.simplefilter("ignore")  # earlier versions warn that it is experimental
            judge = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=max(0.1, 5 / len(complete)))
            return dict(optuna.importance.get_param_importances(self._study(optuna), evaluator=judge))

    def best_settings(self) -> dict[str, Any]:
        """Return the settings of the best trial, beside the preset and the device."""
        assert self.best is not None
        return self.about["settings"] | self.best.settings | {"seed": self.config.seed}

    def _study(self, optuna: Any) -> Any:
        """Return the trials as an Optuna study; the next draw depends on the seed and the trials alone."""
        seed = int(np.random.SeedSequence((self.config.seed, len(self.trials))).generate_state(1)[0])
        sampler = optuna.samplers.TPESampler(seed=seed)
        pruner = optuna.pruners.MedianPruner(n_startup_trials=TRIALS_BEFORE_PRUNING)
        study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
        for trial in self.trials:
            if trial.state != "failed":
                known = dict(params=trial.settings, distributions=self._distributions(), value=trial.value)
                known |= dict(state=optuna.trial.TrialState[trial.state.upper()])
                study.add_trial(optuna.trial.create_trial(**known, intermediate_values=dict(trial.validations)))
        return study

    def _distributions(self) -> dict[str, Any]:
        return {one.field: one.distribution() for one in self.ranges}

    def _next(self, optuna: Any, callback: StudyCallback) -> Trial:
        """Run the next trial; settings that were tried before are not trained twice."""
        asked = self._study(optuna).ask(self._distributions())
        trial = Trial(len(self.trials) + 1, dict(asked.params), self.config.seed, __version__)
        callback.on_trial(trial.number, trial.settings)
        for known in self.trials:
            if known.settings == trial.settings and known.state != "failed":
                trial.state, trial.value, trial.note = known.state, known.value, f"the same as trial {known.number}"
                trial.validations = known.validations if known.state == "pruned" else []  # counted once in the median
                return trial
        started = time.perf_counter()
        self._train(trial, asked, optuna, callback)
        trial.seconds = round(time.perf_counter() - started, 3)
        return trial

    def _train(self, trial: Trial, asked: Any, optuna: Any, callback: StudyCallback) -> None:
        import torch

        from mixtea.aligner import MixTEA

        try:
            aligner = MixTEA(self.preset, **self.settings | trial.settings)
            aligner.fit(self.task, callbacks=[callback, _Trainer(trial, asked, aligner.config.max_epochs)])
            if aligner.lowered_:
                raise TrainingError(f"The training diverged at epoch {aligner.lowered_['diverged_at']}.")
            trial.state = "complete"
        except optuna.TrialPruned:
            trial.state = "pruned"
        except (MixTEAError, MemoryError, torch.cuda.OutOfMemoryError) as error:
            trial.note, trial.value = " ".join(str(error).split()) or "out of memory", None

    def save(self) -> None:
        """Write `tune.json`, `trials.csv` and, if there is a best trial, `best.toml`."""
        content = {"format": FORMAT, **self.about, "trials": [dataclasses.asdict(trial) for trial in self.trials]}
        atomic_text(self.out / "tune.json", json.dumps(content, indent=1, ensure_ascii=False))
        names, text = [one.field for one in self.ranges], io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["number", "state", "value", "seconds", "epochs", *names, "seed", "version", "note"])
        for trial in self.trials:
            tried = (trial.settings[name] for name in names)
            head = (trial.number, trial.state, trial.value, trial.seconds, trial.epochs)
            table.writerow([*head, *tried, trial.seed, trial.version, trial.note])
        atomic_text(self.out / "trials.csv", text.getvalue())
        if self.best is not None:
            said = f"# preset {self.preset}, trial {self.best.number}: validation Hit@1 {self.best.value:.4f}\n"
            lines = [f"{name} = {json.dumps(value)}\n" for name, value in self.best_settings().items()]
            atomic_text(self.out / "best.toml", said + "".join(lines))

    def _read(self) -> list[Trial]:
        """Read the trials of the folder if it holds a study of the same search; it may be new or empty."""
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
        wanted = {"format": FORMAT, **self.about}
        other = "; ".join(f"{n} {there[n]!r}, not {value!r}" for n, value in wanted.items() if there[n] != value)
        if other:
            raise RunError(f"{self.out}: a search is there with {other}. Call it as before, or name another.")
        try:
            return [self._checked(trial) for trial in trials]
        except DAMAGED_FILE_ERRORS as error:
            raise RunError(f"{file}: damaged ({error}). Name another folder.") from None

    def _checked(self, trial: Trial) -> Trial:
        """Return the trial if it can be one of this search, else raise ValueError."""
        numbers = [trial.number, trial.seed, trial.seconds, trial.epochs]
        numbers += [part for validation in trial.validations for part in validation]
        if not all(type(number) in (int, float) and abs(number) < 1e18 for number in numbers):
            raise ValueError("a value is not a number")
        if any(len(validation) != 2 for validation in trial.validations):
            raise ValueError("validations of another form")
        if trial.state not in STATES or not all(type(text) is str for text in (trial.version, trial.note)):
            raise ValueError("an unknown state")
        has_value = type(trial.value) in (int, float) and 0 <= (trial.value or 0) <= 1
        if not has_value and (trial.state == "complete" or trial.value is not None):
            raise ValueError("an invalid value")
        if trial.settings.keys() != {one.field for one in self.ranges} or not all(
            one.holds(trial.settings[one.field]) for one in self.ranges
        ):
            raise ValueError("settings that are not searched")
        return trial


def _optuna() -> Any:
    """Import Optuna, which is optional."""
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("mixtea tune needs Optuna: pip install 'mixtea[tune]'.") from None
    return optuna


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Leave Optuna's own messages out while the block runs."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


PAPER_RANGES = (
    "n_layers=1,2,3,4",
    "entity_dim=128,256",
    "margin=1,2,3",
    "n_negatives=10,20,30",
    "momentum=0.9,0.99,0.999",
)
_AFTER = "it is used after training only, so every value has the same validation Hit@1"
NOT_TUNED = dict.fromkeys(("metric", "decoder", "decode_voters", "candidates", "keep"), _AFTER) | {
    "voters": "a list of names is not a single value. Fix it with --set voters=..., and search once for each",
    "seed": "the best of several seeds is luck. Give one with --seed",
    "device": "it changes the speed only. Give one with --device",
}


@dataclass(frozen=True)
class Range:
    """`choices` of a field or, without any, its numbers from `low` to `high`."""

    field: str
    choices: tuple[Any, ...] = ()
    low: float = 0
    high: float = 0

    @property
    def log(self) -> bool:
        """Return whether it is searched on a log scale, where 1 to 10 counts as much as 10 to 100."""
        return self.low > 0 and self.high >= 10 * self.low

    def __str__(self) -> str:
        if not self.choices:
            return f"{self.field}={self.low}..{self.high}"
        return f"{self.field}=" + ",".join(v if isinstance(v, str) else json.dumps(v) for v in self.choices)

    def holds(self, value: Any) -> bool:
        """Return whether it is one of the choices, of the same type, or a number of the range."""
        if self.choices:
            return any(value == choice and type(value) is type(choice) for choice in self.choices)
        return type(value) in (int, TYPES[self.field]) and self.low <= value <= self.high

    def distribution(self) -> BaseDistribution:
        """Return the range as an Optuna distribution."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if self.choices:
            return CategoricalDistribution(self.choices)
        if TYPES[self.field] is int:
            return IntDistribution(int(self.low), int(self.high), log=self.log)
        return FloatDistribution(self.low, self.high, log=self.log)


def parse_ranges(texts: Iterable[str], preset: str, settings: Mapping[str, Any]) -> list[Range]:
    """Parse `field=a,b,c` and `field=low..high` of the command line; check every value with the other settings.

    Without texts: the ranges that the paper searched, without the fields that `settings` fixes.
    """
    usual = [text for text in PAPER_RANGES if text.partition("=")[0] not in settings]
    found = [_parse(text, preset, settings) for text in tuple(texts) or usual]
    names = [one.field for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{name} has {names.count(name)} ranges. Give it one.")
        if name in settings:
            raise ConfigError(f"{name} has a range, and is fixed to {settings[name]!r} too. Choose one of the two.")
    if not found:
        raise ConfigError("Every field of the usual ranges is fixed. Say what to try: --range FIELD=a,b,c.")
    return sorted(found, key=lambda one: list(FIELDS).index(one.field))


def _parse(text: str, preset: str, settings: Mapping[str, Any]) -> Range:
    name, equals, values = (part.strip() for part in text.partition("="))
    if not equals:
        raise ConfigError(f"{text!r} is not of the form FIELD=a,b,c or FIELD=low..high.")
    low, dots, high = values.partition("..")
    parts = [low, high] if dots else values.split(",")
    checked = tuple(_checked(name, part, preset, settings) for part in parts)
    if name in NOT_TUNED:
        raise ConfigError(f"{name} cannot be tuned: {NOT_TUNED[name]}.")
    if not dots:
        return Range(name, tuple(dict.fromkeys(checked)))
    if TYPES[name] not in (int, float):
        raise ConfigError(f"{name} has no numbers to range over: list what to try, as in {name}=a,b.")
    if not checked[0] < checked[1]:
        raise ConfigError(f"{name}={values}: the first number of a range must be below the second.")
    return Range(name, (), *checked)


def _checked(name: str, text: str, preset: str, settings: Mapping[str, Any]) -> Any:
    """Return the value in its field's type; ConfigError if the settings refuse it."""
    name, value = parse_setting(f"{name}={text}")
    return getattr(Config.preset(preset, **{**settings, name: value}), name)
