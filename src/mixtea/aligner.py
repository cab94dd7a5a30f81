"""The estimator: fit on a task, predict mappings, score them, save and load."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as Table
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

from mixtea import __version__
from mixtea.compute import distributed
from mixtea.compute.arrays import as_arrays
from mixtea.compute.device import choose_device, describe_device
from mixtea.compute.memory import enough_memory
from mixtea.config import Config
from mixtea.data.equal_names import linked_by_name
from mixtea.data.task import PathOrStr, Task
from mixtea.encode.encoder import Encoder
from mixtea.encode.structure import build_structure
from mixtea.errors import ConfigError, DataError, NotFittedError, RunError
from mixtea.match.answers import STORED, Answers, linked_ids
from mixtea.match.candidates import Candidates
from mixtea.match.decode import StoredOpinions, check_deciding, deciding_alone, stored_opinions
from mixtea.match.explain import Explainer
from mixtea.match.mapping import Mapping
from mixtea.match.predict import Predictor
from mixtea.match.relations import MIN_SCORE, Relations, relations_of
from mixtea.measure.by_evidence import as_numbers, evidence_table, no_table, without_table
from mixtea.measure.mapping_scores import mapping_scores, threshold_curve
from mixtea.runs.checkpoints import Checkpoints, kept_in
from mixtea.runs.folder import Run, read_run, write_run
from mixtea.teach.loop import Observer, OnEpoch
from mixtea.teach.recovery import trained_with
from mixtea.vote.council import OnRound, voters_of
from mixtea.vote.registry import package_of
from mixtea.vote.trace import trace_frame
from mixtea.vote.voter import Voter

DECODING = ("decoder", "decode_voters", "candidates")  # settings that may change after training
Voters = str | Sequence[str] | None  # names, in a list or joined by commas
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
    `metrics_`, `trace_` (who voted for what at which epochs), `lowered_` (by how much the learning rate had to be),
    `misleading_` (by voter, the share of the links for which what it compares tells nothing) and `misleading_links_`
    (how many links that was found by). After `train` also
    `by_evidence_`: the table of `score_by_evidence` for the test links.
    """

    def __init__(self, preset: str = "best", **settings: Any) -> None:
        self.preset, self.settings = preset, settings
        self.config = Config.preset(preset, **settings)
        self.metrics_: dict[str, float] = {}
        self.by_evidence_ = no_table()
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
        self.metrics_, self.by_evidence_ = {}, no_table()  # of other settings
        return self

    def fit(
        self,
        task: Task,
        on_epoch: OnEpoch | None = None,
        on_round: OnRound | None = None,
        observer: Observer | None = None,
        warm_start: MixTEA | None = None,
        checkpoints: Checkpoints | PathOrStr | None = None,
    ) -> MixTEA:
        """Learn from the training links of `task`; its validation links weigh the voters and stop, its test links rest.

        `on_epoch` is called with each epoch's record, `on_round` with the number of each round of propagation before
        the first epoch and the pairs that are sure after it, `observer` after each epoch with its number and a function
        that gives the student's vectors: for curves of scores that training must not see. `warm_start` is an aligner
        that was fitted to an earlier state of these graphs: what it learned of entities and relations that are still
        there, by id, is where this one begins. `checkpoints` is a folder to save the state of the training in from
        time to time; if it holds one already, of the same task, settings and warm start, the training goes on from
        there, to the same end. If another process of the run is lost, what was learned so far is kept, and
        ProcessLostError is raised.
        """
        if not isinstance(task, Task):
            raise DataError(f"fit needs a task, not {type(task).__name__}: load_task(...) makes one.")
        voters = voters_of(task, self.config, self.config.deciding_voters)
        check_deciding(voters, self.config)
        if not len(task.train):
            _check_begins(task, voters)
        device = choose_device(self.config.device)
        with _reproducible(self.config.deterministic), distributed.together(device), enough_memory():
            start = None if warm_start is None else warm_start._learned()
            began_with = None if start is None else (start[0], as_arrays(start[1]))
            with kept_in(checkpoints, task, self.config, began_with) as kept:
                trained = trained_with(task, self.config, device, start, kept, on_epoch, on_round, observer)
        self.task_, self._student, self._vectors = task, trained.student, None
        self._trace, self._last = trained.trace.to_arrays(), None
        self._answers: Answers | None = None
        self._answers_by = self._fitted = self.config
        if trained.opinions is not None:
            self._last = stored_opinions(trained.opinions, trained.entities, trained.rehearsed)
        self._packages = {name: found for name in self.config.voters if (found := package_of(name))}
        self._records, self.n_epochs_ = trained.history, len(trained.history)
        self.best_epoch_, self.stopped_because_ = trained.best_epoch, trained.stopped_because
        self.seconds_, self.metrics_, self.lowered_ = trained.seconds, {}, trained.lowered
        self.by_evidence_, self.misleading_ = no_table(), trained.misleading
        self.misleading_links_ = trained.misleading_links
        if trained.lost is not None:
            raise trained.lost
        return self

    @property
    def history_(self) -> pd.DataFrame:
        """A row an epoch: losses, schedules, votes by voter and by how many agree, validation scores, seconds."""
        self._check_fitted()
        return pd.DataFrame(self._records)

    @property
    def trace_(self) -> pd.DataFrame:
        """A row a vote: source and target by number, who voted, and from which epoch to which it stood."""
        self._check_fitted()
        return trace_frame(self._trace, self._fitted.voters)

    @property
    def vectors_(self) -> Tensor:
        """[n_source + n_target, D]: the student's vectors, sources first."""
        self._check_fitted()
        if self._vectors is None:
            with torch.no_grad(), _reproducible(self.config.deterministic):
                self._vectors = self._student()
        return self._vectors

    @property
    def answers_(self) -> Answers:
        """What the run concludes: candidates and decisions by its own decoder and voters, computed once."""
        self._check_fitted()
        config = self._trained_config()
        if self._answers is None or self._answers_by != config:
            with _reproducible(config.deterministic):
                self._answers, self._answers_by = self._predictor(config).answers(), config
        return self._answers

    def _trained_config(self) -> Config:
        """The settings that it was fitted with, but for those that say how to decode, which may have changed since."""
        return self._fitted.replace(**{name: getattr(self.config, name) for name in DECODING})

    @_reproducibly
    def predict(self, k: int = 10, *, decoder: str | None = None, voters: Voters = None) -> Candidates:
        """Rank all targets for every source entity without a training link.

        Parameters: `k`, how many of each source come back; `decoder` and `voters` take the place of the settings
        `decoder` and `decode_voters` (names as in the setting `voters`).

        Returns Candidates: ids, scores, calibrated probabilities, and who favours each.

        Raises ConfigError for a wrong `k` or unknown names, NotFittedError before `fit`.

        >>> from mixtea import MixTEA, load_example
        >>> aligner = MixTEA(preset="paper", max_epochs=2, seed=1).fit(load_example())
        >>> aligner.predict(k=3).to_frame().columns.tolist()
        ['source', 'target', 'rank', 'score', 'probability', 'voters']
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise ConfigError(f"k must be a whole number of at least 1, not {k!r}.")
        config = self._decoding(decoder, voters)
        if config == self._trained_config() and k <= STORED:
            return self.answers_.candidates(int(k))
        return self._predictor(config).candidates(int(k))

    @_reproducibly
    def map(
        self,
        *,
        one_to_many: bool = False,
        abstain: bool = True,
        with_given: bool = False,
        decoder: str | None = None,
        voters: Voters = None,
    ) -> Mapping:
        """Decide about every source entity without a given link, among all targets.

        Each target is given once, by a one-to-one assignment unless another `decoder` is named, unless `one_to_many`.
        With `abstain` a source has no counterpart where that is likelier than its best target and a mapping would lower
        the expected F1. `with_given` puts the given links in front.
        """
        config = self._decoding(decoder, voters)
        if config == self._trained_config() and decoder is None and not one_to_many:
            return self.answers_.mapping(abstain=abstain, with_given=with_given)
        predictor = self._predictor(config)
        if decoder is None and not one_to_many:
            predictor = predictor.giving_each_once()
        return predictor.mapping(once=not one_to_many, abstain=abstain, with_given=with_given)

    def relations(self, *, min_score: float = MIN_SCORE) -> Relations:
        """How alike relations, attribute predicates and classes of the two graphs are, by the mapping of the entities.

        Training and validation links count as 1, other mappings by their probabilities. Pairs that score less than
        `min_score` are left out. See `Relations` for the columns, docs/relations.md for what they mean.

        >>> from mixtea import MixTEA, load_example
        >>> aligner = MixTEA(preset="paper", max_epochs=2, seed=1).fit(load_example())
        >>> aligner.relations(min_score=0.5).to_frame().columns.tolist()[:6]
        ['kind', 'source', 'target', 'relation', 'inverse', 'score']
        """
        return relations_of(self.map(with_given=True), min_score)

    def explain(self, source: str, target: str) -> pd.DataFrame:
        """Why two entities, by their ids, are or are not taken for the same: a row for each thing that speaks for them.

        Columns: voter, what (in words), weight (how much, by that voter's own measure; the larger, the more).
        """
        self._check_fitted()
        pair = self._indices(np.array([[source, target]], dtype=object))[0]
        return self.explainer()(int(pair[0]), int(pair[1]))

    def explainer(self) -> Explainer:
        """The same of many pairs, by numbers in their own graphs: `explainer()(source, target)`."""
        self._check_fitted()
        return Explainer(self.answers_, self._fitted, self._packages)

    def score_mapping(
        self, links: Any = None, *, complete: bool = False, one_to_many: bool = False, abstain: bool = True
    ) -> dict[str, float]:
        """Precision, recall and F1 of the mapping that `map` gives, on links (the task's test links unless given).

        With `complete` no further entity has a counterpart; without, only mappings of sources with a link are judged.
        Links of sources that have a given link do not count: the mapping says nothing of them.
        """
        if not one_to_many:
            return self.answers_.mapping_scores(self._links(links), complete=complete, abstain=abstain)
        pairs = self.map(one_to_many=True, abstain=abstain).pairs()
        return mapping_scores(pairs, linked_ids(self.task_, self._links(links)), complete=complete)

    def threshold_curve(self, links: Any = None, *, complete: bool = False, one_to_many: bool = False) -> pd.DataFrame:
        """The scores of the mapping by the least probability that is asked for, instead of what `map` decides."""
        if not one_to_many:
            return self.answers_.threshold_curve(self._links(links), complete=complete)
        pairs = self.map(one_to_many=True, abstain=False).pairs()
        return threshold_curve(pairs, linked_ids(self.task_, self._links(links)), complete=complete)

    @_reproducibly
    def score(self, links: Any = None, *, decoder: str | None = None, voters: Voters = None) -> dict[str, float]:
        """Hit@1/5/10 and MRR on links [p, 2] (the task's test links unless given), and the same backward.

        Links are pairs of indices, as in a task, or of ids. Ties count in expectation. Candidates are the links' own
        targets, or all with candidates="all". Further: the calibration error of the probabilities that `predict` gives
        these mappings among all targets, and the share of them to accept at 95 % precision.
        """
        config = self._decoding(decoder, voters)
        first = self.answers_.candidates(1) if config == self._trained_config() else None
        return self._predictor(config).scores(self._links(links), first)

    @_reproducibly
    def score_by_evidence(self, links: Any = None) -> pd.DataFrame:
        """Hit@1 of links [p, 2] (the test links unless given) by all voters, by structure alone, by names alone, ...

        A row for each who decides: all, structure (the voters that see nothing but triples and links), and each voter
        that finds entities alike by what is said of them. Columns: hits@1 over all the links, over those whose names
        are equal and over the others, and how many links these are. All rows are of this one run, in which structure
        has learned from what the others found. Without anyone who speaks beside structure there is no row.
        """
        config, links = self._trained_config(), self._links(links)
        deciding = deciding_alone(config, self._last)
        if not deciding:
            return no_table()
        hits = {
            name: self._predictor(config.replace(decode_voters=voters)).first_hits(links)
            for name, voters in deciding.items()
        }
        return evidence_table(hits, linked_by_name(self.task_.source, self.task_.target, links))

    def _links(self, links: Any) -> np.ndarray:
        """Links to score as pairs of indices: the test links, or given ones, by index or by id."""
        self._check_fitted()
        links = np.asarray(self.task_.test if links is None else links)
        if links.ndim != 2 or links.shape[1] != 2 or not len(links) or links.dtype.kind not in "iuOU":
            raise DataError("score needs links [p, 2], source and target as indices or ids, at least one.")
        if links.dtype.kind in "OU":
            links = self._indices(links)
        sizes = np.array([self.task_.source.n_entities, self.task_.target.n_entities])
        if (links < 0).any() or (links >= sizes).any():
            raise DataError("A link to score names an entity outside the graphs.")
        return links.astype(np.int64)

    def _decoding(self, decoder: str | None, voters: Voters) -> Config:
        """The settings with another decoder or other voters."""
        self._check_fitted()
        names = tuple(voters.split(",")) if isinstance(voters, str) else voters
        changed = {"decoder": decoder, "decode_voters": names}
        return self._trained_config().replace(**{name: value for name, value in changed.items() if value is not None})

    def _predictor(self, config: Config) -> Predictor:
        return Predictor(self.vectors_, self.task_, config, self._last, self._packages)

    def _indices(self, labels: np.ndarray) -> np.ndarray:
        """Pairs of ids as pairs of indices."""
        found = [graph.find(labels[:, side]) for side, graph in enumerate((self.task_.source, self.task_.target))]
        for side, indices in zip(("source", "target"), found, strict=True):
            if (indices < 0).any():
                unknown = labels[(indices < 0).argmax(), 0 if side == "source" else 1]
                raise DataError(f"The {side} graph has no entity {str(unknown)!r}.")
        return np.stack(found, axis=1)

    def save(
        self,
        folder: PathOrStr,
        *,
        overwrite: bool = False,
        pages: Table[str, str] | None = None,
    ) -> None:
        """Write a run folder, whole or not at all; an existing one is refused unless `overwrite`.

        `pages` are texts for people by the names of their files, report.html and changes.tsv; `train` makes them.
        """
        self._check_fitted()
        weights = {name: value.cpu().contiguous().numpy() for name, value in self._student.state_dict().items()}
        about = {
            "preset": self.preset,
            "seed": self._fitted.seed,
            "device": describe_device(self.vectors_.device),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(self.seconds_, 3),
            "n_epochs": self.n_epochs_,
            "best_epoch": self.best_epoch_,
            "stopped_because": self.stopped_because_,
            "approximations": self._fitted.approximations(),
            "learning_rate_lowered": self.lowered_,
            "misleading": self.misleading_,
            "misleading_links": self.misleading_links_,
            "links_are_random": self.answers_.decided.links_are_random,
            "voter_weights": self._last.weights if self._last is not None else {},
            "voter_packages": self._packages,
            "versions": versions(),
        }
        run = Run(
            self.task_, self._trained_config(), weights, self._records, self._trace, opinion_arrays(self._last),
            self.answers_, self.metrics_ | as_numbers(self.by_evidence_), about, pages or {},
        )  # fmt: skip
        write_run(run, Path(folder), overwrite=overwrite)

    @classmethod
    def load(cls, folder: PathOrStr, *, device: str | None = None) -> MixTEA:
        """Read a run folder; `device` says where to compute, else the saved setting if this machine has it."""
        run = read_run(Path(folder))
        aligner = cls.__new__(cls)
        aligner.preset = run.about.get("preset", "paper")
        usual = Config.preset(aligner.preset).to_dict()
        aligner.settings = {k: v for k, v in run.config.to_dict().items() if v != usual[k]}
        aligner.config = run.config
        aligner.metrics_, aligner.by_evidence_ = without_table(run.metrics)
        place = choose_device(device or ("auto" if run.config.device.startswith("cuda") else run.config.device))
        dtype = getattr(torch, run.config.precision)
        structure = build_structure(run.task.source, run.task.target, run.config).to(place, dtype)
        student = Encoder(structure, run.config, torch.Generator(place))
        student.load_state_dict({name: torch.from_numpy(v) for name, v in run.weights.items()})
        aligner.task_, aligner._student, aligner._vectors = run.task, student, None
        if not torch.isfinite(aligner.vectors_).all():
            raise RunError(f"{Path(folder) / 'weights.safetensors'}: damaged (it leads to vectors without end).")
        aligner._last = _opinions(run.opinions, run.about["voter_weights"])
        aligner._trace, aligner._answers, aligner._answers_by = dict(run.trace), run.answers, run.config
        aligner._fitted = run.config
        aligner._packages = run.about["voter_packages"]
        aligner._records, aligner.n_epochs_ = run.history, run.about["n_epochs"]
        aligner.best_epoch_, aligner.stopped_because_ = run.about["best_epoch"], run.about["stopped_because"]
        aligner.seconds_, aligner.lowered_ = run.about["seconds"], run.about.get("learning_rate_lowered", {})
        aligner.misleading_ = run.about.get("misleading", {})
        aligner.misleading_links_ = run.about.get("misleading_links", {})
        return aligner

    def _learned(self) -> tuple[Task, dict[str, Tensor]]:
        """For a warm start: what was aligned, and the student's parameters."""
        self._check_fitted()
        return self.task_, self._student.state_dict()

    def _check_fitted(self) -> None:
        if not hasattr(self, "task_"):
            raise NotFittedError("This aligner has not learned yet: call fit(task) first.")


def _check_begins(task: Task, voters: Sequence[Voter]) -> None:
    """Refuse to learn from nothing: without training links, somebody has to find entities alike."""
    able = [voter for voter in voters if voter.log_odds]
    if task.links_from == "given":
        raise DataError(f"{task.name}: no training link. Give at least a few, or find them by names (links_from).")
    if not able:
        raise DataError(f"{task.name}: no training link. Give at least a few, or let names vote and decode.")
    if not any(voter.has_needed() for voter in able):
        silent = ", ".join(voter.name for voter in able)
        raise DataError(
            f"{task.name}: no training link, and nothing that both graphs say of their entities is comparable (voters "
            f"without a word: {silent}). Give links, names (names_source, names_target) or vectors."
        )


def opinion_arrays(last: StoredOpinions | None) -> dict[str, np.ndarray]:
    """Opinions as a run folder has them."""
    if last is None:
        return {}
    scores = {f"score.{name}": values for name, values in last.scores.items()}
    return {"source": last.source, "target": last.target} | scores


def _opinions(arrays: Table[str, np.ndarray], weights: Table[str, float]) -> StoredOpinions | None:
    """Opinions from a run folder, which has checked them."""
    if not arrays:
        return None
    scores = {name.removeprefix("score."): a for name, a in arrays.items() if name.startswith("score.")}
    return StoredOpinions(arrays["source"], arrays["target"], scores, dict(weights))


def versions() -> dict[str, str]:
    names = ("numpy", "scipy", "pandas", "safetensors")
    found = {name: version(name) for name in names} | {"torch": str(torch.__version__)}
    return {"mixtea": __version__, "python": platform.python_version()} | found
