"""Voters from outside, of packages and of users' own classes: read-only inputs, checked outputs. No torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from mixtea.compute.arrays import read_only
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.graph.task import Task
from mixtea.messages import whole_text
from mixtea.voters.base import EVIDENCE_KINDS, INPUT_SIZES, MAX_SCORE, Cost, Evidence, Voter, VotingState
from mixtea.voters.registry import BUILT_IN, voter_class, voter_error, voter_errors

if TYPE_CHECKING:
    from mixtea.config import Config

_TASKS: WeakKeyDictionary[Task, Task] = WeakKeyDictionary()  # by task, the one that is handed out


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
