"""Define the paper's tables and figures, and plan the trainings of the wanted ones.

An experiment has rows, and a row changes settings of a preset. A training that several of them need is done once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from mixtea.config import STRUCTURE_VOTERS, Config
from mixtea.errors import ConfigError, DataError
from mixtea.experiments.reproduce.published import TASKS
from mixtea.fields import assignments

CURVE = {"max_epochs": 150, "patience": 1_000_000}
SHARES = (0.01, 0.05, 0.1, 0.2, 0.3)


@dataclass(frozen=True)
class Variant:
    """A row of a table or a curve of a figure: what is changed, and what is looked at."""

    label: str
    preset: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    share: float | None = None  # of all links that train; None: as the fold has it
    observed: bool = False  # the test links are scored during the training too
    own: frozenset[str] = frozenset()  # the settings that make it this row


@dataclass(frozen=True)
class Experiment:
    """A table or figure: a title, what it shows, and its rows for a preset."""

    title: str
    about: str
    variants: Sequence[tuple[str, Mapping[str, Any]]] = ()
    shares: Sequence[float] = ()
    observed: bool = False
    presets: tuple[str, ...] = ("paper",)

    def of_preset(self, preset: str) -> Iterator[Variant]:
        """Yield the rows of one preset; leave out settings that it refuses."""
        for label, changed in self.variants:
            settings = _of_preset(preset, changed)
            try:
                Config.preset(preset, **settings)
            except ConfigError:
                continue
            for share in self.shares or (None,):
                yield Variant(label, preset, settings, share, self.observed, frozenset(settings))


NO_BACKWARD = "all of the preset's voters but backward"


def structural_voters(preset: str) -> tuple[str, ...]:
    """Return the voters of a preset that use triples and links alone: only these are compared here."""
    return tuple(name for name in Config.preset(preset).voters if name in STRUCTURE_VOTERS)


def _of_preset(preset: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings, restricted to structural voters where the preset has others."""
    voters = structural_voters(preset)
    if settings.get("voters") is NO_BACKWARD:
        return {**settings, "voters": tuple(name for name in voters if name != "backward")}
    return dict(settings) if voters == Config.preset(preset).voters else {"voters": voters, **settings}


EXPERIMENTS = {
    "data": Experiment("Data", "What the graphs hold, beside what was published."),
    "main": Experiment(
        "Accuracy",
        "From structure alone: Hit@k and MRR on the test links, ranked among the test targets, ties in expectation, "
        "mean over the folds ± their standard deviation. Rows in italics are published.",
        [("", {})],
        presets=("paper", "best"),
    ),
    "ablation": Experiment(
        "Ablation",
        "One part switched off at a time, the student by plain cosine.",
        [
            ("without relations", {"use_relations": False}),
            ("without L_u", {"pseudo_weight": 0.0}),
            ("without BDV", {"voters": NO_BACKWARD}),
            ("without MDR", {"rectify": False}),
            ("without BDV and MDR", {"voters": NO_BACKWARD, "rectify": False}),
            ("complete", {}),
        ],
    ),
    "strategies": Experiment(
        "Teaching strategies",
        "The same encoder, taught in other ways: by the links alone, by pairs above a cosine of .9 (self-training), by "
        "one-to-one editing above .7 (BootEA's way), by mutual nearest neighbours (MRAEA's way), by mixture teaching.",
        [
            ("links alone", {"pseudo_weight": 0.0}),
            ("threshold self-training", {"teaching": "threshold"}),
            ("one-to-one editing", {"teaching": "one_to_one", "teaching_threshold": 0.7}),
            ("mutual nearest neighbours", {"teaching": "mutual"}),
            ("mixture teaching", {}),
        ],
    ),
    "curves": Experiment(
        "Training curves",
        "Hit@1 on the test links by epoch, read by a callback that the training cannot see; no early stop.",
        [
            ("encoder alone", {"pseudo_weight": 0.0, **CURVE}),
            ("self-training, threshold .9", {"teaching": "threshold", **CURVE}),
            ("mixture teaching", CURVE),
        ],
        observed=True,
    ),
    "layers": Experiment(
        "Attention layers",
        "Hit@1 by the number of attention layers L.",
        [(str(n), {} if n == 2 else {"n_layers": n}) for n in (1, 2, 3, 4)],
    ),
    "momentum": Experiment(
        "Momentum",
        "Hit@1 by the momentum m of the teacher's moving average.",
        [(f"{m:g}", {} if m == 0.9 else {"momentum": m}) for m in (0.0, 0.9, 0.99, 0.999)],
    ),
    "seeds": Experiment(
        "Share of seeds",
        "Hit@1 by the share of all links that train, with at most half as many validation links. Every share is scored "
        "on the same links: the test links less the tenth of all links that train at 30 %.",
        [("", {})],
        shares=SHARES,
        presets=("paper", "best"),
    ),
}


