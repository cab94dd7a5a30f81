"""Learn what features of a candidate pair are worth, as log-odds of a match. No torch.

    l_ij = constant + sum over f of w_f x_ijf

The weights w have typical values that links move (a normal prior). The constant is such that the probabilities of a
random matching with these log-odds add up to the number of counterparts, which is estimated without any link.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mixtea.compute.matching import MAX_LOG_ODDS, matching
from mixtea.compute.scored_pairs import are_in
from mixtea.voters.candidate_pairs import (
    PSEUDO_LINKS,
    TYPICAL_WRONG_SHARE,
    CandidatePairs,
    Feature,
    constant_with_links,
    estimate_matched,
    robust_weights,
)

CONSTANT_SPREAD = 2.0  # how far links may move the constant
TYPICAL_MISSING_SHARE = 0.1  # of the matches, typically: not among the candidates at all
MIN_INFORMATIVE = 1.0  # log-odds against a pair of which nothing is known, below which a comparison tells nothing
MAX_CERTAIN = 1 - 1e-9
MIN_UNMATCHED = 1e-6  # probability that a source is in none of its pairs, as far as stored numbers are exact


class LearnedWeights(NamedTuple):
    """Weights per feature and the constant; `n_matched` is the estimated number of counterparts."""

    weights: np.ndarray
    constant: float
    n_matched: float

    def log_odds(self, columns: np.ndarray) -> np.ndarray:
        """Compute l [p] of columns [p, f]."""
        return self.constant + columns @ self.weights


def learn_weights(candidates: CandidatePairs, features: Sequence[Feature], links: np.ndarray) -> LearnedWeights:
    """Learn weights from links [p, 2] whose ends can be compared; without any, typical weights remain.

    Links show what a match looks like, given that there is one; the estimated share of entities that have one lowers
    the constant from there.
    """
    typical = np.array([feature.weight for feature in features])
    n_matched, constant, _ = estimate_matched(candidates, candidates.features @ typical)
    share = float(np.clip(n_matched / max(min(candidates.n_comparable), 1), 1e-6, 1.0))
    if not len(links):
        return LearnedWeights(typical, constant, n_matched)
    not_found = np.log(
        (1 - share + TYPICAL_MISSING_SHARE * share) / TYPICAL_MISSING_SHARE
    )  # how much rarer it is that a link is not found
    prior = Feature("constant", constant + not_found, CONSTANT_SPREAD)
    fitted, *weights = robust_weights(candidates, links, (prior, *features))
    score = candidates.features @ weights
    constant = constant_with_links(candidates, score, links, n_matched, fitted - not_found)
    return LearnedWeights(np.array(weights), constant, n_matched)


class BoundedLogOdds(NamedTuple):
    """Log-odds per candidate pair; `unmatched` [n] per side is how likely none of its candidates is an entity's match.

    `wrong` is the share of matches about which the comparison is wrong, `misleading` that of the `n_links` links that
    are not more likely by it than pairs of which nothing is known.
    """

    log_odds: np.ndarray
    unmatched: tuple[np.ndarray, np.ndarray]
    wrong: float
    misleading: float = 0.0
    n_links: int = 0

    def of_others(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Compute the log-odds of pairs that are not candidates."""
        free = np.minimum(self.unmatched[0][source], self.unmatched[1][target])
        m = max(len(self.unmatched[1]), 1)
        return np.log(((1 - self.wrong) * free + self.wrong) / m)


def bounded_log_odds(
    candidates: CandidatePairs, log_odds: np.ndarray, links: np.ndarray, wrong: float | None = None
) -> BoundedLogOdds:
    """Turn log-odds of pairs into those among all their rivals, bounded by how often the comparison misleads.

    With p the marginals of the matching, u how likely both ends are unmatched by it, s the share of matches for which
    the comparison is wrong, and m targets:

        q = (1 - s) (p + u / m) + s / m, and the log-odds are log(q / (1 - q)).

    So neither similarity nor its absence is ever certain. s is `wrong` if that is given, else the most likely under
    the links [l, 2], each judged as if it were not known; for open entities the ends of links are no rivals.
    """
    (source, target), m = candidates.ends, candidates.n_targets
    probability = matching(candidates, log_odds, device=candidates.device).probability
    share = TYPICAL_WRONG_SHARE if wrong is None else wrong
    if len(links):
        share = _share_wrong(candidates, probability, links) if wrong is None else wrong
        linked = [are_in(links[:, end], n) for end, n in enumerate(candidates.shape)]
        is_open = ~(linked[0][source] | linked[1][target])
        probability[is_open] = matching(
            candidates.where(is_open), log_odds[is_open], device=candidates.device
        ).probability
    unmatched = _unmatched(candidates, probability)
    free = np.minimum(unmatched[0][source], unmatched[1][target])
    q = np.clip((1 - share) * (probability + free / m) + share / m, 0.0, MAX_CERTAIN)
    log_odds = np.log(q / (1 - q))
    if not len(links):
        return BoundedLogOdds(log_odds, unmatched, share)
    told = log_odds[candidates.are_among(links)] > -np.log(max(m - len(links), 1)) + MIN_INFORMATIVE
    misleading = float(np.clip(1 - told.sum() / len(links), 0.0, 1.0))
    return BoundedLogOdds(log_odds, unmatched, share, misleading, len(links))


