"""Which voters speak, and whose word tells nothing, in words. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from mixtea.compute.intervals import interval_text
from mixtea.council.adapt import has_structure
from mixtea.errors import DataError
from mixtea.graph.task import Task
from mixtea.progress import doing
from mixtea.voters.base import Voter, is_independent
from mixtea.voters.learned_text import LearnedView
from mixtea.voters.similarity import SimilarityVoter

WORTH_SAYING = 0.05  # of the links: a smaller share that misleads is usual


def who_speaks(voters: Sequence[Voter]) -> str:
    """A line: who has what it needs, those who compare entities with how many of each side, and who is silent."""
    doing(f"what {', '.join(voter.name for voter in voters)} can compare")
    speaking = [voter for voter in voters if voter.is_applicable()]
    silent = [voter.name for voter in voters if voter not in speaking]
    said = ", ".join(voter.name + _coverage(voter) for voter in speaking)
    return f"voters: {said or 'nobody'}" + (f"; silent: {', '.join(silent)}" if silent else "")


def _coverage(voter: Voter) -> str:
    counts = voter.compared()
    return "" if counts is None else f" (of {counts[0]:,} source and {counts[1]:,} target entities)"


def misleading(voters: Sequence[Voter]) -> dict[str, float]:
    """By voter that compares entities: the share of the links for which that tells nothing; after learning."""
    return {voter.name: found[0] for voter in voters if (found := voter.misleading()) is not None}


def misleading_links(voters: Sequence[Voter]) -> dict[str, int]:
    """By voter that compares entities: how many links that share was found by."""
    return {voter.name: found[1] for voter in voters if (found := voter.misleading()) is not None}


def learned_views(voters: Sequence[Voter]) -> dict[str, LearnedView]:
    """By voter that compares texts: what it has learned; after learning."""
    found = {voter.name: voter.view() for voter in voters if isinstance(voter, SimilarityVoter)}
    return {name: view for name, view in found.items() if view is not None}


def misleading_lines(shares: Mapping[str, float], n_links: Mapping[str, int] = MappingProxyType({})) -> list[str]:
    """A line for each voter whose share is worth saying, with an interval where few links stand behind it.

    >>> misleading_lines({"names": 0.502, "attributes": 0.01}, {"names": 195})
    ['names tell nothing for about 50 % (43 %–57 %) of the links']
    """
    return [
        f"{name} tell nothing for about {share:.0%}"
        f"{interval_text(share, n_links.get(name), '{:.0%}')} of the links".replace("%", " %")
        for name, share in shares.items()
        if share > WORTH_SAYING
    ]


def check_begins(task: Task, voters: Sequence[Voter]) -> None:
    """Refuse to learn from nothing: without training links, or relation triples, somebody has to find entities alike.

    Training links are enough where both graphs have relation triples.
    """
    able = [voter for voter in voters if is_independent(voter)]
    if not len(task.train):
        if task.links_from != "names":
            raise DataError(f"{task.name}: no training link. Give at least a few, or find them by names (links_from).")
        if not able:
            raise DataError(f"{task.name}: no training link. Give at least a few, or let names vote and decode.")
        _check_comparable(task, "training link", able, "links")
    elif not has_structure(task):
        _check_comparable(task, "relation triple", voters, "relations")


def _check_comparable(task: Task, missing: str, voters: Sequence[Voter], wanted: str) -> None:
    if not any(voter.is_applicable() for voter in voters):
        silent = ", ".join(voter.name for voter in voters)
        raise DataError(
            f"{task.name}: no {missing}, and nothing that both graphs say of their entities is comparable "
            f"(voters without a word: {silent}). Give {wanted}, names (names_source, names_target) or vectors."
        )


def who_decides(voters: Sequence[Voter]) -> str:
    """A line about a task without relation triples: who is left to decide."""
    speaking = " and ".join(voter.name for voter in voters if voter.is_applicable())
    return f"no relation triples: structure has nothing to learn from; {speaking or 'nobody'} decide"
