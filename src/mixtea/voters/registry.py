"""Voters by name: our own, those of `register`, and those of installed packages.

Those from outside get read-only inputs, and their outputs are checked. No torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, packages_distributions, version
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from mixtea.compute.arrays import read_only
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.errors import ConfigError, MissingVoterError, VoterError
from mixtea.graph.task import Task
from mixtea.messages import visible, whole_text
from mixtea.voters.base import (
    EVIDENCE_KINDS,
    INPUT_SIZES,
    MAX_SCORE,
    Cost,
    Evidence,
    EvidenceKind,
    Voter,
    VotingState,
)

if TYPE_CHECKING:
    from mixtea.config import Config

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
RESERVED_NAMES = ("vectors", "agreed")  # they mean something else; in the history also votes_of_1, votes_of_2, ...
_registered: dict[str, type[Voter]] = {}
V = TypeVar("V", bound=type[Voter])
_TASKS: WeakKeyDictionary[Task, Task] = WeakKeyDictionary()  # by task, the one that is handed out
MEMBER_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {  # what each must be, and that in words
    "score_group": (lambda found: found == "" or found.isidentifier(), "a word of letters and _"),
    "votes_for": (lambda found: set(found) <= {"target", "source"}, "target, source, or both, in a tuple"),
    "needs": (
        lambda found: set(found) <= {"vectors", *INPUT_SIZES},
        f"some of vectors, {', '.join(INPUT_SIZES)}, in a tuple",
    ),
    "uses_belief": (lambda found: isinstance(found, bool), "true or false"),
    "is_calibrated": (lambda found: isinstance(found, bool), "true or false"),
    "evidence": (lambda found: found in EVIDENCE_KINDS, f"one of {', '.join(EVIDENCE_KINDS)}"),
    "leaves_links_out": (lambda found: isinstance(found, bool), "true or false"),
}
ResultT = TypeVar("ResultT")


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


def task_view(task: Task) -> Task:
    """Return the task with read-only arrays; the same object each time, for caches by task."""
    if task not in _TASKS:
        _TASKS[task] = read_only(task)
    return _TASKS[task]


class PluginBelief(NamedTuple):
    """The estimated probability p of some pairs, in [0, 1]."""

    pairs: ScoredPairs
    p: np.ndarray


class PluginState:
    """A `VotingState` for a voter from outside; arrays are made of its tensors on first use."""

    def __init__(self, state: VotingState) -> None:
        self._state = state
        self.task, self.config, self.generator = task_view(state.task), state.config, state.generator
        self.epoch, self.rough = state.epoch, state.rough

    @cached_property
    def vectors(self) -> np.ndarray | None:
        return read_only(self._state.vectors)

    @cached_property
    def belief(self) -> PluginBelief | None:
        belief = self._state.belief
        if belief is None:
            return None
        held = read_only(belief.by_entity)
        return PluginBelief(held, held.p)

    @cached_property
    def sure(self) -> np.ndarray:
        return read_only(self._state.sure)


def make_voter(name: str, task: Task, config: Config, package: str = "") -> Voter:
    """Make the voter of this name and bind it to a task; `package` is named where it is not here."""
    kind = voter_class(name, package)
    return (kind() if name in BUILT_IN else PluginVoter(name, kind)).bind(task, config)


class PluginVoter(Voter):
    """Wrapper of a voter from outside: its inputs are read-only, its outputs are checked.

    Whatever it raises, but for Ctrl-C, and any output that docs/voters.md does not allow, becomes a VoterError that
    names the voter and its package.
    """

    def __init__(self, name: str, make: Callable[[], Voter]) -> None:
        self.name = name
        with voter_errors(name, "when it was made"):
            self._voter = make()
            self.proposes = bool(self._voter.proposes)
            found = {member: getattr(self._voter, member) for member in MEMBER_CHECKS}
            wrong = [member for member, (fits, _) in MEMBER_CHECKS.items() if not fits(found[member])]
        for member in wrong:
            self._check(False, f"must have {member} that is {MEMBER_CHECKS[member][1]}")
        vars(self).update(found)
        self.is_independent = self.is_calibrated and not self.uses_belief

    def _asked(self, method: str, taken: Callable[[Any], ResultT], *given: Any) -> ResultT:
        """Call a method of the voter; `taken` converts its result, which may run code of the voter too."""
        with voter_errors(self.name, f"in {method}"):
            return taken(getattr(self._voter, method)(*given))

    def _check(self, good: bool, what: str) -> None:
        if not good:
            raise voter_error(self.name, what)

    def bind(self, task: Task, config: Config) -> Voter:
        """Bind the voter to a read-only view of the task."""
        bound = self._asked("bind", lambda found: found, task_view(task), config)
        self._check(isinstance(bound, Voter), "must give itself, or another voter, from bind")
        self._voter = bound
        return super().bind(task, config)

    @property
    def known(self) -> ScoredPairs | None:
        return self._voter.known

    @known.setter
    def known(self, known: ScoredPairs | None) -> None:
        with voter_errors(self.name, "when its known pairs were set"):
            self._voter.known = read_only(known)

    def propose(self, state: VotingState) -> np.ndarray | None:
        found = self._asked("propose", lambda pairs: None if pairs is None else np.asarray(pairs), PluginState(state))
        if found is None:
            return None
        pairs = found if found.size else np.empty((0, 2), dtype=np.int64)
        are_numbers = pairs.ndim == 2 and pairs.shape[1] == 2 and pairs.dtype.kind in "iu"
        self._check(
            are_numbers and bool(((pairs >= 0) & (pairs < np.array(state.entities.sizes))).all()),
            f"must propose pairs [p, 2] of source and target indices inside the graphs, not "
            f"{pairs.dtype} {list(pairs.shape)}",
        )
        return pairs.astype(np.int64)

    def score(self, pairs: ScoredPairs, state: VotingState) -> np.ndarray:
        found = self._asked("score", np.asarray, read_only(pairs.by_entity), PluginState(state))
        self._check(
            found.shape == (len(pairs),) and found.dtype.kind in "biuf",
            f"must score each of {len(pairs)} pairs by a number; it gave {found.dtype} {list(found.shape)}",
        )
        return found

    def explain(self, source: int, target: int) -> list[Evidence]:
        found = self._asked("explain", _evidence, source, target)
        self._check(not any(math.isinf(row.weight) for row in found), "must explain by weights that are not infinite")
        return found

    def learn(self, state: VotingState) -> None:
        self._asked("learn", _nothing, PluginState(state))

    def weight(self) -> float:
        found = self._asked("weight", float)
        self._check(abs(found) <= MAX_SCORE, f"must weigh a number between -1e6 and 1e6, not {found}")
        return found

    def cost(self) -> Cost:
        found = self._asked("cost", lambda cost: Cost(*map(float, cost)))
        self._check(all(0 <= part < math.inf for part in found), f"must cost numbers from 0 on, not {tuple(found)}")
        return found

    def release(self) -> None:
        self._asked("release", _nothing)

    def state_dict(self) -> dict[str, Any]:
        return self._asked("state_dict", dict)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._asked("load_state_dict", _nothing, state)

    def is_applicable(self) -> bool:
        return self._asked("is_applicable", bool)

    def compared(self) -> tuple[int, int] | None:
        return self._asked("compared", lambda found: None if found is None else (int(found[0]), int(found[1])))

    def misleading(self) -> tuple[float, int] | None:
        found = self._asked("misleading", lambda part: None if part is None else (float(part[0]), int(part[1])))
        self._check(found is None or 0 <= found[0] <= 1, "must give a share of the links from misleading")
        return found


def _evidence(rows: Any) -> list[Evidence]:
    """Convert rows of (what, weight) to text that can be written and a number."""
    return [Evidence(whole_text(what), float(weight)) for what, weight in rows]


def _nothing(found: Any) -> None:
    """Ignore the result of a method that is called for its effect."""
