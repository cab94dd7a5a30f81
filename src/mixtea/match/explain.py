"""Why a pair: what each voter has to say for it, from what a run has stored. No torch."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from mixtea.config import Config
from mixtea.errors import MissingVoterError
from mixtea.match.answers import Answers
from mixtea.vote.registry import voter_named
from mixtea.vote.voter import Evidence

COLUMNS = ("voter", "what", "weight")


def explained(answers: Answers, config: Config, packages: Mapping[str, str], source: int, target: int) -> pd.DataFrame:
    """A row for each thing that speaks for a pair, by numbers in their own graphs: voter, what, weight.

    A voter whose package is not here says so in place of its evidence.
    """
    known, rows = answers.known(), []
    for name in config.voters:
        try:
            voter = voter_named(name, packages.get(name, ""))().bind(answers.task, config)
        except MissingVoterError as error:
            rows.append((name, str(error), float("nan")))
            continue
        voter.known = known
        rows += [(name, *Evidence(*row)) for row in voter.explain(source, target)]
    return pd.DataFrame(rows, columns=list(COLUMNS))
