"""Strategies to compare mixture teaching with: the student proposes pairs, which it then learns like links (Eq. 8)."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from mixtea.compute.pairs import Pairs
from mixtea.config import Config
from mixtea.training.self_training.base import KeepingStrategy

Rows = tuple[Tensor, Tensor]


def strategy_of(config: Config, rows: Rows, rejected: Pairs | None = None) -> KeepingStrategy | None:
    """The strategy that the setting `teaching` names, for unlabelled entities `rows`; None for mixture teaching.

    Pairs that a person `rejected` are never proposed.
    """
    from mixtea.training.self_training.editing import OneToOneEditing
    from mixtea.training.self_training.mutual import MutualNeighbours
    from mixtea.training.self_training.threshold import ThresholdSelfTraining

    kinds: dict[str, Callable[[Config, Rows, Pairs | None], KeepingStrategy]]
    kinds = {"threshold": ThresholdSelfTraining, "mutual": MutualNeighbours, "one_to_one": OneToOneEditing}
    return None if config.teaching == "mixture" else kinds[config.teaching](config, rows, rejected)
