"""Weights of text features that a training has learned, stored in the run to score entities that are added later.

No torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


class ComparedPredicates(NamedTuple):
    """A predicate of the source and one of the target whose values are compared, and their weight."""

    source: str
    target: str
    weight: float


class LearnedView(NamedTuple):
    """The learned part of one voter: weights [f] of its features, a constant, the share of matches it is wrong about.

    `compared` are the predicates whose values it compares, if any.
    """

    weights: np.ndarray
    constant: float
    wrong: float
    compared: tuple[ComparedPredicates, ...] = ()


@dataclass(frozen=True, eq=False)
class LearnedText:
    """The calibrated combination of names and values of a run.

    `views` are the voters that compare them, by name. With their log-odds l added up, log P / (1 - P) of a match is
    a + b log p / (1 - p), where p is the probability of the pair in a matching with the log-odds l + `constant`, and
    (a, b) the `calibration`.
    """

    views: Mapping[str, LearnedView] = field(default_factory=dict)
    constant: float = 0.0
    calibration: tuple[float, float] = (0.0, 1.0)

    def to_json(self) -> dict[str, Any]:
        """Return it as a run folder stores it."""
        views = {
            name: {
                "weights": [float(weight) for weight in view.weights],
                "constant": float(view.constant),
                "wrong": float(view.wrong),
                "compared": [list(pair) for pair in view.compared],
            }
            for name, view in self.views.items()
        }
        return {"views": views, "constant": self.constant, "calibration": list(self.calibration)}