@dataclass(frozen=True)
class Job:
    """One training on one fold of one task."""

    task: str
    fold: int | None
    preset: str
    settings: tuple[tuple[str, Any], ...]
    share: float | None
    observed: bool
    data: str  # the fingerprint of the task's files

    @property
    def key(self) -> str:
        """Return a key that is the same for the same training on the same files."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        changed = " ".join(assignments(dict(self.settings)))
        share = "" if self.share is None else f" {self.share:.0%} of the links"
        fold = "" if self.fold is None else f" fold {self.fold}"
        return f"{self.task}{fold} {self.preset}{share}{' ' + changed if changed else ''}"


@dataclass(frozen=True)
class Plan:
    """Rows of each wanted experiment, and the folders and folds of each task."""

    rows: Mapping[str, Sequence[Variant]]
    folders: Mapping[str, Path]
    folds: Mapping[str, Sequence[int | None]]
    prints: Mapping[str, str]

    def jobs_of(self, variant: Variant, task: str) -> list[Job]:
        return [job_of(variant, task, fold, self.prints[task]) for fold in self.folds[task]]

    def jobs(self) -> list[Job]:
        """Return every training once, task by task."""
        found = (
            job
            for task in self.folders for rows in self.rows.values() for row in rows for job in self.jobs_of(row, task)
        )  # fmt: skip
        return list({job.key: job for job in found}.values())


def make_plan(
    data: Path, tasks: Sequence[str], folds: Sequence[int], only: Sequence[str], presets: Sequence[str],
    settings: Mapping[str, Any],
) -> Plan:  # fmt: skip
    """Plan all experiments on all tasks and folds, each for its own presets, unless some are named."""
    unknown = [name for name in only if name not in EXPERIMENTS]
    if unknown:
        raise ConfigError(f"There is no part {unknown[0]!r}. Choose among {', '.join(EXPERIMENTS)}.")
    if "device" in settings:
        raise ConfigError("Name the device by --device, not as a setting: a run is the same on another one.")
    for preset in (*presets, "paper"):
        Config.preset(preset, **settings)
    wanted = {name: experiment for name, experiment in EXPERIMENTS.items() if name in only or not only}
    for name, experiment in wanted.items():
        varied = {field for _, changed in experiment.variants for field in changed} - CURVE.keys()
        if varied & settings.keys():
            field = min(varied & settings.keys())
            raise ConfigError(f"The part {name!r} varies {field} itself: leave it out of --set, or the part by --only.")
    rows = {
        name: [
            replace(row, settings={**row.settings, **settings}, own=row.own - settings.keys())
            for preset in presets or experiment.presets for row in experiment.of_preset(preset)
        ]
        for name, experiment in wanted.items()
    }  # fmt: skip
    folders = find_tasks(data, tasks)
    found = {task: find_folds(folder, folds) for task, folder in folders.items()}
    return Plan(rows, folders, found, {task: fingerprint(folder) for task, folder in folders.items()})


def job_of(variant: Variant, task: str, fold: int | None, data: str) -> Job:
    usual = Config.preset(variant.preset).to_dict()
    changed = Config.preset(variant.preset, **variant.settings).to_dict()
    settings = tuple(sorted((k, v) for k, v in changed.items() if v != usual[k]))
    return Job(task, fold, variant.preset, settings, variant.share, variant.observed, data)


def find_tasks(data: Path, names: Sequence[str]) -> dict[str, Path]:
    """Find benchmark folders in `data` (or `data` itself): those named, else all, the paper's first."""
    if not data.is_dir():
        raise DataError(f"{data}: no such folder. Name one that holds benchmark folders in OpenEA's layout.")
    folders = [data, *sorted(p for p in data.iterdir() if p.is_dir())]
    found = {p.resolve().name: p for p in folders if (p / "rel_triples_1").is_file()}
    missing = [name for name in names if name not in found]
    if missing or not found:
        there = f"It holds {', '.join(found)}" if found else "It holds no benchmark folder in OpenEA's layout"
        raise DataError(f"{data}: no task {', '.join(missing)}. {there}." if missing else f"{data}: {there}.")
    order = {name: place for place, name in enumerate(TASKS)}
    return {name: found[name] for name in names or sorted(found, key=lambda n: (order.get(n, len(order)), n))}


def find_folds(folder: Path, wanted: Sequence[int]) -> list[int | None]:
    """Find the folds of a task: those wanted, else all; [None] for a task without folds."""
    folds = folder / "721_5fold"
    if not folds.is_dir():
        return [None]
    there = sorted(int(p.name) for p in folds.iterdir() if p.name.isdigit())
    if not there:
        raise DataError(f"{folds}: no fold in it. Lay train_links, valid_links and test_links into {folds / '1'}.")
    missing = [fold for fold in wanted if fold not in there]
    if missing:
        raise DataError(f"{folds}: no fold {missing[0]}. Choose among {', '.join(map(str, there))}.")
    return list(wanted or there)


def fingerprint(folder: Path) -> str:
    """Return a checksum of the files that a training can read."""
    digest = hashlib.sha256()
    names = ("rel_triples_*", "attr_triples_*", "ent_names_*", "ent_links", "721_5fold/*/*_links", "split*/*_links")
    for path in sorted(path for name in names for path in folder.glob(name)):
        if path.is_file():
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]
