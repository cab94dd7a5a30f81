"""Fit weights of features to links: a conditional logit model with a normal prior. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.voters.candidate_pairs import CandidatePairs, Feature

TYPICAL_WRONG_SHARE = 0.03  # of the matches, typically: a comparison is wrong about them
PSEUDO_LINKS = 10  # links that a typical share counts for
EM_ROUNDS = 4


class Choices(NamedTuple):
    """The candidates of the linked entities of one side, from which each link is chosen.

    `line` [c] is the entity of each, `columns` [c, 1 + f] a one and its features, `links` [c] how much it counts as a
    link, 0 if it is none; `n_links` [n] adds up the links per entity, those that are not candidates too.
    """

    line: np.ndarray
    columns: np.ndarray
    links: np.ndarray
    n_links: np.ndarray


def robust_weights(candidates: CandidatePairs, links: np.ndarray, features: Sequence[Feature]) -> np.ndarray:
    """Fit weights by EM to links for some of which the comparison is wrong, as `bounded_log_odds` assumes.

    With P the probability of a link by the features, s the share of links for which they are wrong, and m targets, a
    link counts by (1 - s) P / ((1 - s) P + s / m): a link between a symbol and a name is no evidence about spelling.
    """
    m, share, belief = candidates.n_targets, TYPICAL_WRONG_SHARE, np.ones(len(links))
    for _ in range(EM_ROUNDS):
        weights = fitted_weights(candidates, links, features, belief)
        told = (1 - share) * _link_probability(candidates, links, weights)
        belief = told / (told + share / m)
        share = float(((1 - belief).sum() + PSEUDO_LINKS * TYPICAL_WRONG_SHARE) / (len(links) + PSEUDO_LINKS))
    return weights


def _link_probability(candidates: CandidatePairs, links: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Compute how likely each link is chosen among the candidates of its ends, the geometric mean of both.

    One that is not a candidate is any of the m that are not.
    """
    log_p = np.zeros(len(links))
    log_odds = np.clip(weights[0] + candidates.features @ weights[1:], -50, 50)
    own = candidates.look_up(links[:, 0], links[:, 1], log_odds, -float(np.log(candidates.n_targets)))
    for side, choice in enumerate(choices(candidates, links)):
        reached = np.exp(np.clip(choice.columns @ weights, -50, 50))
        log_p += (own - np.log1p(np.bincount(choice.line, reached, minlength=len(choice.n_links)))[links[:, side]]) / 2
    return np.exp(log_p)


def fitted_weights(
    candidates: CandidatePairs, links: np.ndarray, features: Sequence[Feature], counts: np.ndarray | None = None
) -> np.ndarray:
    """Fit weights to links, that of the constant first, with a normal prior (a conditional logit model).

    `counts` [l] is how much each link counts, all of them 1 if it is not given.
    """
    prior, spread = (np.array([getattr(f, name) for f in features]) for name in ("weight", "spread"))
    sides = choices(candidates, links, counts)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = link_loss(weights, sides)
        away = (weights - prior) / spread
        return value + away @ away / 2, slope + away / spread

    return minimize(loss, prior, jac=True, method="L-BFGS-B").x


def link_loss(weights: np.ndarray, sides: Sequence[Choices]) -> tuple[float, np.ndarray]:
    """Compute -log P(links) and its gradient [1 + f], the mean of both directions.

    P(link (i, j)) = exp(l_ij) / (1 + sum of exp(l) over the candidates of i that have no link, and j), and the same
    from its target; P(the link is not a candidate) = 1 / (1 + that sum).
    """
    value, slope = 0.0, np.zeros(len(weights))
    for line, columns, links, n_links in sides:
        log_odds = np.clip(columns @ weights, -50, 50)
        weight = np.exp(log_odds)
        total = 1 + np.bincount(line, weight, minlength=len(n_links))
        value += (n_links @ np.log(total) - log_odds @ links) / 2
        slope += ((n_links[line] * weight / total[line]) @ columns - links @ columns) / 2
    return value, slope


def choices(candidates: CandidatePairs, links: np.ndarray, counts: np.ndarray | None = None) -> tuple[Choices, Choices]:
    """Find per side the candidates of linked entities: the link, and those whose other end has no link."""
    counts = np.ones(len(links)) if counts is None else counts
    is_link = candidates.are_among(links)
    of_pair = ScoredPairs.of(links, candidates.shape).look_up(*candidates.ends, counts, 0.0)
    columns = np.column_stack([np.ones(len(candidates.source)), candidates.features])
    is_linked = [np.isin(np.arange(n), links[:, side]) for side, n in enumerate(candidates.shape)]
    n_links = [np.bincount(links[:, side], counts, minlength=n) for side, n in enumerate(candidates.shape)]
    ours, theirs = (of_side[line] for of_side, line in zip(is_linked, candidates.ends, strict=True))
    kept = (is_link | (ours & ~theirs), is_link | (theirs & ~ours))
    by_source, by_target = (
        Choices(line[at], columns[at], of_pair[at], n)
        for line, at, n in zip(candidates.ends, kept, n_links, strict=True)
    )
    return by_source, by_target
