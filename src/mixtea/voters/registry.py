"""Voters by name: our own, those of `register`, and those of installed packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, packages_distributions, version
from typing import TypeVar

from mixtea.errors import ConfigError, MissingVoterError, VoterError
from mixtea.messages import visible
from mixtea.voters.base import EvidenceKind, Voter

ENTRY_POINT_GROUP = "mixtea.voters"  # of entry points: `alphabet = "package.module:Alphabet"`
BUILT_IN = {
    "forward": "mixtea.voters.structure:Forward",
    "backward": "mixtea.voters.structure:Backward",
    "propagation": "mixtea.voters.structure:Propagation",
    "agreement": "mixtea.voters.structure:Agreement",
    "names": "mixtea.voters.names:Names",
    "attributes": "mixtea.voters.attributes:Attributes",
    "descriptions": "mixtea.voters.user_vectors:Descriptions",
    "domain_range": "mixtea.voters.domain_range:DomainRange",
    "keys": "mixtea.voters.stated:Keys",
    "reviewer": "mixtea.voters.stated:Reviewer",
}
MAX_REASON_LENGTH = 300  # characters of another package's error that are shown
RESERVED_NAMES = (
    "vectors",
    "agreed",
)  # names that mean something else; in the history also votes_of_1, votes_of_2, ...
_registered: dict[str, type[Voter]] = {}
V = TypeVar("V", bound=type[Voter])


def register(voter: V) -> V:
    """Register the class of a voter by its name, as a decorator; the last of a name counts.

    >>> @register
    ... class Nobody(Voter):
    ...     name = "nobody"
    >>> voter_class("nobody") is Nobody
    True
    """
    if not (isinstance(voter, type) and issubclass(voter, Voter)):
        raise TypeError("register needs a class that is a Voter")
    name = voter.name
    if (
        not isinstance(name, str)
        or not name.isidentifier()
        or name in (*BUILT_IN, *RESERVED_NAMES)
        or name.startswith("of_")
    ):
        raise ConfigError(f"{name!r} cannot name a voter. Choose another word of letters, digits and _.")
    _registered[name] = voter
    return voter


def voter_class(name: str, package: str = "") -> type[Voter]:
    """Return the class of a voter; an error names the package that it came from, if known."""
    if name in BUILT_IN:
        module, _, kind = BUILT_IN[name].partition(":")
        return getattr(import_module(module), kind)
    if name in _registered:
        return _registered[name]
    point = _entry_points().get(name)
    if point is None:
        raise MissingVoterError(_unknown(name, package))
    with voter_errors(name, f"when it was loaded from {point.value}"):
        found = point.load()
        is_one = isinstance(found, type) and issubclass(found, Voter) and bool(found.name == name)
    if not is_one:
        raise voter_error(name, f"cannot be used: {point.value} is not a Voter of that name")
    return found


@contextmanager
def voter_errors(name: str, when: str) -> Iterator[None]:
    """Turn whatever code from outside raises, but for Ctrl-C, into a VoterError with that as its cause."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise voter_error(name, f"failed {when}: {_described(error)}") from error


def voter_error(name: str, what: str) -> VoterError:
    """Make the error of a voter, which names it and its package."""
    whose = f"{name!r} of the package {package}" if (package := package_of(name)) else repr(name)
    return VoterError(f"The voter {whose} {what}. Fix or update it, or remove it from the voters.")


def _described(error: BaseException) -> str:
    """Describe an error by its type and its text, if that can be had."""
    text = ""
    with suppress(Exception):
        text = visible(error, MAX_REASON_LENGTH).rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _unknown(name: str, package: str) -> str:
    if package:
        return f"The voter {name!r} comes from the package {package}, which is not available. Install or import it."
    return (
        f"There is no voter {name!r}. There are {', '.join(known_voters())}; a package can bring more (docs/voters.md)."
    )


@cache
def built_in_evidence() -> dict[str, EvidenceKind]:
    """Return the kind of evidence of our own voters, by opinion."""
    voters = map(voter_class, BUILT_IN)
    return {voter.score_group or voter.name: voter.evidence for voter in voters}


def outside_evidence(voters: Iterable[Voter]) -> dict[str, EvidenceKind]:
    """Return the kind of evidence of the voters from outside, by opinion."""
    return {voter.opinion: voter.evidence for voter in voters if voter.name not in BUILT_IN}


def known_voters() -> list[str]:
    """Return the names of all available voters."""
    return [*BUILT_IN, *sorted({*_registered, *_entry_points()} - BUILT_IN.keys())]


def package_of(name: str) -> str:
    """Return the package of a voter, with its version if it has one; "" for our own."""
    if name in BUILT_IN:
        return ""
    kind, point = _registered.get(name), _entry_points().get(name)
    module = (kind.__module__ if kind else point.value if point else name).partition(":")[0].partition(".")[0]
    with suppress(Exception):  # what is written about installed packages may be damaged
        if kind is None and point is not None and point.dist is not None and point.dist.name:
            return f"{point.dist.name} {point.dist.version}"
        distribution = packages_distributions()[module][0]
        return f"{distribution} {version(distribution)}"
    return module or "without a name"


def _entry_points() -> dict[str, EntryPoint]:
    try:
        return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    except Exception as error:
        raise VoterError(
            f"The voters of installed packages cannot be read ({_described(error)}). Fix the package."
        ) from error
