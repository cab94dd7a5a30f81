"""Weights of views that may repeat each other, such as names, values and vectors of the same texts. No torch.

Log-odds of independent views are added as they are. Names, descriptions and their vectors are not independent: what the
second of them adds is found by the pairs that the first is sure of, or by the links, and it counts by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mixtea.compute.matching import matching
from mixtea.vote.log_odds import Candidates, Feature, fitted_weights

if TYPE_CHECKING:
    from mixtea.vote.likeness import LikenessVoter

SURE = 0.9  # probability by the best view alone from which on a pair shows what the others are worth
CONSTANT = Feature("constant", -2.0, 3.0)
FIRST, FURTHER = (1.0, 0.3), (0.4, 0.3)  # expected weight of the best view and of the others, and their spread


def view_weights(voters: Sequence[LikenessVoter], links: np.ndarray, shape: tuple[int, int]) -> dict[str, float]:
    """Learn the weight of each view, by links [p, 2] or, without any, by the pairs that the best view is sure of.

    The best view is the one that is sure of the most pairs. One view alone has weight 1.
    """
    if len(voters) < 2:
        return {voter.opinion: 1.0 for voter in voters}
    key = np.unique(np.concatenate([voter.opinions().key for voter in voters]))
    source, target = key // shape[1], key % shape[1]
    columns = np.stack([np.nan_to_num(voter.opinions().log_odds(source, target)) for voter in voters], axis=1)
    sure = [_sure_pairs(source, target, column, shape) for column in columns.T]
    best = int(np.argmax([len(pairs) for pairs in sure]))
    candidates = Candidates(source, target, columns[:, best], columns, shape, shape)
    names = [voter.opinion for voter in voters]
    if len(links):
        weights = fitted_weights(candidates, links, (CONSTANT, *_features(names, names[best])))[1:]
        return dict(zip(names, np.maximum(weights, 0.0).tolist(), strict=True))
    others = [place for place in range(len(names)) if place != best]
    candidates = candidates._replace(columns=columns[:, others])
    features = _features([names[place] for place in others], "")
    weights = fitted_weights(candidates, sure[best], (CONSTANT, *features))[1:]
    found = dict(zip((names[place] for place in others), np.clip(weights, 0.0, 1.0).tolist(), strict=True))
    return {name: found.get(name, 1.0) for name in names}


def _features(names: Sequence[str], best: str) -> list[Feature]:
    return [Feature(name, *(FIRST if name == best else FURTHER)) for name in names]


def _sure_pairs(source: np.ndarray, target: np.ndarray, log_odds: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Find the pairs [p, 2] of which a view is sure, from log-odds relative to a pair of which nothing is known."""
    p = matching(source, target, log_odds - np.log(max(shape[1], 1)), shape).probability
    return np.stack([source[p > SURE], target[p > SURE]], axis=1)
