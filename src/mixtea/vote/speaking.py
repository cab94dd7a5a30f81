"""Which voters speak, and whose word tells nothing, in words. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from mixtea.compute.intervals import beside
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
    return {voter.name: float(voter.opinions().table.misleading) for voter in _comparing(voters)}


def misleading_links(voters: Sequence[Voter]) -> dict[str, int]:
    """By voter that compares entities: how many links that share was found by."""
    return {voter.name: int(voter.opinions().table.n_links) for voter in _comparing(voters)}


def _comparing(voters: Sequence[Voter]) -> list[LikenessVoter]:
    return [voter for voter in voters if isinstance(voter, LikenessVoter) and voter.has_needed()]


def misleading_lines(shares: Mapping[str, float], n_links: Mapping[str, int] = MappingProxyType({})) -> list[str]:
    """A line for each voter whose share is worth saying, with an interval where few links stand behind it.

    >>> misleading_lines({"names": 0.502, "attributes": 0.01}, {"names": 195})
    ['names tell nothing for about 50 % (43 %–57 %) of the links']
    """
    return [
        f"{name} tell nothing for about {share:.0%}{beside(share, n_links.get(name), '{:.0%}')} of the links".replace(
            "%", " %"
        )
        for name, share in shares.items()
        if share > WORTH_SAYING
    ]
