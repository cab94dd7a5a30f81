"""Read-only NumPy views of task, pairs and state for voters from outside.

No torch.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mixtea.compute.read_only import read_only
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.graph.task import Task

if TYPE_CHECKING:
    from mixtea.voters.base import VotingState

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
