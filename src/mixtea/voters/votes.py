"""Votes: sparse pairs with the columns `confidence` and, where they are known, `voters`."""

from __future__ import annotations

import torch
from torch import Tensor

from mixtea.compute.array_checks import check_scores
from mixtea.compute.arrays import State, as_arrays, checked_rows
from mixtea.compute.scored_pairs import ScoredPairs


def make_votes(
    source: Tensor, target: Tensor, confidence: Tensor, shape: tuple[int, int], voters: Tensor | None = None
) -> ScoredPairs:
    """Make proposed mappings between n source and m target rows, each pair at most once.

    `source`, `target` are int64 rows, `confidence` has the vectors' dtype. `voters` are those of each vote: bool
    [votes, voters], true in column k where voter k agreed.
    """
    columns = {"confidence": confidence} | ({} if voters is None else {"voters": voters})
    return ScoredPairs(source, target, shape, columns)


def votes_state(votes: ScoredPairs) -> State:
    """Return plain arrays, for a checkpoint."""
    parts = {"source": votes.source, "target": votes.target, **votes.columns}
    return {"voters": None, **as_arrays(parts), "shape": list(votes.shape)}


def votes_of_state(state: State, shape: tuple[int, int], n_voters: int, like: Tensor, precision: str) -> ScoredPairs:
    """Restore votes from a `votes_state`; ValueError if they do not fit so many rows and voters."""
    if tuple(state["shape"]) != shape:
        raise ValueError("votes about other entities")
    check_scores("confidence", state["confidence"], precision)
    source, target = checked_rows(state["source"], shape[0], like), checked_rows(state["target"], shape[1], like)
    columns = {name: state[name] for name in ("confidence", "voters") if state[name] is not None}
    if "voters" in columns and (columns["voters"].dtype != bool or columns["voters"].shape[1:] != (n_voters,)):
        raise ValueError("votes of unknown voters")
    if any(len(part) != len(source) for part in (target, *columns.values())):
        raise ValueError("votes of different lengths")
    return ScoredPairs(source, target, shape, columns).to(like)


def no_votes(shape: tuple[int, int], like: Tensor, n_voters: int = 2) -> ScoredPairs:
    empty = torch.empty(0, dtype=torch.int64, device=like.device)
    voters = torch.empty(0, n_voters, dtype=torch.bool, device=like.device)
    return make_votes(empty, empty, like.new_empty(0), shape, voters)
