"""Evidence for a pair by each voter, from what a run has stored. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import pandas as pd

from mixtea.config import Config
from mixtea.decide.answers import Answers
from mixtea.errors import MissingVoterError
from mixtea.explain.side_by_side import SideBySide
from mixtea.voters.attributes import Attributes
from mixtea.voters.base import Evidence, Voter
from mixtea.voters.registry import make_voter

EXPLANATION_COLUMNS = ("voter", "what", "weight")


class Explainer:
    """Explanations of any number of pairs.

    A voter whose package is not installed has that message in place of its evidence.
    """

    def __init__(self, answers: Answers, config: Config, packages: Mapping[str, str]) -> None:
        self.task, self.config, known = answers.task, config, answers.known()
        self.voters: dict[str, Voter | MissingVoterError] = {}
        for name in config.voters:
            try:
                voter = make_voter(name, answers.task, config, packages.get(name, ""))
            except MissingVoterError as error:
                self.voters[name] = error
                continue
            voter.known, self.voters[name] = known, voter

    def __call__(self, source: int, target: int) -> pd.DataFrame:
        """List the evidence for a pair, by entity index: a row each of voter, what, weight."""
        rows: list[tuple[str, str, float]] = []
        for name, voter in self.voters.items():
            if isinstance(voter, MissingVoterError):
                rows.append((name, str(voter), float("nan")))
            else:
                rows += [(name, *Evidence(*row)) for row in voter.explain(source, target)]
        return pd.DataFrame(rows, columns=list(EXPLANATION_COLUMNS))

    @cached_property
    def side_by_side(self) -> SideBySide:
        """Return the values of pairs as the voter of attributes compares them, even if it does not vote here."""
        voter = self.voters.get(Attributes.name) or Attributes().bind(self.task, self.config)
        assert isinstance(voter, Attributes), "it is one of our own"
        return SideBySide(self.task, voter.opinions_by_links)
