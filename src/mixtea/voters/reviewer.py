"""The voter `reviewer`: decisions of people who are known to err, by their reliability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mixtea.voters.base import Evidence, Voter, VotingState

if TYPE_CHECKING:
    from mixtea.voters.open_entities import EntityPairs


class Reviewer(Voter):
    """Log-odds of the decisions of `task.reviewed`; no opinion on all other pairs."""

    name = "reviewer"
    evidence = "human"
    is_calibrated = True

    def is_applicable(self) -> bool:
        return bool(len(self.task.reviewed.pairs))

    def propose(self, state: VotingState) -> np.ndarray:
        """Return the accepted pairs."""
        said = self.task.reviewed
        return said.pairs[said.log_odds > 0]

    def score(self, pairs: EntityPairs, state: VotingState) -> np.ndarray:
        found = np.full(len(pairs), np.nan)
        known = self._log_odds()
        if not known:
            return found
        m = self.task.target.n_entities
        keys = np.array(sorted(known), dtype=np.int64)
        values = np.array([known[key] for key in keys.tolist()])
        asked = pairs.source * m + pairs.target
        place = np.searchsorted(keys, asked).clip(max=len(keys) - 1)
        there = keys[place] == asked
        found[there] = self.config.sinkhorn_temperature * values[place[there]]
        return found

    def explain(self, source: int, target: int) -> list[Evidence]:
        value = self._log_odds().get(source * self.task.target.n_entities + target)
        if value is None:
            return []
        return [Evidence("a reviewer accepted it" if value > 0 else "a reviewer rejected it", value)]

    def _log_odds(self) -> dict[int, float]:
        """Return the sum of log-odds per pair, as a number."""
        found: dict[int, float] = {}
        said, m = self.task.reviewed, self.task.target.n_entities
        for key, value in zip((said.pairs @ [m, 1]).tolist(), said.log_odds.tolist(), strict=True):
            found[key] = found.get(key, 0.0) + value
        return found
