"""The user's own vectors vote, of descriptions or images or what else: what is near there is alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mixtea.vote.voter import Cost, Evidence, Voter, VotingState

if TYPE_CHECKING:
    from torch import Tensor

    from mixtea.compute.pairs import Pairs
    from mixtea.vote.open_entities import EntityPairs, OpenEntities
    from mixtea.vote.own_vectors import OwnVectors


class Descriptions(Voter):
    """Cosines of the vectors that came with the graphs; silent on entities without one, and where none were given.

    It proposes the `vote_candidates` nearest of every entity, in both directions. The vectors never change, so they are
    compared once.
    """

    name = "descriptions"
    needs = ("own_vectors",)
    _seen: tuple[OpenEntities, OwnVectors] | None = None

    def propose(self, state: VotingState) -> Pairs | None:
        return self._own(state).pairs if self.has_needed() else None

    def score(self, pairs: EntityPairs, state: VotingState) -> Tensor:
        return self.similarity(pairs, state)

    def similarity(self, pairs: EntityPairs, state: VotingState) -> Tensor:
        """The cosine of each pair, NaN where an end has no vector."""
        import torch

        if not self.has_needed():
            return pairs.rows.source.new_full((len(pairs),), np.nan, dtype=getattr(torch, self.config.precision))
        return self._own(state).cosines(pairs.rows)

    def _own(self, state: VotingState) -> OwnVectors:
        """The vectors of the open entities; made anew where others are open."""
        from mixtea.vote.own_vectors import OwnVectors

        if self._seen is None or self._seen[0] is not state.entities:
            self._seen = (state.entities, OwnVectors(self.task, self.config, state.entities))
        return self._seen[1]

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """The cosine, and where the pair stands among the stored candidates of its source and of its target."""
        cosine = float(self._cosines(np.array([source]), np.array([target]))[0]) if self.has_needed() else np.nan
        if np.isnan(cosine) or self.known is None:
            return ()
        ranks = []
        for own, end in ((self.known.source, source), (self.known.target, target)):
            at = own == end
            ranks.append(1 + int((self._cosines(self.known.source[at], self.known.target[at]) > cosine).sum()))
        said = f"number {ranks[0]} among the targets and {ranks[1]} among the sources that were looked at"
        return [Evidence(f"the cosine of the given vectors, {said}", cosine)]

    def _cosines(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Of pairs by numbers in their own graphs, without torch."""
        ends = [g.vectors[i].astype(np.float64) for g, i in ((self.task.source, source), (self.task.target, target))]
        first, second = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in ends)
        return (first * second).sum(axis=1)

    def cost(self) -> Cost:
        """Two products of the given vectors, once, which is little beside those of every epoch."""
        item = 8 if self.config.precision == "float64" else 4
        return Cost(mib=item * (self.task.source.vectors.size + self.task.target.vectors.size) / 2**20)
