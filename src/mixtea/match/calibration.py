"""Probabilities: how often mappings like this one are right, learned from the validation links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import minimize

BINS = 10
MARGIN = 1e-4  # beliefs nearer to 0 or 1 say no more
# Expected before any link has been seen: beliefs are too sure of themselves, voters who agree and many triples help.
PRIOR = np.array([-4.9, 0.25, 1.5, 2.2, 0.75, 0.75])
PRIOR_SPREAD = 1.0  # how far the weights may lie from there without much evidence


def features(
    belief: np.ndarray, agreeing: np.ndarray, cosine: np.ndarray, degrees: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """[n, 6] of n mappings: a constant, the log-odds of the belief, the share of the voters that favour the mapping,

    the student's cosine, and the logarithms of how many triples the two entities have.
    """
    held = np.clip(belief, MARGIN, 1 - MARGIN)
    odds = np.log(held / (1 - held))
    return np.stack([np.ones_like(held), odds, agreeing, cosine, *map(np.log1p, degrees)], axis=1)


class Calibration:
    """p(right) = sigmoid(w . features), w the most likely under the links seen and the prior.

    With many links they decide alone; with few, or none, the prior does.
    """

    def __init__(self, seen: np.ndarray, right: np.ndarray) -> None:
        """Rows of features [v, 6] of mappings, and whether each is right."""
        sign = np.where(right, 1.0, -1.0)

        def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
            margin = sign * (seen @ w)
            away = (w - PRIOR) / PRIOR_SPREAD
            value = np.logaddexp(0, -margin).sum() + away @ away / 2
            slope = -(sign * sigmoid(-margin)) @ seen + away / PRIOR_SPREAD
            return value, slope

        self.weights = minimize(loss, PRIOR, jac=True, method="L-BFGS-B").x

    def __call__(self, seen: np.ndarray) -> np.ndarray:
        return sigmoid(seen @ self.weights)


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
