"""Sparse votes: who proposes which mapping, and how strongly."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mixtea.compute.pairs import places


@dataclass(frozen=True, eq=False)
class Votes:
    """Proposed mappings between n source and m target rows, each pair at most once.

    `source`, `target` are int64 rows, `confidence` has the vectors' dtype. `voters` remembers who cast each vote as
    bits: bit k is set where voter k agreed.
    """

    source: Tensor
    target: Tensor
    confidence: Tensor
    shape: tuple[int, int]
    voters: Tensor | None = None

    def __len__(self) -> int:
        return len(self.confidence)

    def row_sum(self) -> Tensor:
        """[n]: the confidence that each source row has cast in all."""
        return self.confidence.new_zeros(self.shape[0]).index_add_(0, self.source, self.confidence)

    def column_sum(self) -> Tensor:
        """[m]: the confidence that each target row has received in all."""
        return self.confidence.new_zeros(self.shape[1]).index_add_(0, self.target, self.confidence)

    def of_rows(self, rows: Tensor) -> Votes:
        """The votes of some source rows, which become rows 0, 1, 2, ..."""
        place = places(rows, self.shape[0])
        kept = place[self.source] >= 0
        voters = None if self.voters is None else self.voters[kept]
        shape = (len(rows), self.shape[1])
        return Votes(place[self.source[kept]], self.target[kept], self.confidence[kept], shape, voters)

    def to_dense(self) -> Tensor:
        """The matrix P [n, m]; for looking at small examples."""
        dense = self.confidence.new_zeros(self.shape)
        return dense.index_put_((self.source, self.target), self.confidence, accumulate=True)


def no_votes(shape: tuple[int, int], like: Tensor) -> Votes:
    empty = torch.empty(0, dtype=torch.int64, device=like.device)
    return Votes(empty, empty, like.new_empty(0), shape, empty)
