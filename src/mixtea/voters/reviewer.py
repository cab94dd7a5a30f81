"""The voter `reviewer`: decisions of people who are known to err, by their reliability."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mixtea.compute.scored_pairs import ScoredPairs, pairs_of_keys
from mixtea.voters.base import Evidence, Voter, VotingState


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

    def score(self, pairs: ScoredPairs, state: VotingState) -> np.ndarray:
        known = self._decided
        return self.config.sinkhorn_temperature * known.look_up(*pairs.by_entity.ends, "log_odds", np.nan)

    def explain(self, source: int, target: int) -> list[Evidence]:
        value = float(self._decided.look_up(np.array([source]), np.array([target]), "log_odds", np.nan)[0])
        if np.isnan(value):
            return []
        return [Evidence("a reviewer accepted it" if value > 0 else "a reviewer rejected it", value)]

    @cached_property
    def _decided(self) -> ScoredPairs:
        """Return the pairs that were decided about, with the sum of the log-odds of each."""
        told, shape = self.task.reviewed, self.task.joint_index.shape
        key, place = np.unique(told.pairs @ [max(shape[1], 1), 1], return_inverse=True)
        total = np.bincount(place.reshape(-1), told.log_odds, minlength=len(key))
        return pairs_of_keys(key, shape, ascending=True).with_columns(log_odds=total)
