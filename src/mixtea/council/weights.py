"""Weights of voters by their hits on the validation links (Eq. 11), and of views that may repeat each other. No torch.

Log-odds of independent views are added as they are. Names, descriptions and their vectors are not independent: what the
second of them adds is found by the pairs that the first is sure of, or by the links, and it counts by that. Vectors are
mostly of the same texts, and agree wherever names are equal: that they add more than a little is only shown by links.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mixtea.compute.matching import matching
from mixtea.compute.scored_pairs import ScoredPairs, pairs_of_keys
from mixtea.voters.candidate_pairs import CandidatePairs, Feature, fitted_weights

if TYPE_CHECKING:
    from mixtea.voters.similarity import SimilarityVoter

MAX_SHRINKAGE = 20  # links by which a voter without a score for some is drawn to the mean
SURE_VIEW_PROBABILITY = 0.9  # by the best view alone, from which on a pair shows the weight of the others
CONSTANT = Feature("constant", -2.0, 3.0)
FURTHER_VIEW_PRIOR = (0.4, 0.3)  # expected weight of a view beside the best one, and its spread
MAX_VECTOR_WEIGHT = 0.2  # of vectors beside names, until links show more
LINK_SPREAD = 0.2  # of weights learned from links, around those from sure pairs


def vote_weights(hits: Sequence[float]) -> list[float]:
    """Compute beta_k = hit_k / sum of hits (Eq. 11, for any number of voters); equal weights when there are no hits."""
    total = sum(hits)
    return [hit / total for hit in hits] if total > 0 else [1 / len(hits)] * len(hits)


def shrunk_hits(right: Sequence[float], scored: Sequence[float], n_links: int) -> list[float]:
    """Compute hit_k = (right_k + d_k mean) / (scored_k + d_k): each voter's share right among the links that it scores.

    It is drawn to the mean of all by d_k = min(20, the links without a score); with a score for all it is not drawn.
    """
    mean = sum(right) / total if (total := sum(scored)) > 0 else 0.0
    drawn = [min(MAX_SHRINKAGE, n_links - n) for n in scored]
    return [(r + d * mean) / (n + d) if n + d else mean for r, n, d in zip(right, scored, drawn, strict=True)]


def view_weights(voters: Sequence[SimilarityVoter], links: np.ndarray, shape: tuple[int, int]) -> dict[str, float]:
    """Learn the weight of each view by the pairs that the best view is sure of, and then by links [p, 2].

    The best view is the one that is sure of the most pairs; it has weight 1, unless links show something else.
    """
    if len(voters) < 2:
        return {voter.opinion: 1.0 for voter in voters}
    pairs = pairs_of_keys(np.concatenate([voter.opinions().found.key for voter in voters]), shape)
    columns = np.stack([np.nan_to_num(voter.opinions().log_odds(*pairs.ends)) for voter in voters], axis=1)
    sure = [_sure_pairs(pairs, column) for column in columns.T]
    best = int(np.argmax([len(pairs) for pairs in sure]))

    def candidates(features: np.ndarray) -> CandidatePairs:
        known = {"similarity": columns[:, best], "features": features}
        return CandidatePairs(*pairs.ends, shape, known, n_comparable=shape)

    weights = np.ones(len(voters))
    others = [place for place in range(len(voters)) if place != best]
    features = [CONSTANT, *(Feature(voters[place].opinion, *FURTHER_VIEW_PRIOR) for place in others)]
    shown = fitted_weights(candidates(columns[:, others]), sure[best], features)[1:]
    most = [MAX_VECTOR_WEIGHT if voters[place].evidence == "semantic" else 1.0 for place in others]
    weights[others] = np.clip(shown, 0.0, most)
    if len(links):
        features = [
            CONSTANT,
            *(Feature(v.opinion, w, LINK_SPREAD) for v, w in zip(voters, weights.tolist(), strict=True)),
        ]
        weights = np.maximum(fitted_weights(candidates(columns), links, features)[1:], 0.0)
    return {voter.opinion: float(weight) for voter, weight in zip(voters, weights, strict=True)}


def _sure_pairs(pairs: ScoredPairs, log_odds: np.ndarray) -> np.ndarray:
    """Find the pairs [p, 2] of which a view is sure, from log-odds relative to a pair without evidence."""
    p = matching(pairs, log_odds - np.log(max(pairs.shape[1], 1))).probability
    return np.stack(pairs.where(p > SURE_VIEW_PROBABILITY).ends, axis=1)
