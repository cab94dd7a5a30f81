"""Sparse votes: proposed mappings, their confidence, and their voters."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mixtea.compute.array_checks import check_scores
from mixtea.compute.arrays import State, as_array, as_arrays, checked_rows
from mixtea.compute.pairs import positions


@dataclass(frozen=True, eq=False)
class Votes:
    """Proposed mappings between n source and m target rows, each pair at most once.

    `source`, `target` are int64 rows, `confidence` has the vectors' dtype. `voters` are those of each vote: bool
    [votes, voters], true in column k where voter k agreed.
    """

    source: Tensor
    target: Tensor
    confidence: Tensor
    shape: tuple[int, int]
    voters: Tensor | None = None

    def __len__(self) -> int:
        return len(self.confidence)

    def row_sum(self) -> Tensor:
        """Return [n]: the total confidence of each source row."""
        return self.confidence.new_zeros(self.shape[0]).index_add_(0, self.source, self.confidence)

    def column_sum(self) -> Tensor:
        """Return [m]: the total confidence of each target row."""
        return self.confidence.new_zeros(self.shape[1]).index_add_(0, self.target, self.confidence)

    def of_rows(self, rows: Tensor) -> Votes:
        """Return the votes of some source rows, which become rows 0, 1, 2, ..."""
        place = positions(rows, self.shape[0])
        return self._where(place[self.source] >= 0, place, (len(rows), self.shape[1]))

    def among_first(self, n: int, m: int) -> Votes:
        """Return the votes between the first n source rows and the first m target rows."""
        if (n, m) == self.shape:
            return self
        inside = (self.source < n) & (self.target < m)
        return self._where(inside, torch.arange(self.shape[0], device=self.source.device), (n, m))

    def _where(self, kept: Tensor, place: Tensor, shape: tuple[int, int]) -> Votes:
        voters = None if self.voters is None else self.voters[kept]
        return Votes(place[self.source[kept]], self.target[kept], self.confidence[kept], shape, voters)

    def to_dense(self) -> Tensor:
        """Return the matrix P [n, m], to look at small examples."""
        dense = self.confidence.new_zeros(self.shape)
        return dense.index_put_((self.source, self.target), self.confidence, accumulate=True)

    def state_dict(self) -> State:
        """Return plain arrays, for a checkpoint."""
        voters = None if self.voters is None else as_array(self.voters)
        parts = {"source": self.source, "target": self.target, "confidence": self.confidence}
        return as_arrays(parts) | {"shape": list(self.shape), "voters": voters}


def votes_of_state(state: State, shape: tuple[int, int], n_voters: int, like: Tensor, precision: str) -> Votes:
    """Restore votes from a `state_dict`; ValueError if they do not fit so many rows and voters."""
    if tuple(state["shape"]) != shape:
        raise ValueError("votes about other entities")
    check_scores("confidence", state["confidence"], precision)
    source, target = checked_rows(state["source"], shape[0], like), checked_rows(state["target"], shape[1], like)
    confidence = torch.from_numpy(state["confidence"]).to(like.device)
    voters = None if state["voters"] is None else torch.from_numpy(state["voters"]).to(like.device)
    if voters is not None and (voters.dtype != torch.bool or voters.shape[1:] != (n_voters,)):
        raise ValueError("votes of unknown voters")
    if any(len(part) != len(source) for part in (target, confidence, voters) if part is not None):
        raise ValueError("votes of different lengths")
    return Votes(source, target, confidence, shape, voters)


def no_votes(shape: tuple[int, int], like: Tensor, n_voters: int = 2) -> Votes:
    empty = torch.empty(0, dtype=torch.int64, device=like.device)
    voters = torch.empty(0, n_voters, dtype=torch.bool, device=like.device)
    return Votes(empty, empty, like.new_empty(0), shape, voters)
