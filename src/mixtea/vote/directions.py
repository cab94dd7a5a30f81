"""The paper's two voters: the teacher's nearest neighbours, from source to target and from target to source."""

from __future__ import annotations

import torch
from torch import Tensor

from mixtea.compute.nearest import approximate
from mixtea.compute.similarity import best_both_ways, groups_of_equal_rows
from mixtea.vote.votes import Votes, no_votes


@torch.no_grad()
def directions(
    source: Tensor, target: Tensor, *, tied_votes: str = "one", search: str = "exact", mib: int | None = None
) -> tuple[Votes, Votes]:
    """g(M) and g(M^T)^T of Eq. 12, M = source @ target.T for unit vectors [n, d], [m, d] (Eq. 9): one vote of 1 a row.

    With tied_votes="all", every twin of a best match, a row with exactly the same vector, gets the vote too. `search`
    other than "exact" finds best matches approximately.
    """
    shape = (len(source), len(target))
    if 0 in shape:
        return no_votes(shape, source), no_votes(shape, source)
    rows, columns = (torch.arange(k, device=source.device) for k in shape)
    if search == "exact":
        best = best_both_ways(source, target, mib=mib)
        forward, backward = (rows, best.target), (best.source, columns)
    else:
        forward = (rows, approximate(source, target, 1, search)[:, 0])
        backward = (approximate(target, source, 1, search)[:, 0], columns)
    if tied_votes == "all":
        forward = _with_twins(*forward, target)
        backward = _with_twins(*backward[::-1], source)[::-1]
    first, second = (Votes(s, t, source.new_ones(len(s)), shape) for s, t in (forward, backward))
    return first, second


def _with_twins(voter: Tensor, chosen: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The pairs (voter, chosen) and (voter, twin) for every row of `vectors` equal to the chosen one."""
    groups = groups_of_equal_rows(vectors)
    if len(groups.size) == len(vectors):
        return voter, chosen
    found = groups.of[chosen]
    copies = groups.size[found]
    which = torch.arange(int(copies.sum()), device=chosen.device)
    within = which - (copies.cumsum(0) - copies).repeat_interleave(copies)
    return voter.repeat_interleave(copies), groups.members[groups.start[found].repeat_interleave(copies) + within]
