"""How likely a source has a counterpart at all, learned from links alone: nobody gives examples of entities without.

The validation links are a sample of entities with a counterpart; all unlinked sources are a mixture of such and others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from mixtea.data.summary import NEEDED_FOR_DOUBT
from mixtea.match.calibration import sigmoid

TAIL = 0.1  # least share of the links that a threshold leaves
NEARLY_ALL = 0.95  # a share from which on all are taken to have a counterpart
CHOICE = 0.5  # links by which fewer than this part of the sure mappings would have a counterpart are no random sample
SPLIT = 886  # the seed that halves sources
EVIDENCE = [1, 2, 5]  # features that tell a match whatever entities links are given for


def counterparts(seen: np.ndarray, known: np.ndarray, right: np.ndarray, at_most: float) -> np.ndarray:
    """[n]: the probability that each of n sources has a counterpart.

    `seen` [n, 6] are features of the sources' best candidates: log-odds of the belief, share of agreeing voters,
    cosine, logarithms of both degrees, and whether no other source is believed in more by the candidate. `known` marks
    the sources with a validation link, `right` [n] says how often such a candidate is right if there is a counterpart,
    `at_most` bounds the share of sources with one, by the number of targets.
    """
    sure = min(at_most, float((right * seen[:, -1]).mean()))  # mappings to count on, a target each
    x = _scaled(seen)
    if known.sum() >= NEEDED_FOR_DOUBT:
        scores = told_apart(x, known)
        share = min(at_most, share_with_counterpart(scores, scores[known]))
        if share < CHOICE * sure:  # links were given for easy entities: trust sizes and evidence, not their looks
            share, x = sure, _scaled(seen[:, EVIDENCE])
    elif at_most >= NEARLY_ALL:
        share = 1.0
    else:
        known, share, x = (seen[:, -1] > 0) & (right > CHOICE), sure, _scaled(seen[:, EVIDENCE])
    if share >= NEARLY_ALL:
        return np.ones(len(seen))
    if not known.any():
        return np.full(len(seen), min(share, at_most))
    return sigmoid(x @ like_the_links(x, x[known], share))


def _scaled(features: np.ndarray) -> np.ndarray:
    """A column of ones, and every feature with mean 0 and spread 1."""
    spread = np.maximum(features.std(axis=0), 1e-9)
    return np.column_stack([np.ones(len(features)), (features - features.mean(axis=0)) / spread])


def told_apart(x: np.ndarray, known: np.ndarray) -> np.ndarray:
    """[n]: how much each row looks like the known ones rather than like everyone, judged by a half that it is not in.

    A logistic regression of the known rows against all rows; scores of both halves have mean 0 and spread 1.
    """
    half = np.random.default_rng(SPLIT).random(len(x)) < 0.5
    scores = np.zeros(len(x))
    for own in (half, ~half):
        if own.any() and (known & ~own).any():
            found = x[own] @ _logistic(x[~own], x[~own & known])
            scores[own] = (found - found.mean()) / max(found.std(), 1e-9)
    return scores


def share_with_counterpart(everyone: np.ndarray, linked: np.ndarray) -> float:
    """pi = min over t of P(score >= t) / P(score >= t | linked), from scores that are greater for the linked.

    Above a high enough threshold there are only entities with a counterpart, and the ratio is pi; below, others only
    raise it (Blanchard et al. 2010). Two standard errors of the lower term are granted, so that chance does not decide.
    """
    thresholds = np.quantile(linked, np.linspace(0, 1 - TAIL, 46))
    above = np.array([(everyone >= t).mean() for t in thresholds])
    known = np.array([(linked >= t).mean() for t in thresholds])
    error = 2 * np.sqrt(known * (1 - known) / len(linked))
    trusted = known > 2 * error
    return float(min(1.0, (above / np.maximum(known - error, 1e-9))[trusted].min(initial=1.0)))


def like_the_links(everyone: np.ndarray, linked: np.ndarray, share: float) -> np.ndarray:
    """Weights w of p = sigmoid(w . x), so that sources weighted by p are as many as `share` says and look like links.

    everyone [n, d] and linked [v, d] have a first column of ones. w minimises the mean over everyone of
    log(1 + exp(w . x)) less share times the mean over the linked of w . x, the risk of learning from positive and
    unlabelled examples (du Plessis et al. 2015): where it is least, mean(p x) = share * mean of the linked x.
    """
    centre = share * linked.mean(axis=0)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        score = everyone @ w
        return np.logaddexp(0, score).mean() - centre @ w, sigmoid(score) @ everyone / len(everyone) - centre

    return _minimum(loss, everyone.shape[1], 1 / len(linked))


def _logistic(everyone: np.ndarray, linked: np.ndarray) -> np.ndarray:
    """Weights that tell rows [v, d] from rows [n, d], both counting the same in all."""

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        all_of, few = everyone @ w, linked @ w
        slope = sigmoid(all_of) @ everyone / len(everyone) - sigmoid(-few) @ linked / len(linked)
        return np.logaddexp(0, all_of).mean() + np.logaddexp(0, -few).mean(), slope

    return _minimum(loss, everyone.shape[1], 3 / len(linked))


def _minimum(loss: Callable[[np.ndarray], tuple[float, np.ndarray]], n: int, pull: float) -> np.ndarray:
    """Weights [n] of the least loss, all but the first, the constant, drawn to 0."""
    drawn = np.array([0.0] + [pull] * (n - 1))

    def pulled(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = loss(w)
        return value + (drawn * w * w).sum() / 2, slope + drawn * w

    return minimize(pulled, np.zeros(n), jac=True, method="L-BFGS-B").x
