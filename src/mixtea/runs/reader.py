"""Read a finished run: answers, scores and explanations from its folder, at once and without torch."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import pandas as pd

from mixtea.config import Config
from mixtea.decide.answers import Answers
from mixtea.evaluation.scores import split_table
from mixtea.explain.explainer import Explainer
from mixtea.explain.side_by_side import SideBySide
from mixtea.graph.task import Task
from mixtea.io.paths import PathOrStr
from mixtea.runs.folder import read_results


class StoredRun:
    """Results of a run folder. Whatever else is asked must be computed, by `MixTEA.load`.

    `task_` and `config` are those of the training, `metrics_` the scores of its own test links, `by_evidence_` the same
    by voter. Candidates, mappings and their scores are asked of `answers_`.
    """

    def __init__(self, folder: PathOrStr) -> None:
        found = read_results(Path(folder))
        self.task_: Task = found.task
        self.config: Config = found.config
        self.answers_: Answers = found.answers
        self.metrics_, self.by_evidence_ = split_table(found.metrics)
        self.about = found.about

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
