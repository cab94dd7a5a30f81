"""Probabilities: how often mappings like this one are right, learned from the given links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import minimize

BINS = 10
LESS_AHEAD = 3  # the feature: how far ahead on the side where it is less so
# Expected before any link has been seen, of `examples.features`; the last two are of rehearsed examples, whose sure
# ones are right more often: what all are sure of and wrong about is not known to those who rehearse.
PRIOR = np.array([0.7, 0.9, 1.5, 0.5, 0.3, 0.3, 0.0, 0.4, 0.0, 0.4])
PRIOR_SPREAD = np.array([1.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.7, 0.7, 0.5, 0.4])  # how far they may lie


class Calibration:
    """p(right) = sigmoid(w . features), w the most likely under the examples and the prior.

    With many examples they decide alone; with few, or none, the prior does.
    """

    def __init__(self, seen: np.ndarray, right: np.ndarray, rehearsed: np.ndarray) -> None:
        """Rows of features [e, 8] of mappings, whether each is right, and whether it was rehearsed."""
        examples = np.column_stack([seen, rehearsed, rehearsed * seen[:, LESS_AHEAD]])
        self.weights = logistic(examples, right, PRIOR, PRIOR_SPREAD)

    def __call__(self, seen: np.ndarray) -> np.ndarray:
        return sigmoid(seen @ self.weights[:-2])


def logistic(seen: np.ndarray, right: np.ndarray, prior: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Find the most likely weights [d] of sigmoid(w . seen) [e, d], with a normal prior; `right` [e] in [0, 1]."""
    label = np.asarray(right, dtype=np.float64)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        log_odds, away = seen @ w, (w - prior) / spread
        slope = (sigmoid(log_odds) - label) @ seen + away / spread
        return (np.logaddexp(0, log_odds) - label * log_odds).sum() + away @ away / 2, slope

    return minimize(loss, prior, jac=True, method="L-BFGS-B").x


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(x, -60, 60)))


def reliability(probability: np.ndarray, right: np.ndarray, bins: int = BINS) -> list[dict[str, Any]]:
    """For each of `bins` equal ranges of probability: how many mappings, their mean probability, the share right."""
    place = np.minimum((probability * bins).astype(int), bins - 1)
    return [
        {"n": int(here.sum()), "probability": float(probability[here].mean()), "right": float(right[here].mean())}
        for here in (place == b for b in range(bins))
        if here.any()
    ]


def calibration_error(probability: np.ndarray, right: np.ndarray, bins: int = BINS) -> float:
    """Expected calibration error: the mean over mappings of |share right - mean probability| of their range."""
    rows = reliability(probability, right, bins)
    return sum(row["n"] * abs(row["right"] - row["probability"]) for row in rows) / max(len(probability), 1)


def acceptable(probability: np.ndarray, precision: float = 0.95) -> np.ndarray:
    """bool: the most probable mappings, as many as have a mean probability of at least `precision`."""
    order = np.argsort(-probability, kind="stable")
    mean = np.cumsum(probability[order]) / np.arange(1, len(order) + 1)
    n = int(np.flatnonzero(mean >= precision).max(initial=-1)) + 1
    accepted = np.zeros(len(probability), dtype=bool)
    accepted[order[:n]] = True
    return accepted


def trust(probability: np.ndarray, right: np.ndarray) -> Mapping[str, float]:
    """What `score` says of probabilities: their calibration error, and what can be accepted at 95 % precision."""
    accepted = acceptable(probability)
    found = {"calibration_error": calibration_error(probability, right), "accepted@95": float(accepted.mean())}
    return found | ({"accepted@95_precision": float(right[accepted].mean())} if accepted.any() else {})