def bounded_log_odds_of_new(
    candidates: CandidatePairs, log_odds: np.ndarray, unmatched: np.ndarray, wrong: float
) -> BoundedLogOdds:
    """Do as `bounded_log_odds` does for sources that are added to an existing matching.

    `unmatched` [m] is how likely each target is in no pair of that matching, which is its message to a further source
    (compute/matching.py). Every source is judged as if it came alone:

        p_ij = w_ij u_j / (1 + sum over j' of w_ij' u_j'), and with it j is unmatched with u_j (1 - p_ij)
    """
    (source, target), m = candidates.ends, candidates.n_targets
    weight = np.exp(np.clip(log_odds, -MAX_LOG_ODDS, MAX_LOG_ODDS)) * unmatched[target]
    alone = 1 / (1 + np.bincount(source, weight, minlength=candidates.shape[0]))
    probability = weight * alone[source]
    free = np.minimum(alone[source], unmatched[target] * (1 - probability))
    q = np.clip((1 - wrong) * (probability + free / m) + wrong / m, 0.0, MAX_CERTAIN)
    return BoundedLogOdds(np.log(q / (1 - q)), (alone, unmatched), wrong)


def log_odds_of_several(source: np.ndarray, log_odds: np.ndarray, wrong: float, shape: tuple[int, int]) -> np.ndarray:
    """Compute from the log-odds of `bounded_log_odds` those of sources whose targets are no rivals of each other.

    A marginal p_ij of a matching is w_ij m_j (1 - sum over j' of p_ij'), w_ij m_j the weight of the pair that the other
    sources leave. Alone the pair has the probability

        w_ij m_j / (1 + w_ij m_j) = p_ij / (p_ij + 1 - sum over j' of p_ij')

    which is bounded by how often the comparison misleads, as p is. NaN stays NaN.
    """
    m = max(shape[1], 1)
    p = match_probability(log_odds, wrong, m)
    unmatched = np.maximum(1 - np.bincount(source, np.nan_to_num(p), minlength=shape[0]), MIN_UNMATCHED)
    q = np.clip((1 - wrong) * p / (p + unmatched[source]) + wrong / m, 0.0, MAX_CERTAIN)
    return np.log(q / (1 - q))


def match_probability(log_odds: np.ndarray, wrong: float, m: int) -> np.ndarray:
    """Return [p]: how likely each pair is in the matching from which `bounded_log_odds` computed these."""
    q = 1 / (1 + np.exp(-log_odds))
    return np.maximum(q - wrong / max(m, 1), 0.0) / (1 - wrong)


def _unmatched(candidates: CandidatePairs, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how likely each entity of both sides is in none of its candidate pairs."""
    ours, theirs = (
        np.clip(1 - np.bincount(line, probability, minlength=n), 0.0, 1.0)
        for line, n in zip(candidates.ends, candidates.shape, strict=True)
    )
    return ours, theirs


def _share_wrong(candidates: CandidatePairs, probability: np.ndarray, links: np.ndarray) -> float:
    """Find the most likely share of links for which the comparison is wrong, with TYPICAL_WRONG_SHARE as prior."""
    m = candidates.n_targets
    p = candidates.look_up(links[:, 0], links[:, 1], probability, 0.0)
    free = _unmatched(candidates, probability)[0][links[:, 0]]
    share = np.linspace(0.005, 0.95, 190)[:, None]
    found = np.log((1 - share) * (p + free / m) + share / m).sum(axis=1)
    prior = PSEUDO_LINKS * (TYPICAL_WRONG_SHARE * np.log(share) + (1 - TYPICAL_WRONG_SHARE) * np.log1p(-share))[:, 0]
    return float(share[(found + prior).argmax(), 0])
