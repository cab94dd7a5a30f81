"""The paper's two voters: the teacher's nearest neighbours, from source to target and from target to source."""

from __future__ import annotations

import torch
from torch import Tensor

from mixtea.compute.nearest import approximate, cosines, nearest_pairs
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.compute.similarity import best_both_ways, groups_of_equal_rows
from mixtea.voters.votes import make_votes, no_votes

Ends = tuple[Tensor, Tensor]  # source rows, target rows


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
