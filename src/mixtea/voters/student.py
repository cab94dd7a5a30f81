"""The voters `forward` and `backward`: nearness of the teacher's vectors, after training of the student's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mixtea.voters.base import Cost, Evidence, Voter, VotingState

if TYPE_CHECKING:
    from torch import Tensor

    from mixtea.compute.scored_pairs import ScoredPairs

VECTORS_GROUP = "vectors"


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
