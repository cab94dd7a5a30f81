"""Names vote: entities that are called alike, in any script and, where links teach it, in two languages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixtea.vote.voter import Cost, Evidence, Voter, VotingState

if TYPE_CHECKING:
    from mixtea.vote.name_opinions import NameOpinions
    from mixtea.vote.open_entities import EntityPairs

SHOWN = 3  # pairs of names in an explanation


class Names(Voter):
    """Log-odds that two entities are the same by what they are called; no opinion where one of them has no name."""

    name = "names"
    needs = ("labels",)
    log_odds = True
    _opinions: NameOpinions | None = None

    def opinions(self) -> NameOpinions:
        from mixtea.vote.name_opinions import NameOpinions

        if self._opinions is None:
            self._opinions = NameOpinions(self.task)
        return self._opinions

    def propose(self, state: VotingState) -> np.ndarray:
        return self.opinions().proposed()

    def score(self, pairs: EntityPairs, state: VotingState) -> np.ndarray:
        return self.config.sinkhorn_temperature * self.opinions().log_odds(pairs.source, pairs.target)

    def learn(self, state: VotingState) -> None:
        self.opinions().learn(state.sure.cpu().numpy())

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """The names of both side by side, the most alike first."""
        return [
            Evidence(f"“{ours}” ~ “{theirs}”: {why}", value)
            for ours, theirs, value, why in self.opinions().side_by_side(source, target)[:SHOWN]
        ]

    def cost(self) -> Cost:
        n = self.task.source.n_entities + self.task.target.n_entities
        return Cost(mib=n * 2000 / 2**20, products=0.1)

    def state_dict(self) -> dict[str, Any]:
        return self.opinions().state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.opinions().load_state_dict(state)
