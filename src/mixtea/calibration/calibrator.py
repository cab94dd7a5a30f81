"""Calibration of mappings by the given links, and its measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import minimize

BINS = 10
SMALLER_MARGIN = 3  # the feature: the margin on the side where it is smaller
# Expected weights of `features.pair_features`; the last two are of held-out examples, whose sure ones are right more
# often: pairs that all voters are sure of and wrong about are not known in the hold-out.
PRIOR = np.array([0.7, 0.9, 1.5, 0.5, 0.3, 0.3, 0.0, 0.4, 0.0, 0.4])
PRIOR_SPREAD = np.array([1.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.7, 0.7, 0.5, 0.4])  # how far they may lie


def fit_calibrator(features: np.ndarray, right: np.ndarray, held_out: np.ndarray) -> np.ndarray:
    """Return the most likely weights [8] w of p(right) = sigmoid(w . features) under examples and the prior.

    From rows of features [e, 8] of mappings, whether each is right, and whether it was held out. With many examples
    they decide alone; with few, or none, the prior does.
    """
    examples = np.column_stack([features, held_out, held_out * features[:, SMALLER_MARGIN]])
    return logistic(examples, right, PRIOR, PRIOR_SPREAD)[:-2]


def calibrated(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Compute [p]: p(right) = sigmoid(w . features) of candidates with features [p, 8]."""
    return sigmoid(features @ weights)


def logistic(features: np.ndarray, right: np.ndarray, prior: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Find the most likely weights [d] of sigmoid(w . features) [e, d], with a normal prior; `right` [e] in [0, 1]."""
    label = np.asarray(right, dtype=np.float64)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        log_odds, away = features @ w, (w - prior) / spread
        slope = (sigmoid(log_odds) - label) @ features + away / spread
        return (np.logaddexp(0, log_odds) - label * log_odds).sum() + away @ away / 2, slope

    return minimize(loss, prior, jac=True, method="L-BFGS-B").x


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(x, -60, 60)))


def reliability(probability: np.ndarray, right: np.ndarray, bins: int = BINS) -> list[dict[str, Any]]:
    """Return for each of `bins` equal ranges of probability the number of mappings, their mean probability, the share
    right.
    """
    place = np.minimum((probability * bins).astype(int), bins - 1)
    return [
        {"n": int(here.sum()), "probability": float(probability[here].mean()), "right": float(right[here].mean())}
        for here in (place == b for b in range(bins))
        if here.any()
    ]


def calibration_error(probability: np.ndarray, right: np.ndarray, bins: int = BINS) -> float:
    """Compute the expected calibration error: the mean of |share right - mean probability| of a mapping's range."""
    rows = reliability(probability, right, bins)
    return sum(row["n"] * abs(row["right"] - row["probability"]) for row in rows) / max(len(probability), 1)


def accept_at_precision(probability: np.ndarray, precision: float = 0.95) -> np.ndarray:
    """Return bool: the most probable mappings, as many as have a mean probability of at least `precision`."""
    order = np.argsort(-probability, kind="stable")
    mean = np.cumsum(probability[order]) / np.arange(1, len(order) + 1)
    n = int(np.flatnonzero(mean >= precision).max(initial=-1)) + 1
    accepted = np.zeros(len(probability), dtype=bool)
    accepted[order[:n]] = True
    return accepted


def calibration_measures(probability: np.ndarray, right: np.ndarray) -> Mapping[str, float]:
    """Compute calibration error, and the share of mappings that can be accepted at 95 % precision."""
    accepted = accept_at_precision(probability)
    found = {"calibration_error": calibration_error(probability, right), "accepted@95": float(accepted.mean())}
    return found | ({"accepted@95_precision": float(right[accepted].mean())} if accepted.any() else {})
