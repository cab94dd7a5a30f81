"""Votes, those of the paper's two voters, and what other voters give, as pairs of open entities and tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mixtea.callbacks import report_step
from mixtea.compute.arrays import State, as_arrays, check_scores, checked_rows, to_tensor
from mixtea.compute.nearest import approximate, cosines, nearest_pairs
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.compute.similarity import best_both_ways, groups_of_equal_rows
from mixtea.errors import FullMemoryError, is_full_memory
from mixtea.voters.base import MAX_SCORE, Voter, VotingState
from mixtea.voters.registry import voter_error

Ends = tuple[Tensor, Tensor]  # source rows, target rows


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


@torch.no_grad()
def directions(
    source: Tensor,
    target: Tensor,
    *,
    tied_votes: str = "one",
    search: str = "exact",
    rejected: ScoredPairs | None = None,
    mib: int | None = None,
) -> tuple[ScoredPairs, ScoredPairs]:
    """Compute g(M) and g(M^T)^T of Eq. 12, M = source @ target.T for unit vectors [n, d], [m, d] (Eq. 9).

    Each row has one vote of 1. With tied_votes="all", every twin of a best match, a row with exactly the same vector,
    gets the vote too. `search` other than "exact" finds best matches approximately. Pairs that were `rejected` get no
    vote: the next best does.
    """
    shape = (len(source), len(target))
    if 0 in shape:
        return no_votes(shape, source), no_votes(shape, source)
    if rejected is not None and len(rejected):
        forward, backward = _best_without(source, target, rejected, mib)
    else:
        forward, backward = _best(source, target, search, mib)
    if tied_votes == "all":
        forward = _with_twins(*forward, target)
        backward = _with_twins(*backward[::-1], source)[::-1]
    if rejected is not None and len(rejected):  # a twin may have been rejected
        forward, backward = (_allowed(ends, rejected) for ends in (forward, backward))
    first, second = (make_votes(s, t, source.new_ones(len(s)), shape) for s, t in (forward, backward))
    return first, second


def _best(source: Tensor, target: Tensor, search: str, mib: int | None) -> tuple[Ends, Ends]:
    rows, columns = (torch.arange(len(side), device=source.device) for side in (source, target))
    if search == "exact":
        best = best_both_ways(source, target, mib=mib)
        return (rows, best.target_of), (best.source_of, columns)
    forward, backward = (approximate(a, b, 1, search)[:, 0] for a, b in ((source, target), (target, source)))
    return (rows, forward), (backward, columns)


def _best_without(source: Tensor, target: Tensor, rejected: ScoredPairs, mib: int | None) -> tuple[Ends, Ends]:
    """Find the best of each row without the rejected pairs, among enough near ones."""
    most = max(int(torch.bincount(side).max()) for side in (rejected.source, rejected.target))
    near = nearest_pairs(source, target, most + 1, mib=mib).without(rejected)
    scores = cosines(source, target, near)
    best = (near.where(kept) for kept in (near.best_of_rows(scores), near.best_of_columns(scores)))
    forward, backward = ((pairs.source, pairs.target) for pairs in best)
    return forward, backward


def _allowed(ends: Ends, rejected: ScoredPairs) -> Ends:
    kept = ~rejected.find(*ends)[1]
    return ends[0][kept], ends[1][kept]


def _with_twins(voter: Tensor, chosen: Tensor, vectors: Tensor) -> Ends:
    """Return the pairs (voter, chosen) and (voter, twin) for every row of `vectors` equal to the chosen one."""
    groups = groups_of_equal_rows(vectors)
    if len(groups.size) == len(vectors):
        return voter, chosen
    found = groups.of[chosen]
    copies = groups.size[found]
    which = torch.arange(int(copies.sum()), device=chosen.device)
    within = which - (copies.cumsum(0) - copies).repeat_interleave(copies)
    return voter.repeat_interleave(copies), groups.members[groups.start[found].repeat_interleave(copies) + within]


def proposed_pairs(voters: Sequence[Voter], state: VotingState) -> list[ScoredPairs]:
    """Return the candidates of each opinion, by open indices, of its first voter that proposes any.

    Entity indices are converted; entities that are not open are left out.
    """
    proposing = {voter.opinion: voter for voter in reversed(voters) if voter.proposes and voter.has_inputs}
    found = [_ask(voter, "candidates", voter.propose, state) for voter in proposing.values()]
    return [
        pairs if isinstance(pairs, ScoredPairs) else state.entities.of_entities(pairs)
        for pairs in found
        if pairs is not None
    ]


def all_scores(voters: Iterable[Voter], asked: ScoredPairs, state: VotingState) -> dict[str, Tensor]:
    """Return the scores of the voters, by opinion; NaN of one without inputs, which is not asked."""
    unknown = torch.full((len(asked),), torch.nan, dtype=getattr(torch, state.config.precision))
    return {
        voter.opinion: voter_scores(voter, asked, state) if voter.has_inputs else unknown.to(asked.source.device)
        for voter in voters
    }


def voter_scores(voter: Voter, asked: ScoredPairs, state: VotingState) -> Tensor:
    """Return a voter's scores as a tensor of the vectors' dtype, NaN for no opinion."""
    given = _ask(voter, "comparing", voter.score, asked, state)
    found = given if isinstance(given, Tensor) else to_tensor(np.array(given, dtype=np.float64))
    found = found.to(asked.source.device, getattr(torch, state.config.precision))
    if (found.abs() > MAX_SCORE).any():
        raise voter_error(
            voter.name, "must score by numbers between -1e6 and 1e6, or NaN for no opinion; it gave others"
        )
    return found


def learn_from_sure(voters: Iterable[Voter], state: VotingState) -> None:
    """Let the voters learn from the sure pairs of a state."""
    for voter in voters:
        if voter.has_inputs:
            _ask(voter, f"learning from {len(state.sure):,} sure pairs", voter.learn, state)


def _ask(voter: Voter, doing: str, method: Callable[..., Any], *given: Any) -> Any:
    """Report what a voter is doing and call it; name it where it fills memory, unless other advice was given."""
    report_step(f"{voter.name}: {doing}")
    try:
        return method(*given)
    except (RuntimeError, MemoryError) as error:
        if not is_full_memory(error):
            raise
        advice = f"The voter {voter.name} fills it: leave it out of the setting voters, or use a machine with more"
        raise FullMemoryError(f"Memory is full. {advice} memory.") from error
