"""How likely a source has a counterpart at all. Nobody gives examples of entities without: links are made such.

A link whose target is hidden shows what its source would look like without a counterpart, and the same link as it is
what it looks like with one: how the best candidate stands against its rivals, and whether neighbours are matched beside
it or elsewhere. Every open source is one or the other; how many are which follows from how they look.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.sparse import csr_matrix

from mixtea.calibration.calibrator import logistic, sigmoid
from mixtea.calibration.features import Examples

MIDDLE = 1.5  # log of the triples of a usual entity
# Log-odds of a counterpart by how the best candidate stands, expected before any link has been seen.
PRIOR = np.array([0.0, 1.6, 0.4, -0.6, 0.0, 0.1])
PRIOR_SPREAD = np.array([1.5, 1.0, 1.0, 0.5, 0.5, 0.5])
# What is thought possible: (a, b, e), sigmoid(a + b triples) being the share with a counterpart, and e the share of
# those without that look as if they had one.
POSSIBLE = (np.arange(-4, 6.01, 0.2), np.arange(-2, 8.01, 0.5), np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97]))
STEPS = np.array([0.2, 0.5, 0.0])
LOOKS_LIE = 0.03  # how likely e is not 0, before anything is seen
MOST, COUNTED = 2000, 300  # sources that looks are learned from, and for how many independent ones they count
TRIED, KEPT = 2000, 100
SURE = 2.0  # log-odds by looks from which on a source surely has a counterpart
TYPE_SPREAD = 2.0  # how far the log-odds of a counterpart may differ from type to type
CHOSEN = 0.5  # if by the choice of links less of these have one, links were not given at random


class Counterparts(NamedTuple):
    """[n] how likely each source has one; whether the training links look like a random choice of those that have."""

    probability: np.ndarray
    links_are_random: bool


def counterparts(
    looks: np.ndarray, triples: np.ndarray, types: csr_matrix, is_open: np.ndarray, examples: Examples, at_most: float
) -> Counterparts:
    """How likely each of n sources has a counterpart, by its looks [n, 2], how many triples it has, and its types.

    log-odds = log P(looks | one) / P(looks | none) + a + b triples. The first part is learned from the examples,
    each with its counterpart and without, so that it does not matter for which entities links were given. For a and b
    all that is possible is averaged, weighted by how likely it makes how the open sources look, and how many triples
    those with a training link have: random links show who has a counterpart, also where looks do not tell. Types
    [n, t] whose sources look as if they had none lower it. Of the open ones no more than a share `at_most` have one.
    """
    odds = _odds(looks, triples, examples)
    centred, linked = triples - MIDDLE, examples.triples[examples.rehearsed] - MIDDLE
    linked = linked if len(linked) else examples.triples - MIDDLE
    if not is_open.any():
        return Counterparts(np.ones(len(odds)), True)
    rng = np.random.default_rng(len(odds))
    some, n = rng.permutation(np.flatnonzero(is_open))[:MOST], int(is_open.sum())
    sample = _Sample(np.exp(odds[some]), centred[some], linked, n, at_most)
    found, are_random = _average(sample.likely_shares(rng, by_links=True), np.exp(odds), centred), True
    sure = is_open & (odds > SURE)
    if sure.any() and found[sure].mean() < CHOSEN:
        found, are_random = _average(sample.likely_shares(rng, by_links=False), np.exp(odds), centred), False
    return Counterparts(_bounded(_by_types(found, odds, types, is_open), is_open, at_most), are_random)


def _odds(looks: np.ndarray, triples: np.ndarray, examples: Examples) -> np.ndarray:
    """[n]: log P(looks | counterpart) / P(looks | none), for sources with as many triples."""
    seen = np.concatenate([_seen(examples.looks, examples.triples), _seen(examples.hidden, examples.triples)])
    weights = logistic(seen, np.arange(len(seen)) < len(examples.right), PRIOR, PRIOR_SPREAD)
    return np.clip(_seen(looks, triples) @ weights, -30, 30)


def _seen(looks: np.ndarray, triples: np.ndarray) -> np.ndarray:
    scaled, centred = looks[:, 0] / 6, triples - MIDDLE
    return np.stack(
        [np.ones_like(scaled), scaled, np.maximum(scaled, 0), centred, centred * scaled, looks[:, 1]], axis=1
    )


def _by_types(found: np.ndarray, odds: np.ndarray, types: csr_matrix, is_open: np.ndarray) -> np.ndarray:
    """[n]: the probabilities where the sources of a type have counterparts more or less often than others.

    Each type shifts the log-odds by what makes the looks of its open sources most likely, with a normal prior.
    """
    if not types.nnz:
        return found
    rows = np.flatnonzero(is_open)
    of_open, ratio = types[rows], np.exp(odds[rows])
    before = _log_odds(found) - odds
    counted = min(1.0, COUNTED / len(rows))

    def loss(shift: np.ndarray) -> tuple[float, np.ndarray]:
        share = sigmoid(before[rows] + of_open @ shift)
        likely = share * ratio + 1 - share
        slope = counted * (of_open.T @ (share * ratio / likely - share)) - shift / TYPE_SPREAD**2
        return -counted * np.log(likely).sum() + shift @ shift / (2 * TYPE_SPREAD**2), -slope

    shift = minimize(loss, np.zeros(types.shape[1]), jac=True, method="L-BFGS-B").x
    return sigmoid(before + types @ shift + odds)


def _bounded(found: np.ndarray, is_open: np.ndarray, at_most: float) -> np.ndarray:
    """[n]: the probabilities, all of their log-odds lowered alike if more of the open ones would have a counterpart."""
    if found[is_open].mean() <= at_most:
        return found
    odds = _log_odds(found)
    shift = brentq(lambda shift: sigmoid(odds[is_open] + shift).mean() - max(at_most, 1e-6), -60, 0)
    return sigmoid(odds + shift)


def _log_odds(share: np.ndarray) -> np.ndarray:
    return np.log(np.clip(share, 1e-9, 1 - 1e-9) / np.clip(1 - share, 1e-9, 1))


class _Sample(NamedTuple):
    """Some of n open sources by what their looks say and their triples; and the triples of linked ones."""

    ratio: np.ndarray
    triples: np.ndarray
    linked: np.ndarray
    n: int
    at_most: float

    def likely_shares(self, rng: np.random.Generator, *, by_links: bool) -> np.ndarray:
        """[KEPT, 3] drawn from what is possible, by how likely it is (importance sampling around a grid)."""
        shares, lie = POSSIBLE[:2], POSSIBLE[2] if by_links else POSSIBLE[2][:1]  # only links can tell that looks lie
        grid = np.stack(np.meshgrid(*shares, lie, indexing="ij"), axis=-1).reshape(-1, 3)
        proposed = 0.9 * _normalised(self._log_likelihood(grid, by_links)) + 0.1 / len(grid)
        place = rng.choice(len(grid), TRIED, p=proposed)
        tried = grid[place] + rng.uniform(-0.5, 0.5, (TRIED, 3)) * STEPS
        weight = _normalised(self._log_likelihood(tried, by_links) - np.log(proposed[place]))
        return tried[rng.choice(TRIED, KEPT, p=weight)]

    def _log_likelihood(self, possible: np.ndarray, by_links: bool) -> np.ndarray:
        return np.concatenate(
            [self._of_some(part, by_links) for part in np.array_split(possible, len(possible) // 500 + 1)]
        )

    def _of_some(self, possible: np.ndarray, by_links: bool) -> np.ndarray:
        """[g]: the logarithm of how likely each of (a, b, e) [g, 3] makes what is seen, and of how likely it is."""
        a, b, e = possible.T[:, :, None]
        share = sigmoid(a + b * self.triples)
        looks = np.log(share * self.ratio + (1 - share) * (1 - e + e * self.ratio)).sum(axis=1)
        found = looks * min(1.0, COUNTED / len(self.triples))
        if by_links:
            linked = sigmoid(a + b * self.linked)
            of_all = (share.mean(axis=1) * self.n + linked.sum(axis=1)) / (self.n + len(self.linked))
            found += np.log(linked + 1e-12).sum(axis=1) - len(self.linked) * np.log(of_all + 1e-12)
        found += np.where(possible[:, 2] > 0, np.log(LOOKS_LIE / (len(POSSIBLE[2]) - 1)), np.log(1 - LOOKS_LIE))
        found -= ((possible[:, 1] - 1) / 2.5) ** 2 / 2 + ((possible[:, 0] - 1) / 4) ** 2 / 2
        return found - (np.maximum(0.0, share.mean(axis=1) - self.at_most) / 0.02) ** 2 / 2


def _normalised(log_weight: np.ndarray) -> np.ndarray:
    weight = np.exp(log_weight - log_weight.max())
    return weight / weight.sum()


def _average(shares: np.ndarray, ratio: np.ndarray, triples: np.ndarray) -> np.ndarray:
    """[n]: the mean over (a, b, e) [g, 3] of the probability of a counterpart."""
    found = np.zeros(len(ratio))
    for a, b, e in shares:
        share = sigmoid(a + b * triples)
        found += share * ratio / (share * ratio + (1 - share) * (1 - e + e * ratio))
    return found / len(shares)
