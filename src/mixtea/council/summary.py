"""Summary of active voters and how informative each is. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from mixtea.callbacks import report_step
from mixtea.compute.intervals import interval_text
from mixtea.council.adapt import has_structure
from mixtea.errors import DataError
from mixtea.graph.task import Task
from mixtea.voters.base import Voter
from mixtea.voters.learned import LearnedView
from mixtea.voters.similarity import SimilarityVoter

MIN_SHARE_REPORTED = 0.05  # of misleading links; less is usual


def voters_line(voters: Sequence[Voter]) -> str:
    """Describe in a line the applicable voters, their coverage of each side, and the voters without evidence."""
    report_step(f"what {', '.join(voter.name for voter in voters)} can compare")
    active = [voter for voter in voters if voter.is_applicable()]
    inactive = [voter.name for voter in voters if voter not in active]
    described = ", ".join(voter.name + _coverage(voter) for voter in active)
    return f"voters: {described or 'none'}" + (f"; without evidence: {', '.join(inactive)}" if inactive else "")


def _coverage(voter: Voter) -> str:
    counts = voter.compared()
    return "" if counts is None else f" (of {counts[0]:,} source and {counts[1]:,} target entities)"


def misleading_shares(voters: Sequence[Voter]) -> dict[str, float]:
    """Return by voter that compares entities, after learning, the share of the links on which that is uninformative."""
    return {voter.name: found[0] for voter in voters if (found := voter.misleading()) is not None}


def misleading_links(voters: Sequence[Voter]) -> dict[str, int]:
    """Return by voter that compares entities the number of links behind that share."""
    return {voter.name: found[1] for voter in voters if (found := voter.misleading()) is not None}


def learned_views(voters: Sequence[Voter]) -> dict[str, LearnedView]:
    """Return by voter that compares texts what it has learned; after learning."""
    found = {voter.name: voter.view() for voter in voters if isinstance(voter, SimilarityVoter)}
    return {name: view for name, view in found.items() if view is not None}


def misleading_lines(shares: Mapping[str, float], n_links: Mapping[str, int] = MappingProxyType({})) -> list[str]:
    """Format a line for each voter with a share worth reporting, with an interval where few links are behind it.

    >>> misleading_lines({"names": 0.502, "attributes": 0.01}, {"names": 195})
    ['names are uninformative for about 50 % (43 %–57 %) of the links']
    """

    def line(name: str, share: float) -> str:
        interval = interval_text(share, n_links.get(name), "{:.0%}")
        return f"{name} are uninformative for about {share:.0%}{interval} of the links".replace("%", " %")

    return [line(name, share) for name, share in shares.items() if share > MIN_SHARE_REPORTED]


def check_can_train(task: Task, voters: Sequence[Voter]) -> None:
    """Refuse to learn from nothing: without training links or relation triples, some voter has to compare entities.

    Training links are enough where both graphs have relation triples.
    """
    able = [voter for voter in voters if voter.is_independent]
    if not len(task.train):
        if task.links_from != "names":
            raise DataError(f"{task.name}: no training link. Give at least a few, or find them by names (links_from).")
        if not able:
            raise DataError(f"{task.name}: no training link. Give at least a few, or let names vote and decode.")
        _check_comparable(task, "training link", able, "links")
    elif not has_structure(task):
        _check_comparable(task, "relation triple", voters, "relations")


def _check_comparable(task: Task, missing: str, voters: Sequence[Voter], advice: str) -> None:
    if not any(voter.is_applicable() for voter in voters):
        inactive = ", ".join(voter.name for voter in voters)
        raise DataError(
            f"{task.name}: no {missing}, and nothing that both graphs say of their entities is comparable "
            f"(voters without evidence: {inactive}). Give {advice}, names (names_source, names_target) or vectors."
        )


def no_structure_line(voters: Sequence[Voter]) -> str:
    """Describe in a line, for a task without relation triples, which voters are left to decide."""
    active = " and ".join(voter.name for voter in voters if voter.is_applicable())
    return f"no relation triples: structure has nothing to learn from; {active or 'none'} decide"
