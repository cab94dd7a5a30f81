"""Calibration of mappings by the given links, the prior of having a match at all, and measures of calibration.

Negatives of the prior are simulated by hiding the target of known links. A link whose target is hidden shows its source
without a counterpart, and the same link as it is shows it with one: the margin of the best candidate, and whether
neighbours are matched beside it or elsewhere. Every open source is one or the other; how many are which follows from
this evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.sparse import csr_matrix

from mixtea.calibration.features import Examples

BINS = 10
SMALLER_MARGIN = 3  # the feature: the margin on the side where it is smaller
# Expected weights of `features.pair_features`; the last two are of held-out examples, whose sure ones are right more
# often: pairs that all voters are sure of and wrong about are not known in the hold-out.
PRIOR = np.array([0.7, 0.9, 1.5, 0.5, 0.3, 0.3, 0.0, 0.4, 0.0, 0.4])
PRIOR_SPREAD = np.array([1.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.7, 0.7, 0.5, 0.4])  # how far they may lie
TYPICAL_LOG_TRIPLES = 1.5  # of an entity
# Prior weights of the log-odds of a counterpart, by the margin of the best candidate.
MATCH_PRIOR = np.array([0.0, 1.6, 0.4, -0.6, 0.0, 0.1])
MATCH_PRIOR_SPREAD = np.array([1.5, 1.0, 1.0, 0.5, 0.5, 0.5])
# Possible values of (a, b, e): sigmoid(a + b triples) being the share with a counterpart, and e the share of
# those without whose evidence is misleading.
GRID = (np.arange(-4, 6.01, 0.2), np.arange(-2, 8.01, 0.5), np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97]))
GRID_STEPS = np.array([0.2, 0.5, 0.0])
MISLEADING_PRIOR = 0.03  # prior probability that e is not 0
MAX_SOURCES = 2000  # sampled open sources
EFFECTIVE_SOURCES = 300  # independent ones that these count for
SAMPLES, RESAMPLES = 2000, 100
SURE_LOG_ODDS = 2.0  # by evidence, from which on a source surely has a counterpart
TYPE_SPREAD = 2.0  # how far the log-odds of a counterpart may differ from type to type
MIN_SURE_SHARE = 0.5  # of the sure sources by the choice of links; below, links were not chosen at random
MAX_LOST_EVIDENCE = 3.0  # log-likelihood that the evidence loses if links are random; if more, they are not


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


class MatchPrior(NamedTuple):
    """Probability [n] of a counterpart; whether training links look like a random choice of matches."""

    probability: np.ndarray
    links_are_random: bool


def estimate_match_prior(
    features: np.ndarray,
    triples: np.ndarray,
    types: csr_matrix,
    is_open: np.ndarray,
    evidence_weights: np.ndarray,
    linked: np.ndarray,
    at_most: float,
) -> MatchPrior:
    """Estimate how likely each of n sources has a counterpart, by its evidence [n, 2], its triples, and its types.

    log-odds = log P(evidence | one) / P(evidence | none) + a + b triples. The first part is `fit_evidence` learned from
    links with their counterpart and without, so that it does not matter which entities have links. a and b are
    averaged over a grid, weighted by the likelihood of the evidence of the open sources, and of how many triples those
    with a training link have (`linked`): random links show who has a counterpart, also where evidence does not. They
    are not taken
    for random where few sure sources would have one, or the evidence would be far less likely. Types [n, t] whose
    sources look as if they had none lower it. Of the open ones no more than a share `at_most` have one.
    """
    odds = np.clip(_columns(features, triples) @ evidence_weights, -30, 30)
    centred, linked = triples - TYPICAL_LOG_TRIPLES, linked - TYPICAL_LOG_TRIPLES
    if not is_open.any():
        return MatchPrior(np.ones(len(odds)), True)
    rng = np.random.default_rng(len(odds))
    some, n = rng.permutation(np.flatnonzero(is_open))[:MAX_SOURCES], int(is_open.sum())
    sample = _Sample(np.exp(odds[some]), centred[some], linked, n, at_most)
    by_links, by_evidence = (sample.draw_posterior(rng, by_links=by_links) for by_links in (True, False))
    found, sure = _posterior_mean(by_links, np.exp(odds), centred), is_open & (odds > SURE_LOG_ODDS)
    lost = sample.log_evidence(by_evidence).mean() - sample.log_evidence(by_links).mean()
    are_random = lost <= MAX_LOST_EVIDENCE and not (sure.any() and found[sure].mean() < MIN_SURE_SHARE)
    if not are_random:
        found = _posterior_mean(by_evidence, np.exp(odds), centred)
    return MatchPrior(_capped(_by_types(found, odds, types, is_open), is_open, at_most), are_random)


def fit_evidence(examples: Examples) -> np.ndarray:
    """Return the weights of log P(evidence | counterpart) / P(evidence | none) for sources with as many triples."""
    seen = np.concatenate(
        [_columns(examples.match_features, examples.triples), _columns(examples.hidden_features, examples.triples)]
    )
    return logistic(seen, np.arange(len(seen)) < len(examples.right), MATCH_PRIOR, MATCH_PRIOR_SPREAD)


def _columns(features: np.ndarray, triples: np.ndarray) -> np.ndarray:
    scaled, centred = features[:, 0] / 6, triples - TYPICAL_LOG_TRIPLES
    return np.stack(
        [np.ones_like(scaled), scaled, np.maximum(scaled, 0), centred, centred * scaled, features[:, 1]], axis=1
    )


def _by_types(found: np.ndarray, odds: np.ndarray, types: csr_matrix, is_open: np.ndarray) -> np.ndarray:
    """Adapt the probabilities [n] where the sources of a type have counterparts more or less often than others.

    Each type shifts the log-odds by what makes the evidence of its open sources most likely, with a normal prior.
    """
    if not types.nnz:
        return found
    rows = np.flatnonzero(is_open)
    of_open, ratio = types[rows], np.exp(odds[rows])
    before = _log_odds(found) - odds
    counted = min(1.0, EFFECTIVE_SOURCES / len(rows))

    def loss(shift: np.ndarray) -> tuple[float, np.ndarray]:
        share = sigmoid(before[rows] + of_open @ shift)
        likely = share * ratio + 1 - share
        slope = counted * (of_open.T @ (share * ratio / likely - share)) - shift / TYPE_SPREAD**2
        return -counted * np.log(likely).sum() + shift @ shift / (2 * TYPE_SPREAD**2), -slope

    shift = minimize(loss, np.zeros(types.shape[1]), jac=True, method="L-BFGS-B").x
    return sigmoid(before + types @ shift + odds)


def _capped(found: np.ndarray, is_open: np.ndarray, at_most: float) -> np.ndarray:
    """Lower the log-odds of the probabilities [n] alike, if more than a share `at_most` of the open ones match."""
    if found[is_open].mean() <= at_most:
        return found
    odds = _log_odds(found)
    shift = brentq(lambda shift: sigmoid(odds[is_open] + shift).mean() - max(at_most, 1e-6), -60, 0)
    return sigmoid(odds + shift)


def _log_odds(share: np.ndarray) -> np.ndarray:
    return np.log(np.clip(share, 1e-9, 1 - 1e-9) / np.clip(1 - share, 1e-9, 1))


class _Sample(NamedTuple):
    """Some of n open sources by the likelihood ratio of their evidence and their triples; and the triples of linked
    ones.
    """

    ratio: np.ndarray
    triples: np.ndarray
    linked: np.ndarray
    n: int
    at_most: float

    def draw_posterior(self, rng: np.random.Generator, *, by_links: bool) -> np.ndarray:
        """Draw [RESAMPLES, 3] from the posterior (importance sampling around a grid)."""
        shares, misleading = GRID[:2], GRID[2] if by_links else GRID[2][:1]  # only links show misleading evidence
        grid = np.stack(np.meshgrid(*shares, misleading, indexing="ij"), axis=-1).reshape(-1, 3)
        proposed = 0.9 * _normalised(self._log_likelihood(grid, by_links)) + 0.1 / len(grid)
        place = rng.choice(len(grid), SAMPLES, p=proposed)
        tried = grid[place] + rng.uniform(-0.5, 0.5, (SAMPLES, 3)) * GRID_STEPS
        weight = _normalised(self._log_likelihood(tried, by_links) - np.log(proposed[place]))
        return tried[rng.choice(SAMPLES, RESAMPLES, p=weight)]

    def _log_likelihood(self, possible: np.ndarray, by_links: bool) -> np.ndarray:
        return np.concatenate(
            [self._log_posterior(part, by_links) for part in np.array_split(possible, len(possible) // 500 + 1)]
        )

    def log_evidence(self, possible: np.ndarray) -> np.ndarray:
        """Compute [g]: the log-likelihood of the evidence by each (a, b, e) [g, 3], as of independent sources."""
        a, b, e = possible.T[:, :, None]
        share = sigmoid(a + b * self.triples)
        likelihood = np.log(share * self.ratio + (1 - share) * (1 - e + e * self.ratio)).sum(axis=1)
        return likelihood * min(1.0, EFFECTIVE_SOURCES / len(self.triples))

    def _log_posterior(self, possible: np.ndarray, by_links: bool) -> np.ndarray:
        """Compute [g]: the log-posterior of each (a, b, e) [g, 3]."""
        a, b, _ = possible.T[:, :, None]
        share = sigmoid(a + b * self.triples)
        found = self.log_evidence(possible)
        if by_links:
            linked = sigmoid(a + b * self.linked)
            of_all = (share.mean(axis=1) * self.n + linked.sum(axis=1)) / (self.n + len(self.linked))
            found += np.log(linked + 1e-12).sum(axis=1) - len(self.linked) * np.log(of_all + 1e-12)
        found += np.where(
            possible[:, 2] > 0, np.log(MISLEADING_PRIOR / (len(GRID[2]) - 1)), np.log(1 - MISLEADING_PRIOR)
        )
        found -= ((possible[:, 1] - 1) / 2.5) ** 2 / 2 + ((possible[:, 0] - 1) / 4) ** 2 / 2
        return found - (np.maximum(0.0, share.mean(axis=1) - self.at_most) / 0.02) ** 2 / 2


def _normalised(log_weight: np.ndarray) -> np.ndarray:
    weight = np.exp(log_weight - log_weight.max())
    return weight / weight.sum()


def _posterior_mean(shares: np.ndarray, ratio: np.ndarray, triples: np.ndarray) -> np.ndarray:
    """Compute [n]: the mean over (a, b, e) [g, 3] of the probability of a counterpart."""
    found = np.zeros(len(ratio))
    for a, b, e in shares:
        share = sigmoid(a + b * triples)
        found += share * ratio / (share * ratio + (1 - share) * (1 - e + e * ratio))
    return found / len(shares)
