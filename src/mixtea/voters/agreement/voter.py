"""The voter `agreement`: a pair is likely whose neighbours are matched to each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.relations.neighbours import MIN_BELIEF, Neighbourhood, neighbourhood
from mixtea.voters.base import Evidence, Voter, VotingState, is_independent
from mixtea.voters.plugin import make_voter

if TYPE_CHECKING:
    from torch import Tensor

    from mixtea.compute.scored_pairs import ScoredPairs
    from mixtea.voters.agreement.steps import AgreementSteps


class Agreement(Voter):
    """A voter on the candidates of others, by the belief in their neighbours; 0 where no neighbours are matched."""

    name = "agreement"
    needs = ("triples",)
    evidence = "structure"
    uses_belief = True
    _steps: AgreementSteps | None = None

    def score(self, pairs: ScoredPairs, state: VotingState) -> Tensor:
        if state.belief is None:
            raise ValueError("agreement needs a belief")
        if self._steps is None:
            from mixtea.voters.agreement.steps import agreement_steps

            self._steps = agreement_steps(self.task, self.config, state.entities)
        return state.entities.mask_without_triples(pairs, self._steps.scores(pairs, state.belief))

    def weight(self) -> float:
        """Return the larger weight where links are few and no texts are compared."""
        few = len(self.task.train) > 0 and not self.config.enough_valid(len(self.task.valid))
        return self.config.agreement_weight_few if few and not self._texts_vote else self.config.agreement_weight

    @cached_property
    def _texts_vote(self) -> bool:
        """Return whether another voter compares texts that both graphs have."""
        voters = (make_voter(name, self.task, self.config) for name in self.config.voters if name != self.name)
        others = (voter for voter in voters if voter.evidence != "structure" and is_independent(voter))
        return any(voter.is_applicable() for voter in others)

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Return matched neighbours and the relations that lead to them; weights as in its score."""
        return matched_neighbours(self, source, target)


MAX_NEIGHBOURS = 10  # that an explanation names


def matched_neighbours(voter: Voter, source: int, target: int, above: float = MIN_BELIEF) -> list[Evidence]:
    """Return the support of a pair in words, the strongest first: neighbours, and the relations that lead to them."""
    if voter.known is None:
        return []
    near = neighbourhood(voter.task, voter.known, voter.config.shared_relations)
    speaking = near.support(source, target, above)
    return [
        Evidence(_words(near, speaking, i), float(speaking.weight[i]))
        for i in np.argsort(-speaking.weight, kind="stable")[:MAX_NEIGHBOURS].tolist()
    ]


def _words(near: Neighbourhood, speaking: ScoredPairs, i: int) -> str:
    """Describe one support, each end seen from its end of the pair: `capital: Rome ~ capitale: Rome`."""
    graphs, ends = (near.task.source, near.task.target), (int(speaking.source[i]), int(speaking.target[i]))
    kinds = (int(speaking.kind[i]), int(speaking.other_kind[i]))
    return " ~ ".join(
        f"{near.relation_name(side, kind)}: {graph.display(end)}"
        for side, (graph, end, kind) in enumerate(zip(graphs, ends, kinds, strict=True))
    )
