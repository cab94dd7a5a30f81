"""The voters that see triples or vectors: `forward` and `backward`, `propagation`, `agreement`.

Torch is imported where it is needed, so that runs are explained without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mixtea.compute.arrays import as_numpy, check_pairs
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.relations.neighbours import MIN_BELIEF, neighbourhood
from mixtea.voters.base import Cost, Evidence, Voter, VotingState
from mixtea.voters.registry import make_voter

if TYPE_CHECKING:
    from torch import Tensor

    from mixtea.voters.agreement_steps import AgreementSteps
    from mixtea.voters.propagation_views import PropagationViews

VECTORS_GROUP = "vectors"
MAX_NEIGHBOURS = 10  # that an explanation names


class _Direction(Voter):
    """Cosines of the vectors; proposes the `vote_candidates` nearest of every entity that is in no sure pair."""

    score_group = VECTORS_GROUP
    needs = ("triples", "vectors")
    evidence = "structure"
    to: ClassVar[str]

    def propose(self, state: VotingState) -> ScoredPairs:
        from mixtea.compute.nearest import nearest_pairs

        vectors, looking = state.unit_vectors, state.entities.not_in(state.sure)
        return nearest_pairs(*vectors, self.config.vote_candidates, looking=looking, mib=self.config.block_mib)

    def score(self, pairs: ScoredPairs, state: VotingState) -> Tensor:
        from mixtea.compute.nearest import cosines

        return state.entities.mask_without_triples(pairs, cosines(*state.unit_vectors, pairs))

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Return the cosine, and the rank of the pair among the stored candidates of its source or of its target."""
        if self.known is None or (cosine := self.known.score_of(VECTORS_GROUP, source, target)) is None:
            return ()
        own, end = (self.known.source, source) if self.to == "target" else (self.known.target, target)
        others = self.known.scores[VECTORS_GROUP][own == end]
        rank = 1 + int((others[~np.isnan(others)] > cosine).sum())
        return [Evidence(f"the vectors' cosine, number {rank} among the {self.to}s that were looked at", cosine)]

    def cost(self) -> Cost:
        return Cost(products=2.0)


class Forward(_Direction):
    """From source to target: it votes for the best target of each source."""

    name = "forward"
    votes_for = ("target",)
    to = "target"


class Backward(_Direction):
    """From target to source: it votes for the best source of each target."""

    name = "backward"
    votes_for = ("source",)
    to = "source"


class Propagation(Voter):
    """Cosines after propagation from the links and from the sure pairs.

    It proposes the nearest of every entity that is in no sure pair. Scores are 0 where nothing known reaches an entity,
    so that there is no evidence.
    """

    name = "propagation"
    needs = ("triples",)
    evidence = "structure"
    _views: PropagationViews | None = None
    _begun: tuple[np.ndarray, np.ndarray, bool] | None = None  # the last one's sure pairs, random state, roughness

    def propose(self, state: VotingState) -> ScoredPairs:
        return self._seen(state).pairs

    def score(self, pairs: ScoredPairs, state: VotingState) -> Tensor:
        return state.entities.mask_without_triples(pairs, self._seen(state).scores(pairs))

    def learn(self, state: VotingState) -> None:
        """Propagate anew from the links and the sure pairs; the inputs are stored, as the vectors are much larger."""
        self._begun = (as_numpy(state.sure), as_numpy(state.generator.get_state()), state.rough)
        self._new_views(state).refresh(state.sure, state.generator, state.rough)

    def release(self) -> None:
        self._views = None

    def _new_views(self, state: VotingState) -> PropagationViews:
        from mixtea.voters.propagation_views import PropagationViews

        if self._views is None:
            self._views = PropagationViews(self.task, self.config, state.entities)
        return self._views

    def _seen(self, state: VotingState) -> PropagationViews:
        """Return the vectors; after an interruption they are made again, with the same random numbers."""
        if self._views is None and self._begun is not None:
            self._new_views(state).refresh_from(*self._begun)
        if self._views is None:
            raise ValueError("propagation is asked before it has learned")
        return self._views

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Return linked or surely matched neighbours, and the relations through which they reach the pair."""
        return matched_neighbours(self, source, target, above=self.config.sure_above)

    def cost(self) -> Cost:
        config, n = self.config, sum(graph.n_entities for graph in (self.task.source, self.task.target))
        views, (item, kept) = 1 + config.propagation_cross_fit, (8, 8) if config.precision == "float64" else (4, 2)
        width = config.propagation_relation_dim * config.propagation_part_dim
        hops = 4 * config.propagation_label_dim * item  # of labels, and one that is being made
        return Cost(mib=n * (views * width * kept + hops) / 2**20, products=2.0 * views)

    def state_dict(self) -> dict[str, Any]:
        return {} if self._begun is None else dict(zip(("sure", "generator", "rough"), self._begun, strict=True))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if not state:
            return
        sure, generator = state["sure"], state["generator"]
        check_pairs(sure, self.task.joint_index.shape)
        if generator.dtype != np.uint8 or generator.ndim != 1:
            raise ValueError("a random state of another form")
        self._begun, self._views = (sure, generator, bool(state["rough"])), None


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
            from mixtea.voters.agreement_steps import agreement_steps

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
        others = (voter for voter in voters if voter.evidence != "structure" and voter.is_independent)
        return any(voter.is_applicable() for voter in others)

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Return matched neighbours and the relations that lead to them; weights as in its score."""
        return matched_neighbours(self, source, target)


def matched_neighbours(voter: Voter, source: int, target: int, above: float = MIN_BELIEF) -> list[Evidence]:
    """Return the support of a pair in words, the strongest first: neighbours, and the relations that lead to them."""
    if voter.known is None:
        return []
    near = neighbourhood(voter.task, voter.known, voter.config.shared_relations)
    speaking = near.support(source, target, above)
    weight = speaking.weight
    shown = np.argsort(-weight, kind="stable")[:MAX_NEIGHBOURS].tolist()
    return [Evidence(said, float(weight[i])) for i, said in zip(shown, near.described(speaking, shown), strict=True)]
