"""How likely a source has a counterpart at all. Nobody gives examples of entities without: links are made such.

A link whose target is hidden shows what its source would look like without a counterpart, and the same link as it is
what it looks like with one. Every open source is one or the other; how many are which follows from how they look.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from mixtea.match.calibration import logistic, sigmoid
from mixtea.match.examples import Examples

MIDDLE = 1.5  # log of the triples of a usual entity
# Log-odds of a counterpart by how the best candidate stands, expected before any link has been seen.
PRIOR = np.array([0.0, 1.6, 0.4, -0.6, 0.0])
PRIOR_SPREAD = np.array([1.5, 1.0, 1.0, 0.5, 0.5])
ALIKE_EXAMPLES = 5.0  # of sources without a counterpart that look like without, before any is seen
STARTS = ((2.0, 0.0, -3.0), (-0.5, 0.0, -3.0), (1.0, 3.0, 2.0))
MOST = 20_000  # sources that the shares are learned from
SURE = 2.0  # log-odds by looks from which on a source surely has a counterpart
CHOSEN = 0.5  # if by the choice of links less of these have one, links were not given at random


class Counterparts(NamedTuple):
    """[n] how likely each source has one; whether the training links look like a random choice of those that have."""

    probability: np.ndarray
    links_are_random: bool


def counterparts(
    standing: np.ndarray, triples: np.ndarray, is_open: np.ndarray, examples: Examples, at_most: float
) -> Counterparts:
    """How likely each of n sources has a counterpart, by how its best candidate stands and how many triples it has.

    log-odds = log P(standing | one) / P(standing | none) + a + b triples. The first part is learned from the examples,
    each with its counterpart and without, so that it does not matter for which entities links were given. a and b are
    the most likely ones for how the open sources stand, and for how many triples those with a training link have:
    random links show who has a counterpart, also where looks do not tell. `at_most` bounds the share of the open ones.
    """
    odds = _looks(standing, triples, examples)
    centred, linked = triples - MIDDLE, examples.triples[examples.rehearsed] - MIDDLE
    some = np.random.default_rng(len(odds)).permutation(np.flatnonzero(is_open))[:MOST]
    sample = _Sample(odds[some], centred[some], linked if len(linked) else examples.triples - MIDDLE, at_most)
    found = sample.posterior(sample.most_likely(by_links=True), odds, centred)
    sure = is_open & (odds > SURE)
    if sure.any() and found[sure].mean() < CHOSEN:
        return Counterparts(sample.posterior(sample.most_likely(by_links=False), odds, centred), False)
    return Counterparts(found, True)


def _looks(standing: np.ndarray, triples: np.ndarray, examples: Examples) -> np.ndarray:
    """[n]: log P(standing | counterpart) / P(standing | none), for sources with as many triples."""
    seen = np.concatenate([_seen(examples.standing, examples.triples), _seen(examples.hidden, examples.triples)])
    weights = logistic(seen, np.arange(len(seen)) < len(examples.right), PRIOR, PRIOR_SPREAD)
    return np.clip(_seen(standing, triples) @ weights, -30, 30)


def _seen(standing: np.ndarray, triples: np.ndarray) -> np.ndarray:
    scaled, centred = standing / 6, triples - MIDDLE
    return np.stack([np.ones_like(scaled), scaled, np.maximum(scaled, 0), centred, centred * scaled], axis=1)


class _Sample:
    """Sources [n] by the log-odds of their looks and their triples; and the triples of linked ones."""

    def __init__(self, odds: np.ndarray, triples: np.ndarray, linked: np.ndarray, at_most: float) -> None:
        self.ratio, self.triples, self.linked, self.at_most = np.exp(odds), triples, linked, at_most
        self.everyone = np.concatenate([triples, linked])

    def most_likely(self, *, by_links: bool) -> np.ndarray:
        """(a, b, e): sigmoid(a + b triples) have a counterpart; of those without, sigmoid(e) look as if they had."""
        found = [
            minimize(self._unlikely, start, (by_links,), "Nelder-Mead", options={"maxiter": 800, "fatol": 1e-2})
            for start in STARTS
        ]
        return min(found, key=lambda result: result.fun).x

    def _unlikely(self, weights: np.ndarray, by_links: bool) -> float:
        a, b, e = weights
        share, alike = sigmoid(a + b * self.triples), sigmoid(e)
        likely = np.log(share * self.ratio + (1 - share) * (1 - alike + alike * self.ratio)).sum()
        if by_links:
            likely += np.log(sigmoid(a + b * self.linked) + 1e-12).sum()
            likely -= len(self.linked) * np.log(sigmoid(a + b * self.everyone).mean() + 1e-12)
        likely += ALIKE_EXAMPLES * np.log(1 - alike + 1e-9) - (b / 5) ** 2 / 2 - ((a - 1) / 4) ** 2 / 2
        over = max(0.0, share.mean() - self.at_most) * len(share)
        return -likely + over**2 / (0.02 * len(share) + 1)

    def posterior(self, weights: np.ndarray, odds: np.ndarray, triples: np.ndarray) -> np.ndarray:
        share, alike, ratio = sigmoid(weights[0] + weights[1] * triples), sigmoid(weights[2]), np.exp(odds)
        return share * ratio / (share * ratio + (1 - share) * (1 - alike + alike * ratio))
