"""The estimator: fit on a task, predict mappings, score them, save and load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Table
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from mixtea.aligner.matching import match_rows
from mixtea.aligner.saving import DECODING, restore_aligner, run_contents, shared_inputs
from mixtea.aligner.scoring import Scoring, Voters, reproducibly
from mixtea.calibration.probabilities import SEVERAL_PROBABILITY
from mixtea.callbacks import Callbacks, check_callbacks, run_callbacks, training_callbacks
from mixtea.compute import distributed
from mixtea.compute.arrays import as_arrays
from mixtea.compute.device import choose_device, is_first, reproducible, with_other_processes
from mixtea.compute.memory import enough_memory, remembered_sizes
from mixtea.config import Config
from mixtea.council.adapt import adapt_config, without_structure
from mixtea.council.council import bind_voters
from mixtea.council.summary import check_can_train
from mixtea.council.trace import trace_table
from mixtea.decide.answers import CANDIDATES_STORED, Answers
from mixtea.decide.candidates import Candidates, check_k
from mixtea.decide.choose import Choice
from mixtea.decide.decode import check_deciding, stored_opinions
from mixtea.decide.given import candidates_of
from mixtea.decide.mapping import Mapping
from mixtea.decide.new_entities import Matches
from mixtea.decide.predict import Predictor
from mixtea.decide.text_matcher import TextMatcher, learned_text
from mixtea.errors import ConfigError, DataError, NotFittedError
from mixtea.evaluation.scores import empty_table
from mixtea.explain.explainer import Explainer
from mixtea.graph.graph import SIDES
from mixtea.graph.task import Task
from mixtea.io.links.resolve import resolve_entities, resolve_links
from mixtea.io.paths import PathOrStr, as_path
from mixtea.messages import METRICS, html_table
from mixtea.progress import ProgressOption, progress_callbacks
from mixtea.relations.alignment import MIN_SCORE, Relations
from mixtea.runs.checkpoints import Checkpoints, open_checkpoints
from mixtea.runs.folder import read_run, write_run
from mixtea.training.recovery import train_with_recovery
from mixtea.training.warm_start import WarmStart
from mixtea.voters.base import Voter
from mixtea.voters.learned import Learned, LearnedProbabilities, LearnedView
from mixtea.voters.registry import package_of


class MixTEA(Scoring):
    """Semi-supervised entity alignment with mixture teaching.

    `preset` names a set of settings ("best", "paper" or "text"), `settings` changes single fields of it; see `Config`.
    After `fit`: `config_` (the settings adapted to the task), `history_` (a data frame, one row per epoch),
    `n_epochs_`, `best_epoch_`, `stopped_because_`, `seconds_`, `metrics_`, `trace_` (all votes, with their epochs),
    `lowered_` (by how much the learning rate had to be), `misleading_` (by voter, the share of the links for which what
    it compares is uninformative) and `misleading_links_` (how many links that was found by). After `train` also
    `by_evidence_`: the table of `score_by_evidence` for the test links.
    """

    _bound: Sequence[Voter] = ()  # the voters of the last training that decide, until they have
    _threads: int | None = None  # of a training that went on with another number of threads than this process has

    def __init__(self, preset: str = "best", **settings: Any) -> None:
        self.preset, self.settings = preset, settings
        self.config = Config.preset(preset, **settings)
        self.metrics_: dict[str, float] = {}
        self.by_evidence_ = empty_table()
        self._vectors: Tensor | None = None
        self._views: dict[str, LearnedView] = {}
        self._learned: Learned | None = None
        self._learned_probabilities: LearnedProbabilities | None = None
        self._given: LearnedProbabilities | None = None  # what another task has taught
        self._matcher: TextMatcher | None = None
        self._matched_since = 0  # sources that were matched since the last training, without learning from them
        self._manifest = self._parent = ""  # of the run this was saved as, and of the one a warm start began with

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}" for name, value in self.chosen_settings().items())
        state = f" fitted on {self.task_!r}" if hasattr(self, "task_") else ""
        return f"MixTEA(preset={self.preset!r}{settings}){state}"

    def _repr_html_(self) -> str:
        """Render for notebooks: the settings that differ from the preset, and what was learned."""
        rows = [*self.chosen_settings().items()]
        if hasattr(self, "task_"):
            rows += [("fitted on", repr(self.task_)), ("epochs", self.n_epochs_), ("stopped", self.stopped_because_)]
            rows += [(name, f"{value:.3f}") for name, value in self.metrics_.items() if name in METRICS]
        state = "" if hasattr(self, "task_") else ", not fitted yet"
        return html_table(f"MixTEA, preset {self.preset}{state}", (), rows)

    def chosen_settings(self) -> dict[str, Any]:
        """Return the settings that differ from the preset, as they were chosen, whatever a task asked for."""
        usual = Config.preset(self.preset).to_dict()
        return {name: value for name, value in self.config.to_dict().items() if value != usual[name]}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the preset and the value of every setting, as scikit-learn asks for them."""
        return {"preset": self.preset} | self.config.to_dict()

    def set_params(self, **params: Any) -> MixTEA:
        """Change the preset or single settings; what was learned stays as it is until the next fit."""
        preset = params.pop("preset", self.preset)
        settings = (self.settings if preset == self.preset else {}) | params
        self.config = Config.preset(preset, **settings)
        self.preset, self.settings = preset, settings
        self.metrics_, self.by_evidence_ = {}, empty_table()  # of other settings
        return self

    @with_other_processes()
    def fit(
        self,
        task: Task,
        *,
        callbacks: Callbacks = (),
        warm_start: MixTEA | None = None,
        learned: MixTEA | Learned | None = None,
        checkpoints: Checkpoints | PathOrStr | None = None,
        progress: ProgressOption = None,
    ) -> MixTEA:
        """Learn from the training links of `task`.

        Validation links set voter weights and early stopping; test links are unused.

        Parameters
        ----------
        task
            The task, from `load_task`.
        callbacks
            Objects of `mixtea.Callback` that receive what the training reports: its rounds, epochs and vectors.
        warm_start
            An aligner that was fitted to an earlier state of these graphs: what it learned of entities and relations
            that are still there, by id, is where this one begins; pairs that it was sure of, and at which nothing has
            changed, are not looked for again.
        learned
            What a training on another task of the same kind has learned beside vectors, its `learned_`, or its aligner:
            voter weights, weights of names and values, and the calibration are applied instead of fitted to the links.
        checkpoints
            A folder to save the state of the training in from time to time; if it holds one already, of the same task,
            settings and warm start, the training goes on from there, to the same end.
        progress
            Adds a callback that shows progress if it is True, or None in notebooks; or one that calls this function
            with the epochs done, the most there will be, and the state in words. False adds none.

        Returns
        -------
        MixTEA
            This aligner.

        Raises
        ------
        DataError
            `task` is not a task, or has nothing to learn from.
        ConfigError
            A setting cannot be met here, such as a device that is not there; or another process of the run has other
            settings or files.
        VoterError
            A voter from outside failed, or returned an invalid opinion; its own error is the cause.
        TrainingError
            Memory is full (FullMemoryError), the training diverged twice (DivergedError), or another process of the run
            is lost (ProcessLostError), after what was learned so far is kept.

        Examples
        --------
        >>> from mixtea import MixTEA, load_example
        >>> calls = []
        >>> aligner = MixTEA(preset="paper", max_epochs=2, seed=1)
        >>> aligner.fit(load_example(), progress=lambda done, of, words: calls.append((done, of))).n_epochs_, calls
        (2, [(1, 2), (2, 2)])
        """
        self._check_call(task, warm_start, learned)
        callbacks = (*progress_callbacks(progress if is_first() else False), *check_callbacks(callbacks))
        if checkpoints is not None and not isinstance(checkpoints, Checkpoints):
            checkpoints = as_path(checkpoints, "checkpoints")
        given = learned.learned_ if isinstance(learned, MixTEA) else learned
        device = choose_device(self.config.device)
        config = adapt_config(task, self.config, device.type)
        names = dict.fromkeys((*config.voters, *config.deciding_voters))
        bound = {voter.name: voter for voter in bind_voters(task, config, [*names])}
        deciding, voters = ([bound[name] for name in some] for some in (config.deciding_voters, config.voters))
        check_deciding(deciding, config)
        check_can_train(task, deciding)
        with run_callbacks(callbacks), reproducible(config.deterministic), enough_memory(), remembered_sizes():
            start = None if warm_start is None else warm_start._warm_start()
            began_with = None if start is None else (start.task, as_arrays(start.student))
            met = distributed.process_group(
                device, lambda: shared_inputs(task, config, device, began_with, checkpoints)
            )
            with (
                met,
                training_callbacks(task, config, voters),
                open_checkpoints(checkpoints, task, config, began_with, given) as kept,
            ):
                trained = train_with_recovery(task, config, device, start, kept, voters, given)
            threads = torch.get_num_threads()
        self._threads = None if threads == torch.get_num_threads() else threads
        self.task_, self._student, self._vectors = task, trained.student, None
        self._trace, self._last = trained.trace.to_arrays(len(trained.history)), None
        self._answers: Answers | None = None
        self._answers_by = self.config_ = config
        self._bound = deciding
        for voter in deciding:
            voter.release()
        self._fitted_as = self.preset, self.chosen_settings()
        self._matched_since = 0
        self._manifest, self._parent = "", "" if warm_start is None else warm_start._manifest
        if trained.opinions is not None:
            wrong = {name: view.wrong for name, view in trained.views.items()}
            self._last = stored_opinions(trained.opinions, trained.holdout, wrong)
        self._views, self._learned, self._matcher = trained.views, None, None
        self._given = None if given is None else given.probabilities
        self._packages = {name: found for name in config.voters if (found := package_of(name))}
        self._records, self.n_epochs_ = trained.history, len(trained.history)
        self.best_epoch_, self.stopped_because_ = trained.best_epoch, trained.stopped_because
        self.seconds_, self.metrics_, self.lowered_ = trained.seconds, {}, trained.lowered
        self.by_evidence_, self.misleading_ = empty_table(), trained.misleading
        self.misleading_links_ = trained.misleading_links
        if trained.lost is not None:
            raise trained.lost
        return self

    @property
    def history_(self) -> pd.DataFrame:
        """Return one row per epoch: losses, schedules, votes by voter and by agreement, validation scores, seconds."""
        self._check_fitted()
        return pd.DataFrame(self._records)

    @property
    def trace_(self) -> pd.DataFrame:
        """Return one row per vote: source and target index, its voters, its first and last epoch."""
        self._check_fitted()
        return trace_table(self._trace, self.config_.voters)

    @property
    def vectors_(self) -> Tensor:
        """Return [n_source + n_target, D]: the student's vectors, sources first."""
        self._check_fitted()
        if self._vectors is None:
            with torch.no_grad(), reproducible(self.config.deterministic, self._threads), enough_memory():
                self._vectors = self._student()
        return self._vectors

    @property
    def answers_(self) -> Answers:
        """Return candidates and decisions by the run's own decoder and voters, computed once."""
        self._check_fitted()
        config = self._trained_config()
        if self._answers is None or self._answers_by != config:
            with reproducible(config.deterministic, self._threads):
                predictor = self._predictor(config)
                self._answers, self._answers_by, self._bound = predictor.answers(), config, ()
            self._learned_probabilities = predictor.pairs.learned
            self._matcher = None
        return self._answers

    @property
    def learned_(self) -> Learned:
        """Return what was learned beside vectors, computed once; `fit` takes it for another task of the same kind."""
        if self._learned is None:
            temperature = self.config_.sinkhorn_temperature
            found = learned_text(self.task_, self._last, self.answers_, self._views, temperature)
            weights = {} if self._last is None else self._last.weights
            self._learned = replace(found, voter_weights=weights, probabilities=self._learned_probabilities)
        return self._learned

    @property
    def applies_learned(self) -> bool:
        """Return whether its probabilities are by what a training on another task has learned."""
        return self._given is not None

    def _trained_config(self) -> Config:
        """Return the settings that it was fitted with, except for decoding, which may have changed since."""
        return self._adapted({name: getattr(self.config, name) for name in DECODING})

    def _adapted(self, decoding: dict[str, Any]) -> Config:
        """Return the settings that it was fitted with, with other decoding, adapted to the task."""
        config = self.config_.replace(**decoding)
        return config.replace(**without_structure(self.task_, config))

    @reproducibly
    def predict(
        self,
        k: int = 10,
        *,
        sources: str | Iterable[Any] | None = None,
        decoder: str | None = None,
        voters: Voters = None,
    ) -> Candidates:
        """Rank all targets for every source entity without a training link, or for those that are asked about.

        Parameters
        ----------
        k
            How many candidates of each source come back.
        sources
            Some source entities, by ids, by labels that no other entity has, or by entity index. They are
            answered in this order, also those with a training link: its target is the first candidate, and sure.
        decoder, voters
            Take the place of the settings `decoder` and `decode_voters` (names as in the setting `voters`).

        Returns
        -------
        Candidates
            Ids, scores, calibrated probabilities, and the voters that support each.

        Raises
        ------
        DataError
            The source graph has no such entity, or several of that label.
        ConfigError
            `k` is not a whole number of at least 1, or a name is unknown.
        NotFittedError
            Nothing has been learned yet.

        Examples
        --------
        >>> from mixtea import MixTEA, load_example
        >>> aligner = MixTEA(preset="paper", max_epochs=2, seed=1).fit(load_example())
        >>> aligner.predict(k=3).to_frame().columns.tolist()
        ['source', 'target', 'rank', 'score', 'probability', 'voters']
        >>> aligner.predict(k=2, sources=["territory/Germany"]).to_frame()["source"].tolist()
        ['territory/Germany', 'territory/Germany']
        """
        check_k(k)
        config, k = self._decoding(decoder, voters), int(k)
        asked = None if sources is None else resolve_entities(self.task_.source, sources, "source")
        found = self._answers_by_config(config, k=k).candidates(k)
        return found if asked is None else candidates_of(found, asked, self.vectors_, self.task_, config, k)

    @reproducibly
    def map(
        self,
        *,
        shared_targets: bool = False,
        multiple_targets: bool | None = None,
        best_f1: bool = False,
        precision: float | None = None,
        every: bool = False,
        with_given: bool = False,
        voters: Voters = None,
    ) -> Mapping:
        """Decide about every source entity without a given link, among all targets.

        The likeliest pair is taken again and again, each target once. Of these, pairs with a probability of at least .5
        are mapped, unless something else is asked for: one of `best_f1`, `precision` and `every`.

        Parameters
        ----------
        shared_targets
            Several sources may get the same target.
        multiple_targets
            A source may get several targets, each further one with a probability above .5 and not mapped to another
            source; where a tenth of the linked sources have several, one with a training link too. None: as often as
            sources of the links to learn from have several.
        best_f1
            Map less likely pairs too, as long as they raise the F1 that is to be expected.
        precision
            Map as many pairs as have this precision in expectation.
        every
            Map every source while targets remain; the column `decision` marks the unlikely ones.
        with_given
            Put the given links in front.
        voters
            As in `predict`.

        Returns
        -------
        Mapping
            A row per decision; `mapping.write("m.sssom.tsv")` writes it.

        Raises
        ------
        ConfigError
            A name is unknown, or the way to choose is not clear.
        NotFittedError
            Nothing has been learned yet.

        Examples
        --------
        >>> from mixtea import MixTEA, load_example
        >>> aligner = MixTEA(preset="paper", max_epochs=2, seed=1).fit(load_example())
        >>> aligner.map(every=True).pairs()["target"].is_unique
        True
        >>> bool(aligner.map(precision=0.9).pairs()["probability"].mean() >= 0.9)
        True
        """
        choice, config = Choice(best_f1, every, precision), self._decoding(None, voters)
        answers = self._answers_by_config(config, shared_targets=shared_targets, multiple_targets=multiple_targets)
        return answers.mapping(choice, with_given=with_given)

    @reproducibly
    def match(self, rows: Any, k: int = 5, *, shared_targets: bool = False) -> Matches:
        """Find the targets of entities that were not in the source graph, by names and values; nothing is trained.

        Parameters
        ----------
        rows
            What the source of `load_task` may be: a file, a data frame, a list of dictionaries or of rows, a graph; or
            one dictionary. Columns are those of the run's source.
        k
            How many candidates of each entity come back.
        shared_targets
            Several entities may get the same target. Else one that is mapped already is lost to an entity that is more
            likely, and the decision of the other one is `target taken`.

        Returns
        -------
        Matches
            A row per candidate; `decisions()` has a row per entity. An entity that the run has, with the same values,
            has the answer of the run.

        Raises
        ------
        DataError
            The rows cannot be read, or have nothing that the run has compared.
        ConfigError
            The run compares neither names nor values, or `k` is not a whole number of at least 1.
        NotFittedError
            Nothing has been learned yet.

        Examples
        --------
        >>> from mixtea import MixTEA, load_task
        >>> towns = [{"id": f"t{i}", "name": f"{a} {b}"} for i, (a, b) in enumerate(
        ...     (a, b) for a in ("North", "South", "Old") for b in ("Harbour", "Mill", "Bridge", "Castle"))]
        >>> task = load_task(source=towns[:10], target=towns, links_from="names")
        >>> aligner = MixTEA(max_epochs=0).fit(task)
        >>> aligner.match({"id": "new", "name": "Old Bridge"}).decisions()["target"].tolist()
        ['t10']
        """
        check_k(k)
        self._check_fitted()
        return match_rows(self, rows, int(k), shared_targets=shared_targets)

    def relations(self, *, min_score: float = MIN_SCORE) -> Relations:
        """Align relations, attribute predicates and classes of the two graphs by the mapping of the entities.

        Training and validation links count as 1, other mappings by their probabilities. Pairs that score less than
        `min_score`, from 0 to 1, are left out. Returns Relations: see there for the columns, and docs/relations.md for
        what they mean. Raises ConfigError for another `min_score`, NotFittedError before `fit`.

        >>> from mixtea import MixTEA, load_example
        >>> aligner = MixTEA(preset="paper", max_epochs=2, seed=1).fit(load_example())
        >>> aligner.relations(min_score=0.5).to_frame().columns.tolist()[:6]
        ['kind', 'source', 'target', 'relation', 'inverse', 'score']
        """
        if not isinstance(min_score, int | float | np.number) or not 0 <= min_score <= 1:
            raise ConfigError(f"min_score is a number from 0 to 1, not {min_score!r:.100}.")
        return self.answers_.relations(float(min_score))

    def explain(self, source: str, target: str) -> pd.DataFrame:
        """List the evidence for two entities, by ids or unique labels, being the same: a row for each reason.

        Returns a data frame: voter, what (in words), weight (how much, by that voter's own measure; the larger, the
        more). Raises DataError for an entity that the graph does not have, NotFittedError before `fit`.

        >>> from mixtea import MixTEA, load_example
        >>> aligner = MixTEA(preset="paper", max_epochs=2, seed=1).fit(load_example())
        >>> aligner.explain("territory/Germany", "territoire/Allemagne").columns.tolist()
        ['voter', 'what', 'weight']
        """
        self._check_fitted()
        pair = resolve_links(self.task_, [(source, target)])[0]
        return self.explainer()(int(pair[0]), int(pair[1]))

    def explainer(self) -> Explainer:
        """Return a function that explains many pairs, by entity index: `explainer()(source, target)`."""
        self._check_fitted()
        return Explainer(self.answers_, self.config_, self._packages)

    def _decoding(self, decoder: str | None, voters: Voters) -> Config:
        """Return the settings with another decoder or other voters."""
        self._check_fitted()
        names = tuple(voters.split(",")) if isinstance(voters, str) else voters
        changed = {"decoder": decoder, "decode_voters": names, "candidates": self.config.candidates}
        own = {name: getattr(self.config, name) if value is None else value for name, value in changed.items()}
        return self._adapted(own)

    def _answers_by_config(
        self, config: Config, *, k: int = 1, shared_targets: bool = False, multiple_targets: bool | None = None
    ) -> Answers:
        """Return the answers by some settings: those of the run where these are its own, else computed anew."""
        if (
            config == self._trained_config() and k <= CANDIDATES_STORED and multiple_targets is None
            and not shared_targets
        ):  # fmt: skip
            return self.answers_
        share = None if multiple_targets is None else SEVERAL_PROBABILITY * multiple_targets
        return self._predictor(config, once=not shared_targets, multiple_targets=share).answers(k)

    def _predictor(self, config: Config, *, once: bool = True, multiple_targets: float | None = None) -> Predictor:
        how: dict[str, Any] = {
            "once": once,
            "multiple_targets": multiple_targets,
            "given": self._given,
            "bound": self._bound,
        }
        return Predictor(self.vectors_, self.task_, config, self._last, self._packages, **how)

    def save(
        self, folder: PathOrStr, *, overwrite: bool = False, pages: Table[str, str] | None = None,
        keep_earlier: int | None = None,
    ) -> None:  # fmt: skip
        """Write a run folder, whole or not at all; an existing one is refused unless `overwrite`.

        With `keep_earlier`, an existing one becomes the last of the earlier runs in `folder`/history; so many stay.

        `pages` are texts for people by the names of their files, report.html and changes.tsv; `train` makes them.
        Raises RunError if the folder cannot be written, NotFittedError before `fit`.

        >>> from tempfile import TemporaryDirectory
        >>> from mixtea import MixTEA, load_example
        >>> aligner = MixTEA(preset="paper", max_epochs=2, seed=1).fit(load_example())
        >>> with TemporaryDirectory() as folder:
        ...     aligner.save(f"{folder}/run")
        ...     MixTEA.load(f"{folder}/run").n_epochs_
        2
        """
        self._check_fitted()
        path = as_path(folder, "folder")
        with reproducible(self.config.deterministic, self._threads), enough_memory():
            run = run_contents(self, pages or {})
        self._manifest = write_run(run, path, overwrite=overwrite, keep=keep_earlier)

    @classmethod
    def load(cls, folder: PathOrStr, *, device: str | None = None) -> MixTEA:
        """Read a run folder, as `save` and `mixtea fit` write it, and return the aligner.

        `device` is where to compute, else the saved setting if this machine has it. Raises RunError if the folder is
        not a run or a damaged one, ConfigError if the device cannot be used.
        """
        path = as_path(folder, "folder")
        aligner = cls.__new__(cls)
        restore_aligner(aligner, read_run(path), path, device)
        return aligner

    def _warm_start(self) -> WarmStart:
        """Return the start of a warm training: task, the student's parameters, and the last opinions."""
        self._check_fitted()
        return WarmStart(self.task_, self._student.state_dict(), self._last)

    def _check_fitted(self) -> None:
        if not hasattr(self, "task_"):
            raise NotFittedError("This aligner has not learned yet: call fit(task) first.")

    @staticmethod
    def _check_call(task: Any, warm_start: Any, learned: Any) -> None:
        if not isinstance(task, Task):
            raise DataError(f"fit needs a task, not {type(task).__name__}: load_task(...) makes one.")
        if len(task.graphs) != len(SIDES):
            raise DataError(f"fit aligns two graphs, not {len(task.graphs)}: task.between(i, j) is the task of two.")
        if warm_start is not None and not isinstance(warm_start, MixTEA):
            kind = type(warm_start).__name__
            raise ConfigError(f"warm_start is a fitted aligner, not {kind}: MixTEA.load(folder) gives that of a run.")
        if learned is not None and not isinstance(learned, MixTEA | Learned):
            raise ConfigError(f"learned is a fitted aligner, or its learned_, not {type(learned).__name__}.")
