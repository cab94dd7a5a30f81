"""The estimator: fit on a task, predict mappings, score them, save and load."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import mixtea
from mixtea import processes
from mixtea.config import Config
from mixtea.data.task import PathOrStr, Task
from mixtea.encode.encoder import Encoder
from mixtea.encode.structure import build_structure
from mixtea.errors import ConfigError, DataError, NotFittedError, RunError
from mixtea.export.run_folder import Run, read_run, write_run
from mixtea.match.alignment import BACKWARD, FORWARD, Alignment
from mixtea.match.nearest import nearest
from mixtea.measure.metrics import both_directions
from mixtea.teach.loop import OnEpoch, Trainer


class MixTEA:
    """Semi-supervised entity alignment with mixture teaching.

    `preset` names a set of settings ("paper" or "text"), `settings` changes single fields of it; see `Config`. After
    `fit`: `history_` (a record an epoch), `n_epochs_`, `best_epoch_`, `stopped_because_`, `seconds_`, `metrics_`.
    """

    def __init__(self, preset: str = "paper", **settings: Any) -> None:
        self.preset, self.settings = preset, settings
        self.config = Config.preset(preset, **settings)
        self.metrics_: dict[str, float] = {}
        self._vectors: Tensor | None = None

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        state = f" fitted on {self.task_!r}" if hasattr(self, "task_") else ""
        return f"MixTEA(preset={self.preset!r}{settings}){state}"

    def fit(self, task: Task, on_epoch: OnEpoch | None = None) -> MixTEA:
        """Learn from the training links of `task`; its validation links weigh the voters and stop, its test links rest.

        `on_epoch` is called with each epoch's record. If another process of the run is lost, what was learned so far
        is kept, and ProcessLostError is raised.
        """
        if not isinstance(task, Task):
            raise DataError(f"fit needs a task, not {type(task).__name__}: load_task(...) makes one.")
        if not len(task.train):
            raise DataError(f"{task.name}: no training link. Give at least a few.")
        device = choose_device(self.config.device)
        with _reproducible(self.config.deterministic), processes.together(device):
            started = time.perf_counter()
            trained = Trainer(task, self.config, device).train(on_epoch)
        self.task_, self._student, self._vectors = task, trained.student, None
        self.history_, self.n_epochs_ = trained.history, len(trained.history)
        self.best_epoch_, self.stopped_because_ = trained.best_epoch, trained.stopped_because
        self.seconds_, self.metrics_ = time.perf_counter() - started, {}
        if trained.lost is not None:
            raise trained.lost
        return self

    @property
    def vectors_(self) -> Tensor:
        """[n_source + n_target, D]: the student's vectors, sources first."""
        self._check_fitted()
        if self._vectors is None:
            with torch.no_grad(), _reproducible(self.config.deterministic):
                self._vectors = self._student()
        return self._vectors

    def predict(self, k: int = 10) -> Alignment:
        """Rank all targets for every source entity without a training link; the k best of each."""
        if not isinstance(k, int | np.integer) or k < 1:
            raise ConfigError(f"k must be a whole number of at least 1, not {k!r}.")
        vectors, task, config = self.vectors_, self.task_, self.config
        n_source = task.source.n_entities
        free = np.setdiff1d(np.arange(n_source), task.train[:, 0])
        rows = torch.from_numpy(free).to(vectors.device)
        sources, targets = vectors.index_select(0, rows), vectors[n_source:]
        engine = "auto" if config.search == "exact" else config.search
        score, found = nearest(sources, targets, k, config.metric, engine=engine, mib=config.block_mib)
        voters = self._favourites(sources, targets, found, engine).long() * BACKWARD
        voters[:, 0] += FORWARD
        alone = [torch.from_numpy(graph.isolated()).to(rows.device) for graph in (task.source, task.target)]
        voters[alone[0][rows][:, None] | alone[1][found]] = 0  # structure says nothing of entities without triples
        arrays = (a.cpu().numpy() for a in (found, score, voters))
        return Alignment(task.source, task.target, free, *arrays)

    def _favourites(self, sources: Tensor, targets: Tensor, found: Tensor, engine: str) -> Tensor:
        """bool [n, k]: where source row i is the nearest of all sources to its candidate found[i, j]."""
        if not len(sources):
            return torch.zeros_like(found, dtype=torch.bool)
        chosen, place = torch.unique(found, return_inverse=True)
        chosen_vectors = targets.index_select(0, chosen)
        metric, mib = self.config.metric, self.config.block_mib
        _, favourite = nearest(chosen_vectors, sources, 1, metric, engine=engine, mib=mib)
        return favourite[place, 0] == torch.arange(len(sources), device=found.device)[:, None]

    def score(self, links: Any = None) -> dict[str, float]:
        """Hit@1/5/10 and MRR on links [p, 2] (the task's test links unless given), and the same backward.

        Links are pairs of indices, as in a task, or of labels. Ties count in expectation. Candidates are the links' own
        targets, or all with candidates="all".
        """
        vectors = self.vectors_
        links = np.asarray(self.task_.test if links is None else links)
        if links.ndim != 2 or links.shape[1] != 2 or not len(links) or links.dtype.kind not in "iuOU":
            raise DataError("score needs links [p, 2], source and target as indices or labels, at least one.")
        if links.dtype.kind in "OU":
            links = self._indices(links)
        sizes = np.array([self.task_.source.n_entities, self.task_.target.n_entities])
        if (links < 0).any() or (links >= sizes).any():
            raise DataError("A link to score names an entity outside the graphs.")
        joint = torch.from_numpy(links.astype(np.int64) + np.array([0, sizes[0]])).to(vectors.device)
        everything = int(sizes[0]) if self.config.candidates == "all" else None
        return both_directions(vectors, joint, everything, mib=self.config.block_mib)

    def _indices(self, labels: np.ndarray) -> np.ndarray:
        """Pairs of labels as pairs of indices."""
        found = [graph.find(labels[:, side]) for side, graph in enumerate((self.task_.source, self.task_.target))]
        for side, indices in zip(("source", "target"), found, strict=True):
            if (indices < 0).any():
                unknown = labels[(indices < 0).argmax(), 0 if side == "source" else 1]
                raise DataError(f"The {side} graph has no entity {str(unknown)!r}.")
        return np.stack(found, axis=1)

    def save(self, folder: PathOrStr, *, overwrite: bool = False) -> None:
        """Write a run folder, whole or not at all; an existing one is refused unless `overwrite`."""
        self._check_fitted()
        weights = {name: value.cpu().contiguous().numpy() for name, value in self._student.state_dict().items()}
        about = {
            "preset": self.preset,
            "seed": self.config.seed,
            "device": describe_device(self.vectors_.device),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(self.seconds_, 3),
            "n_epochs": self.n_epochs_,
            "best_epoch": self.best_epoch_,
            "stopped_because": self.stopped_because_,
            "approximations": self.config.approximations(),
            "versions": versions(),
        }
        run = Run(self.task_, self.config, weights, self.history_, self.metrics_, about)
        write_run(run, Path(folder), overwrite=overwrite)

    @classmethod
    def load(cls, folder: PathOrStr, *, device: str | None = None) -> MixTEA:
        """Read a run folder; `device` says where to compute, else the saved setting if this machine has it."""
        run = read_run(Path(folder))
        aligner = cls.__new__(cls)
        aligner.preset = run.about.get("preset", "paper")
        usual = Config.preset(aligner.preset).to_dict()
        aligner.settings = {k: v for k, v in run.config.to_dict().items() if v != usual[k]}
        aligner.config, aligner.metrics_ = run.config, run.metrics
        place = choose_device(device or ("auto" if run.config.device.startswith("cuda") else run.config.device))
        dtype = getattr(torch, run.config.precision)
        structure = build_structure(run.task.source, run.task.target, run.config).to(place, dtype)
        student = Encoder(structure, run.config, torch.Generator(place))
        try:
            student.load_state_dict({name: torch.from_numpy(v) for name, v in run.weights.items()})
        except RuntimeError as error:
            raise RunError(f"{folder}: weights.safetensors does not fit the settings: {error}") from None
        aligner.task_, aligner._student, aligner._vectors = run.task, student, None
        aligner.history_, aligner.n_epochs_ = run.history, run.about["n_epochs"]
        aligner.best_epoch_, aligner.stopped_because_ = run.about["best_epoch"], run.about["stopped_because"]
        aligner.seconds_ = run.about["seconds"]
        return aligner

    def _check_fitted(self) -> None:
        if not hasattr(self, "task_"):
            raise NotFittedError("This aligner has not learned yet: call fit(task) first.")


def choose_device(name: str) -> torch.device:
    """auto is CUDA where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(processes.local_device() if name == "cuda" else name)
        if device.type not in ("cpu", "cuda"):
            raise RuntimeError(f"{device.type} is not supported")
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        why = str(error).splitlines()[0]
        raise ConfigError(f"device {name!r} cannot be used here: {why}. Choose cpu or auto.") from None
    return device


def describe_device(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU ({platform.machine()})"


def versions() -> dict[str, str]:
    names = ("numpy", "scipy", "pandas", "safetensors")
    found = {name: version(name) for name in names} | {"torch": str(torch.__version__)}
    return {"mixtea": mixtea.__version__, "python": platform.python_version()} | found


@contextmanager
def _reproducible(wanted: bool) -> Iterator[None]:
    """Only algorithms that give the same bits every time, while the block runs."""
    before = torch.are_deterministic_algorithms_enabled()
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
