"""Voters by name: our own, those that `register` was told of, and those that installed packages bring."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, packages_distributions, version
from typing import TypeVar

from mixtea.errors import ConfigError, MissingVoterError
from mixtea.vote.voter import Voter

GROUP = "mixtea.voters"  # of entry points: `alphabet = "package.module:Alphabet"`
BUILT_IN = {
    "forward": "mixtea.vote.vectors:Forward",
    "backward": "mixtea.vote.vectors:Backward",
    "propagation": "mixtea.vote.propagation:Propagation",
    "agreement": "mixtea.vote.agreement:Agreement",
    "names": "mixtea.vote.names:Names",
    "attributes": "mixtea.vote.attributes:Attributes",
    "descriptions": "mixtea.vote.descriptions:Descriptions",
    "reviewer": "mixtea.vote.reviewer:Reviewer",
}
TAKEN = ("vectors", "agreed")  # names that mean something else; in the history also votes_of_1, votes_of_2, ...
_registered: dict[str, type[Voter]] = {}
V = TypeVar("V", bound=type[Voter])


def register(voter: V) -> V:
    """Make a voter known by its name, as a decorator of its class; the last of a name counts.

    >>> @register
    ... class Nobody(Voter):
    ...     name = "nobody"
    >>> voter_named("nobody") is Nobody
    True
    """
    if not (isinstance(voter, type) and issubclass(voter, Voter)):
        raise TypeError("register needs a class that is a Voter")
    taken = voter.name in BUILT_IN or voter.name in TAKEN or voter.name.startswith("of_")
    if taken or not voter.name.isidentifier():
        raise ConfigError(f"{voter.name!r} is no name for a voter of one's own. Choose another word, of letters and _.")
    _registered[voter.name] = voter
    return voter


def voter_named(name: str, package: str = "") -> type[Voter]:
    """The class of a voter; an error names the package that it came from, if that is known."""
    if name in BUILT_IN:
        module, _, kind = BUILT_IN[name].partition(":")
        return getattr(import_module(module), kind)
    if name in _registered:
        return _registered[name]
    point = _entry_points().get(name)
    if point is None:
        raise MissingVoterError(_unknown(name, package))
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"The voter {name!r} cannot be loaded from {point.value}: {error}.") from error
    if not (isinstance(found, type) and issubclass(found, Voter) and found.name == name):
        raise ConfigError(f"The package behind the voter {name!r} ({point.value}) brings no Voter of that name.")
    return found


def _unknown(name: str, package: str) -> str:
    if package:
        return f"The voter {name!r} is of the package {package}, which is not here. Install or import it."
    return (
        f"There is no voter {name!r}. There are {', '.join(known_voters())}; a package can bring more (docs/voters.md)."
    )


def known_voters() -> list[str]:
    """The names of all voters that there are here."""
    return [*BUILT_IN, *sorted({*_registered, *_entry_points()} - BUILT_IN.keys())]


def package_of(name: str) -> str:
    """The package that a voter comes from, with its version if it has one; empty for our own."""
    if name in BUILT_IN:
        return ""
    module = voter_named(name).__module__.partition(".")[0]
    found = packages_distributions().get(module, [])
    return f"{found[0]} {version(found[0])}" if found else module


def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
