"""Read a finished run: candidates, mapping, scores and explanations from its folder, at once and without torch."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.config import Config
from mixtea.decide.answers import Answers
from mixtea.decide.candidates import Candidates
from mixtea.decide.choose import Choice
from mixtea.decide.mapping import Mapping
from mixtea.evaluation.scores import split_table
from mixtea.explain.explainer import Explainer
from mixtea.explain.side_by_side import SideBySide
from mixtea.graph.task import Task
from mixtea.io.paths import PathOrStr
from mixtea.relations.alignment import MIN_SCORE, Relations, relations_of
from mixtea.runs.folder import read_results


class StoredRun:
    """Results of a run folder. Whatever else is asked must be computed, by `MixTEA.load`.

    `task_` and `config` are those of the training, `metrics_` the scores of its own test links, `by_evidence_` the same
    by voter, `answers_` all results.
    """

    def __init__(self, folder: PathOrStr) -> None:
        found = read_results(Path(folder))
        self.task_: Task = found.task
        self.config: Config = found.config
        self.answers_: Answers = found.answers
        self.metrics_, self.by_evidence_ = split_table(found.metrics)
        self.about = found.about

    def predict(self, k: int = 10) -> Candidates:
        """Return the k best candidates of every source without a training link, as many as are stored."""
        return self.answers_.candidates(k)

    def map(
        self, *, best_f1: bool = False, precision: float | None = None, every: bool = False, with_given: bool = False
    ) -> Mapping:
        """Decide about every source without a given link, every target given once, as `MixTEA.map` does."""
        return self.answers_.mapping(Choice(best_f1, every, precision), with_given=with_given)

    def relations(self, *, min_score: float = MIN_SCORE) -> Relations:
        """Align relations, attribute predicates and classes of the two graphs by the mapping of the run."""
        return relations_of(self.map(with_given=True), min_score)

    def score_mapping(self, links: np.ndarray, *, complete: bool = False) -> dict[str, float]:
        """Compute precision, recall and F1 of the mapping on links [p, 2]."""
        return self.answers_.mapping_scores(links, complete=complete)

    def threshold_curve(self, links: np.ndarray, *, complete: bool = False) -> pd.DataFrame:
        """Score the mapping by the least probability that is asked for."""
        return self.answers_.threshold_curve(links, complete=complete)

    def explain(self, source: int, target: int) -> pd.DataFrame:
        """List the evidence of each voter for a pair, by entity index: voter, what, weight."""
        return self._explainer(source, target)

    @property
    def side_by_side(self) -> SideBySide:
        """Return the values of pairs, by entity index, as the voter of attributes compares them."""
        return self._explainer.side_by_side

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self.answers_, self.config, self.about["voter_packages"])
