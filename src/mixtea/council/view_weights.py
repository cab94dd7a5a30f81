"""Weights of views that may repeat each other, such as names, values and vectors of the same texts. No torch.

Log-odds of independent views are added as they are. Names, descriptions and their vectors are not independent: what the
second of them adds is found by the pairs that the first is sure of, or by the links, and it counts by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mixtea.compute.matching import matching
from mixtea.compute.ngrams import distinct
from mixtea.voters.candidate_pairs import CandidatePairs, Feature
from mixtea.voters.link_weights import fitted_weights

if TYPE_CHECKING:
    from mixtea.voters.similarity import SimilarityVoter

SURE = 0.9  # probability by the best view alone from which on a pair shows what the others are worth
CONSTANT = Feature("constant", -2.0, 3.0)
FURTHER = (0.4, 0.3)  # expected weight of a view beside the best one, and its spread
SPREAD = 0.2  # how far links move weights from what sure pairs show


def view_weights(voters: Sequence[SimilarityVoter], links: np.ndarray, shape: tuple[int, int]) -> dict[str, float]:
    """Learn the weight of each view by the pairs that the best view is sure of, and then by links [p, 2].

    The best view is the one that is sure of the most pairs; it has weight 1, unless links show something else.
    """
    if len(voters) < 2:
        return {voter.opinion: 1.0 for voter in voters}
    key = distinct(np.concatenate([voter.opinions().key for voter in voters]))
    source, target = key // shape[1], key % shape[1]
    columns = np.stack([np.nan_to_num(voter.opinions().log_odds(source, target)) for voter in voters], axis=1)
    sure = [_sure_pairs(source, target, column, shape) for column in columns.T]
    best = int(np.argmax([len(pairs) for pairs in sure]))
    candidates = CandidatePairs(source, target, columns[:, best], columns, shape, shape)
    weights = np.ones(len(voters))
    others = [place for place in range(len(voters)) if place != best]
    features = [CONSTANT, *(Feature(voters[place].opinion, *FURTHER) for place in others)]
    shown = fitted_weights(candidates._replace(columns=columns[:, others]), sure[best], features)[1:]
    weights[others] = np.clip(shown, 0.0, 1.0)
    if len(links):
        features = [CONSTANT, *(Feature(v.opinion, w, SPREAD) for v, w in zip(voters, weights.tolist(), strict=True))]
        weights = np.maximum(fitted_weights(candidates, links, features)[1:], 0.0)
    return {voter.opinion: float(weight) for voter, weight in zip(voters, weights, strict=True)}


def _sure_pairs(source: np.ndarray, target: np.ndarray, log_odds: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Find the pairs [p, 2] of which a view is sure, from log-odds relative to a pair of which nothing is known."""
    p = matching(source, target, log_odds - np.log(max(shape[1], 1)), shape).probability
    return np.stack([source[p > SURE], target[p > SURE]], axis=1)
