"""Which voters speak, and whose word tells nothing, in words. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mixtea.vote.likeness import LikenessVoter
from mixtea.vote.voter import Voter

WORTH_SAYING = 0.05  # of the links: a smaller share that misleads is usual


def who_speaks(voters: Sequence[Voter]) -> str:
    """A line: who has what it needs, those who compare entities with how many of each side, and who is silent."""
    speaking = [voter for voter in voters if voter.has_needed()]
    silent = [voter.name for voter in voters if voter not in speaking]
    said = ", ".join(voter.name + _coverage(voter) for voter in speaking)
    return f"voters: {said or 'nobody'}" + (f"; silent: {', '.join(silent)}" if silent else "")


def _coverage(voter: Voter) -> str:
    if not isinstance(voter, LikenessVoter):
        return ""
    n_source, n_target = (int(has.sum()) for has in voter.opinions().has)
    return f" (of {n_source:,} source and {n_target:,} target entities)"


def misleading(voters: Sequence[Voter]) -> dict[str, float]:
    """By voter that compares entities: the share of the links for which that tells nothing; after learning."""
    comparing = [voter for voter in voters if isinstance(voter, LikenessVoter) and voter.has_needed()]
    return {voter.name: float(voter.opinions().table.misleading) for voter in comparing}


def misleading_lines(shares: Mapping[str, float]) -> list[str]:
    """A line for each voter whose share is worth saying.

    >>> misleading_lines({"names": 0.502, "attributes": 0.01})
    ['names tell nothing for about 50 % of the links']
    """
    return [
        f"{name} tell nothing for about {share:.0%} of the links".replace("%", " %")
        for name, share in shares.items()
        if share > WORTH_SAYING
    ]
