"""Results of a training beside its vectors, stored in the run: applied to entities and tasks that come later.

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


class LearnedProbabilities(NamedTuple):
    """Weights that links have shown, by which scores become probabilities.

    `calibration` [8] are weights of the features of a candidate, `evidence` [6] those of the evidence that a source has
    a counterpart. `recalibration` [2, 3] weigh the probability and the belief of the decoder, `link_share` [2] is the
    share of probabilities by links beside those without; each for sources with one target, and with several.
    """

    calibration: np.ndarray
    evidence: np.ndarray
    recalibration: np.ndarray
    link_share: np.ndarray


@dataclass(frozen=True, eq=False)
class Learned:
    """Results of a training beside its vectors, applied to another task of the same kind without fitting.

    `views` are the voters that compare texts, by name; those of `matched_by` can judge entities that come later. With
    the log-odds l of these added up, log P / (1 - P) of a match is a + b log p / (1 - p), where p is the probability
    of the pair in a matching with the log-odds l + `constant`, and (a, b) the `calibration`. `voter_weights` are the
    factors of opinions, `probabilities` what links have shown of scores, None where there were none.
    """

    views: Mapping[str, LearnedView] = field(default_factory=dict)
    matched_by: tuple[str, ...] = ()
    constant: float = 0.0
    calibration: tuple[float, float] = (0.0, 1.0)
    voter_weights: Mapping[str, float] = field(default_factory=dict)
    probabilities: LearnedProbabilities | None = None

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
        told = self.probabilities
        return {
            "views": views, "matched_by": list(self.matched_by),
            "constant": self.constant, "calibration": list(self.calibration),
            "voter_weights": {name: float(weight) for name, weight in self.voter_weights.items()},
            "probabilities": None if told is None else {name: part.tolist() for name, part in told._asdict().items()},
        }  # fmt: skip
