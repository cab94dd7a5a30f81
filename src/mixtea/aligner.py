"""The estimator: fit on a task, predict mappings, score them, save and load."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor

import mixtea
from mixtea import processes
from mixtea.config import Config
from mixtea.data.task import PathOrStr, Task
from mixtea.decoding import Decoded, LastOpinions, decode, last_opinions
from mixtea.encode.encoder import Encoder
from mixtea.encode.structure import build_structure
from mixtea.errors import ConfigError, DataError, NotFittedError, RunError
from mixtea.export.run_folder import Run, read_run, write_run
from mixtea.match.alignment import BACKWARD, FORWARD, VOTERS, Alignment
from mixtea.match.decide import ranked
from mixtea.match.nearest import nearest
from mixtea.measure.calibration import Calibration, features, trust
from mixtea.measure.metrics import METRICS, both_directions, sparse_ranking_metrics
from mixtea.pairs import Pairs, cosines, pairs_of_keys, places
from mixtea.similarity import unit
from mixtea.teach.council import OnRound
from mixtea.teach.loop import Observer, OnEpoch, Trainer

T = TypeVar("T")


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


def _reproducibly(method: Callable[..., T]) -> Callable[..., T]:
    """A method of an aligner that gives the same bits every time where `deterministic` asks for it."""

    @wraps(method)
    def run(self: MixTEA, *args: Any, **kwargs: Any) -> T:
        with _reproducible(self.config.deterministic):
            return method(self, *args, **kwargs)

    return run


class MixTEA:
    """Semi-supervised entity alignment with mixture teaching.

    `preset` names a set of settings ("best", "paper" or "text"), `settings` changes single fields of it; see `Config`.
    After `fit`: `history_` (a data frame, a row an epoch), `n_epochs_`, `best_epoch_`, `stopped_because_`, `seconds_`,
    `metrics_`, `trace_` (who voted for what at which epochs).
    """

    def __init__(self, preset: str = "best", **settings: Any) -> None:
        self.preset, self.settings = preset, settings
        self.config = Config.preset(preset, **settings)
        self.metrics_: dict[str, float] = {}
        self._vectors: Tensor | None = None

    def __repr__(self) -> str:
        usual, own = Config.preset(self.preset).to_dict(), self.config.to_dict()
        settings = "".join(f", {name}={value!r}" for name, value in own.items() if value != usual[name])
        state = f" fitted on {self.task_!r}" if hasattr(self, "task_") else ""
        return f"MixTEA(preset={self.preset!r}{settings}){state}"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The preset and the value of every setting, as scikit-learn asks for them."""
        return {"preset": self.preset} | self.config.to_dict()

    def set_params(self, **params: Any) -> MixTEA:
        """Change the preset or single settings; what was learned stays as it is until the next fit."""
        preset = params.pop("preset", self.preset)
        settings = (self.settings if preset == self.preset else {}) | params
        self.config = Config.preset(preset, **settings)
        self.preset, self.settings = preset, settings
        return self

    def fit(
        self,
        task: Task,
        on_epoch: OnEpoch | None = None,
        on_round: OnRound | None = None,
        observer: Observer | None = None,
    ) -> MixTEA:
        """Learn from the training links of `task`; its validation links weigh the voters and stop, its test links rest.

        `on_epoch` is called with each epoch's record, `on_round` with the number of each round of propagation before
        the first epoch and the pairs that are sure after it, `observer` after each epoch with its number and a function
        that gives the student's vectors: for curves of scores that training must not see. If another process of the run
        is lost, what was learned so far is kept, and ProcessLostError is raised.
        """
        if not isinstance(task, Task):
            raise DataError(f"fit needs a task, not {type(task).__name__}: load_task(...) makes one.")
        if not len(task.train):
            raise DataError(f"{task.name}: no training link. Give at least a few.")
        device = choose_device(self.config.device)
        with _reproducible(self.config.deterministic), processes.together(device):
            started = time.perf_counter()
            trained = Trainer(task, self.config, device).train(on_epoch, on_round, observer)
        self.task_, self._student, self._vectors = task, trained.student, None
        self.trace_, self._last = trained.trace.to_arrays(), None
        if trained.opinions is not None:
            self._last = last_opinions(trained.opinions, trained.rows, task.source.n_entities)
        self._records, self.n_epochs_ = trained.history, len(trained.history)
        self.best_epoch_, self.stopped_because_ = trained.best_epoch, trained.stopped_because
        self.seconds_, self.metrics_ = time.perf_counter() - started, {}
        if trained.lost is not None:
            raise trained.lost
        return self

    @property
    def history_(self) -> pd.DataFrame:
        """A row an epoch: losses, schedules, votes by voter and by how many agree, validation scores, seconds."""
        self._check_fitted()
        return pd.DataFrame(self._records)

    @property
    def vectors_(self) -> Tensor:
        """[n_source + n_target, D]: the student's vectors, sources first."""
        self._check_fitted()
        if self._vectors is None:
            with torch.no_grad(), _reproducible(self.config.deterministic):
                self._vectors = self._student()
        return self._vectors

    @_reproducibly
    def predict(self, k: int = 10, *, decoder: str | None = None, voters: str | None = None) -> Alignment:
        """Rank all targets for every source entity without a training link; the k best of each, with probabilities.

        `decoder` and `voters` take the place of the settings `decoder` and `decode_voters`.
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise ConfigError(f"k must be a whole number of at least 1, not {k!r}.")
        vectors, task = self.vectors_, self.task_
        config = self._decoding(decoder, voters)
        free = np.setdiff1d(np.arange(task.source.n_entities), task.train[:, 0])
        rows = torch.from_numpy(free).to(vectors.device)
        decoded = decode(vectors, task, config, self._last)
        score, found, bits = self._nearest(rows, int(k))
        if (config.decoder, config.decode_voters) == ("nearest", "student"):
            belief = self._looked_up(decoded, rows, found, decoded.opinions.belief)
        else:
            found, score, belief, bits = self._decoded(decoded, rows, found, int(k))
        alone = [torch.from_numpy(graph.isolated()).to(rows.device) for graph in (task.source, task.target)]
        silent = alone[0][rows][:, None] | alone[1][found]  # structure says nothing of entities without triples
        bits = bits.masked_fill(silent, 0)
        arrays = [a.cpu().numpy() for a in (found, score, belief, bits, silent)]
        probability = self._probabilities(free, arrays[0], arrays[2], arrays[3], arrays[4], decoded.n_voters)
        return Alignment(task.source, task.target, free, arrays[0], arrays[1], probability, arrays[3])

    def _decoding(self, decoder: str | None, voters: str | None) -> Config:
        changed = {"decoder": decoder, "decode_voters": voters}
        return self.config.replace(**{name: value for name, value in changed.items() if value is not None})

    def _nearest(self, rows: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
        """(nearness, targets, voters) [p, k]: the student's nearest of all targets (Eq. 1)."""
        vectors, config = self.vectors_, self.config
        sources, targets = vectors.index_select(0, rows), vectors[self.task_.source.n_entities :]
        engine = "auto" if config.search == "exact" else config.search
        score, found = nearest(sources, targets, k, config.metric, engine=engine, mib=config.block_mib)
        bits = self._favourites(sources, targets, found, engine).long() * BACKWARD
        bits[:, 0] += FORWARD
        return score, found, bits

    def _looked_up(self, decoded: Decoded, rows: Tensor, found: Tensor, values: Tensor) -> Tensor:
        """[p, k]: the values of candidates that the decoder has considered, 0 for others."""
        source = decoded.places(0, rows, self.task_.source.n_entities)[:, None].expand_as(found)
        target = decoded.places(1, found, self.task_.target.n_entities)
        if not len(values):
            return values.new_zeros(found.shape)
        place, there = decoded.opinions.pairs.find(source.clamp(min=0), target.clamp(min=0))
        return values[place].where(there & (source >= 0) & (target >= 0), 0)

    def _decoded(self, decoded: Decoded, rows: Tensor, found: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """(targets, score, belief, voters) [p, k]: the decoder's candidates, then the nearest of what is left."""
        pairs, m = decoded.opinions.pairs, self.task_.target.n_entities
        own = (
            places(rows, self.task_.source.n_entities)[decoded.rows[0][pairs.source]] * m
            + decoded.rows[1][pairs.target]
        )
        filler = (torch.arange(len(rows), device=rows.device)[:, None] * m + found).flatten()
        both = pairs_of_keys(torch.cat([own, filler]), (len(rows), m))
        ranking, belief = (decoded.opinions.belief.new_full((len(both),), value) for value in (-1e9, 0.0))
        where = both.find(own // m, own % m)[0]
        after = torch.arange(found.shape[1], device=rows.device).expand_as(found).flatten()
        ranking[both.find(filler // m, filler % m)[0]] -= after.to(ranking.dtype) * 1e3
        ranking[where], belief[where] = decoded.ranking(), decoded.opinions.belief
        shown = belief if decoded.config.decoder in ("sinkhorn", "one_to_one") else ranking.clamp(min=-10.0)
        bits = torch.zeros_like(both.source)
        bits[where] = decoded.voters()
        best = ranked(both, ranking, min(k, m))
        return both.target[best], shown[best].double(), belief[best], bits[best]

    def _probabilities(
        self, free: np.ndarray, found: np.ndarray, belief: np.ndarray, bits: np.ndarray, silent: np.ndarray,
        n_voters: int,
    ) -> np.ndarray:  # fmt: skip
        """[p, k]: calibrated on the validation links' best candidates; a row's further ones share what is left."""
        task = self.task_
        agreeing = np.stack([(bits >> bit) & 1 for bit in range(len(VOTERS))]).sum(0) / n_voters
        counts = (task.source.triple_counts()[free].repeat(found.shape[1]), task.target.triple_counts()[found].ravel())
        seen = features(belief.astype(np.float64).ravel(), agreeing.ravel(), self._cosines(free, found), counts)
        seen = seen.reshape(*belief.shape, seen.shape[1])
        known = np.isin(free, task.valid[:, 0]) & ~silent[:, 0]
        calibration = Calibration(seen[known, 0], self._among(task.valid, free[known], found[known, 0]))
        probability = np.where(silent, 0.0, calibration(seen))
        left, others = 1 - probability[:, :1], probability[:, 1:]
        others *= np.minimum(1.0, left / np.maximum(others.sum(axis=1, keepdims=True), 1e-12))
        return probability

    def _among(self, links: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """bool: whether each pair is one of the links."""
        m = self.task_.target.n_entities
        return np.isin(source * m + target, links[:, 0] * m + links[:, 1])

    def _cosines(self, free: np.ndarray, found: np.ndarray) -> np.ndarray:
        """[p * k]: the student's cosine of every source and its candidates."""
        vectors, n_source = self.vectors_, self.task_.source.n_entities
        source, target = unit(vectors[torch.from_numpy(free).to(vectors.device)]), unit(vectors[n_source:])
        rows = torch.arange(len(free), device=vectors.device).repeat_interleave(found.shape[1])
        columns = torch.from_numpy(found.ravel()).to(vectors.device)
        return cosines(source, target, Pairs(rows, columns, (len(source), len(target)))).double().cpu().numpy()

    def _favourites(self, sources: Tensor, targets: Tensor, found: Tensor, engine: str) -> Tensor:
        """bool [n, k]: where source row i is the nearest of all sources to its candidate found[i, j]."""
        if not len(sources):
            return torch.zeros_like(found, dtype=torch.bool)
        chosen, place = torch.unique(found, return_inverse=True)
        chosen_vectors = targets.index_select(0, chosen)
        metric, mib = self.config.metric, self.config.block_mib
        _, favourite = nearest(chosen_vectors, sources, 1, metric, engine=engine, mib=mib)
        return favourite[place, 0] == torch.arange(len(sources), device=found.device)[:, None]

    @_reproducibly
    def score(self, links: Any = None, *, decoder: str | None = None, voters: str | None = None) -> dict[str, float]:
        """Hit@1/5/10 and MRR on links [p, 2] (the task's test links unless given), and the same backward.

        Links are pairs of indices, as in a task, or of labels. Ties count in expectation. Candidates are the links' own
        targets, or all with candidates="all". Further: the calibration error of the probabilities that `predict` gives
        these mappings among all targets, and the share of them to accept at 95 % precision.
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
        config = self._decoding(decoder, voters)
        if (config.decoder, config.decode_voters) == ("nearest", "student"):
            everything = int(sizes[0]) if config.candidates == "all" else None
            found = both_directions(vectors, joint, everything, mib=config.block_mib)
        else:
            found = self._score_decoded(decode(vectors, self.task_, config, self._last), joint)
        return found | self._trust(links, decoder, voters)

    def _score_decoded(self, decoded: Decoded, joint: Tensor) -> dict[str, float]:
        """The metrics of a decoder's ranking. A training link is given, so it is right; others of its ends are not."""
        n_source, n_target = self.task_.source.n_entities, self.task_.target.n_entities
        stand = torch.stack(
            [decoded.places(0, joint[:, 0], n_source), decoded.places(1, joint[:, 1] - n_source, n_target)], dim=1
        )
        both = (stand >= 0).all(1)
        if decoded.config.candidates == "all":
            kept = [torch.arange(len(side), device=joint.device) for side in decoded.rows]
        else:
            kept = [torch.unique(stand[both, side]) for side in (0, 1)]
        given = {tuple(pair) for pair in self.task_.train.tolist()}
        right = sum((s, t - n_source) in given for s, t in joint[~both].tolist()) / len(joint)
        if not both.any():
            return {prefix + name: right for prefix in ("", "backward_") for name in METRICS}
        pairs, ranking = decoded.among(*kept)
        new = torch.stack([torch.searchsorted(kept[side], stand[both, side]) for side in (0, 1)], dim=1)
        order = torch.argsort(pairs.target * len(kept[0]) + pairs.source)
        turned = Pairs(pairs.target[order], pairs.source[order], pairs.shape[::-1])
        found = sparse_ranking_metrics(pairs, ranking, new)
        back = sparse_ranking_metrics(turned, ranking[order], new.flip(1))
        found |= {f"backward_{name}": value for name, value in back.items()}
        share = int(both.sum()) / len(joint)
        return {name: value * share + right for name, value in found.items()}

    def _trust(self, links: np.ndarray, decoder: str | None, voters: str | None) -> dict[str, float]:
        """How far the probabilities of the scored links' mappings can be trusted."""
        alignment = self.predict(1, decoder=decoder, voters=voters)
        asked = np.isin(alignment.source_index, links[:, 0])
        if not asked.any():
            return {}
        right = self._among(links, alignment.source_index[asked], alignment.target_index[asked, 0])
        return dict(trust(alignment.probability[asked, 0], right))

    def _indices(self, labels: np.ndarray) -> np.ndarray:
        """Pairs of labels as pairs of indices."""
        found = [graph.find(labels[:, side]) for side, graph in enumerate((self.task_.source, self.task_.target))]
        for side, indices in zip(("source", "target"), found, strict=True):
            if (indices < 0).any():
                unknown = labels[(indices < 0).argmax(), 0 if side == "source" else 1]
                raise DataError(f"The {side} graph has no entity {str(unknown)!r}.")
        return np.stack(found, axis=1)

    def save(self, folder: PathOrStr, *, overwrite: bool = False, report: bool = False) -> None:
        """Write a run folder, whole or not at all; an existing one is refused unless `overwrite`.

        With `report` it holds a page about the run, report.html.
        """
        self._check_fitted()
        page = ""
        if report:
            from mixtea.report import make_report

            page = make_report(self)
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
            "voter_weights": self._last.weights if self._last is not None else {},
            "versions": versions(),
        }
        last = {} if self._last is None else _as_arrays(self._last)
        run = Run(self.task_, self.config, weights, self._records, self.trace_, last, self.metrics_, about, page)
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
        try:
            aligner._last = _from_arrays(run.opinions, run.about["voter_weights"], run.task)
        except (ValueError, TypeError, AttributeError) as error:
            raise RunError(f"{folder}: opinions.safetensors does not fit the run: {error}.") from None
        aligner.trace_ = dict(run.trace)
        aligner._records, aligner.n_epochs_ = run.history, run.about["n_epochs"]
        aligner.best_epoch_, aligner.stopped_because_ = run.about["best_epoch"], run.about["stopped_because"]
        aligner.seconds_ = run.about["seconds"]
        return aligner

    def _check_fitted(self) -> None:
        if not hasattr(self, "task_"):
            raise NotFittedError("This aligner has not learned yet: call fit(task) first.")


def _as_arrays(last: LastOpinions) -> dict[str, np.ndarray]:
    scores = {f"score.{name}": values for name, values in last.scores.items()}
    return {"source": last.source, "target": last.target} | scores


def _from_arrays(arrays: Mapping[str, np.ndarray], weights: Any, task: Task) -> LastOpinions | None:
    """Opinions as a run folder has them; ValueError if they cannot be about this task."""
    if not arrays:
        return None
    scores = {name.removeprefix("score."): a for name, a in arrays.items() if name.startswith("score.")}
    if arrays.keys() - {f"score.{name}" for name in VOTERS} != {"source", "target"}:
        raise ValueError("the opinions are not those of known voters")
    ends = [arrays["source"], arrays["target"]]
    if any(a.shape != ends[0].shape or a.ndim != 1 for a in arrays.values()):
        raise ValueError("the opinions differ in length")
    if not all(np.isin(end, side).all() for end, side in zip(ends, task.unlabelled(), strict=True)):
        raise ValueError("the opinions are about entities that are linked or not there")
    if len(np.unique(np.stack(ends), axis=1).T) != len(ends[0]):
        raise ValueError("the opinions repeat a pair")
    numbers = [*scores.values(), np.array(list(weights.values()), dtype=np.float64)]
    if not all(a.dtype.kind == "f" and np.isfinite(a).all() for a in numbers):
        raise ValueError("the opinions hold what is no number")
    return LastOpinions(ends[0], ends[1], scores, weights)


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
