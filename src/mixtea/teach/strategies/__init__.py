"""Teaching strategies: where the mappings come from that a student learns beside the links.

A strategy asks the teacher or the student for vectors (`asks`), turns them into votes from time to time, and says how
these are learned (`learned_as`): as "votes" by the cross-entropy of Eq. 14, or as further "links" by Eq. 8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from torch import Tensor

from mixtea.config import Config
from mixtea.teach.state import State
from mixtea.vote.council import Council
from mixtea.vote.votes import Votes

Rows = tuple[Tensor, Tensor]


class Strategy(Protocol):
    """What to learn beside the links, and when to think of it anew."""

    asks: str
    learned_as: str

    def due(self, epoch: int) -> bool:
        """Whether votes are cast anew in this epoch."""
        ...

    def votes(self, vectors: Tensor, epoch: int, weights: Sequence[float]) -> Votes:
        """Votes between the unlabelled entities, from vectors [n, d] of all; `weights` of the two directions."""
        ...

    def state(self) -> State:
        """What it has to remember from one epoch to the next."""
        ...

    def restore(self, state: State) -> None:
        """Go on from a state."""
        ...


def strategy_of(config: Config, rows: Rows, council: Council | None) -> Strategy:
    """The strategy that the setting `teaching` names, for unlabelled entities `rows` in joint numbers."""
    from mixtea.teach.strategies.editing import OneToOneEditing
    from mixtea.teach.strategies.mixture import MixtureTeaching
    from mixtea.teach.strategies.mutual import MutualNeighbours
    from mixtea.teach.strategies.threshold import ThresholdSelfTraining

    if config.teaching == "mixture":
        return MixtureTeaching(config, rows, council)
    kinds: dict[str, Callable[[Config, Rows], Strategy]]
    kinds = {"threshold": ThresholdSelfTraining, "mutual": MutualNeighbours, "one_to_one": OneToOneEditing}
    return kinds[config.teaching](config, rows)
