"""Candidate pairs with features: weights of these, learned from links, and how many of the pairs match. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from mixtea.compute.intervals import wilson
from mixtea.compute.matching import Matching, matching, shift_for_total
from mixtea.compute.scored_pairs import ScoredPairs, are_in, best_rival

CLEAR_SIMILARITY = 0.65  # of a clear match that is ahead of its rivals
TYPICAL_WRONG_SHARE = 0.03  # of the matches, typically: a comparison is wrong about them
PSEUDO_LINKS = 10  # links that a typical share counts for
EM_ROUNDS = 4
LINKS_HALF_TRUSTED = 100  # links whose share counts as much as the one that is estimated without links
LINKS_HALF_FITTED = 1000  # links whose fitted constant counts as much as the one by the number of counterparts
MIN_FOUND_SHARE = 0.5  # of the expected links, found at the least: below, the number of counterparts is lowered
MIN_SAMPLE = 30  # entities whose second best pair lies below some similarity, from which on they show a share
STANDARD_ERRORS = 2.0  # of the share of best pairs below some similarity, to the upper end of its interval
CLEAR_MARGIN = 0.1  # of similarity, by which a clear match is ahead of its rivals
SHARE_ROUNDS = 3  # in which the share of entities with a counterpart is estimated
MAX_SHARE = 0.99
_QUANTILES = np.arange(0.05, 0.96, 0.05)  # of the second best similarity, at which shares are compared


class Feature(NamedTuple):
    """A column of numbers per pair: its typical weight, and how far links may move it (standard deviation)."""

    name: str
    weight: float
    spread: float


@dataclass(frozen=True, eq=False)
class CandidatePairs(ScoredPairs):
    """Candidate pairs between `n_comparable` entities of each side: their `similarity`, and their `features` [p, f].

    From `clear_similarity` on a pair that is ahead of its rivals is a clear match. `settled`, bool [n] per side, are
    entities that have found their match and looked for no further candidates. `device` is where matchings are computed.
    """

    n_comparable: tuple[int, int] = (0, 0)
    clear_similarity: float = CLEAR_SIMILARITY
    settled: tuple[np.ndarray, np.ndarray] | None = None
    device: str = "cpu"

    @property
    def n_targets(self) -> int:
        """Return how many targets there are, at least one."""
        return max(self.shape[1], 1)


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
        log_odds = np.clip(np.einsum("cf,f->c", columns, weights), -50, 50)  # small: threads of BLAS would only wait
        weight = np.exp(log_odds)
        total = 1 + np.bincount(line, weight, minlength=len(n_links))
        value += (n_links @ np.log(total) - log_odds @ links) / 2
        slope += np.einsum("c,cf->f", n_links[line] * weight / total[line] - links, columns) / 2
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


def estimate_matched(candidates: CandidatePairs, score: np.ndarray) -> tuple[float, float, Matching]:
    """Estimate how many counterparts there are, and the constant with which `score` [p] leads to that number.

    `score` are log-odds but for the constant. After the first round rivals that others want more count less: the
    messages of the matching lower the score of their pairs.
    """
    sides: tuple[np.ndarray, ...] = (score, score)
    most = MAX_SHARE * _size_of_largest_matching(candidates)
    n_before = None
    for _ in range(SHARE_ROUNDS):
        if (n_matched := _number_matched(candidates, sides, most)) == n_before:
            break
        n_before = n_matched
        constant, found = shift_for_total(candidates, score, n_matched, device=candidates.device)
        messages = (found.messages.to_source, found.messages.to_target)
        sides = tuple(score + np.log(np.maximum(to_it, 1e-30)) for to_it in messages)
    return n_matched, constant, found


def _number_matched(candidates: CandidatePairs, sides: tuple[np.ndarray, ...], most: float) -> float:
    """Estimate the number of counterparts: by the side that shows more of them, and at least the clear matches.

    More than `most` would be out of reach, however large the constant.
    """
    settled = candidates.settled or [np.zeros(n, dtype=bool) for n in candidates.shape]
    by_side = []
    for line, value, n, is_settled in zip(candidates.ends, sides, candidates.n_comparable, settled, strict=True):
        looking, n_settled = ~is_settled[line], int(is_settled.sum())
        by_side.append(n_settled + share_matched(line[looking], value[looking]) * max(n - n_settled, 0))
    return float(np.clip(max(*by_side, _n_clear(candidates)), min(1.0, most), most))


def _size_of_largest_matching(candidates: CandidatePairs) -> int:
    pairs = csr_matrix((np.ones(len(candidates.source), dtype=np.int8), candidates.ends), shape=candidates.shape)
    return int((maximum_bipartite_matching(pairs, perm_type="column") >= 0).sum())


def share_matched(line: np.ndarray, value: np.ndarray) -> float:
    """Estimate the share of the entities in `line` that have a counterpart, from their best and second best values.

    Let q be the probability that no pair by chance is above x; by Poisson, that of one at most is q (1 - log q). Who
    has a counterpart has its second best pair by chance, who has none its two best. So where x is too little for a
    counterpart, of the shares B and S of best and second best values up to x

        B = (1 - share) q, S = share q + (1 - share) q (1 - log q), hence S = q - B log q and share = 1 - B / q.

    The greatest share over x counts: elsewhere some counterparts are below x. Near a share of 0 slightly too small a B
    looks like many counterparts, so B is the upper end of its interval. The share is 0 where few entities are below
    any x, and where chance alone explains what is seen.
    """
    order = np.lexsort((-value, line))
    begins = np.flatnonzero(np.diff(line[order], prepend=-1))
    sizes = np.diff(np.append(begins, len(order)))
    best, second = value[order[begins]], np.full(len(begins), value.min(initial=0.0))
    second[sizes > 1] = value[order[begins[sizes > 1] + 1]]
    at = np.quantile(second, _QUANTILES) if len(second) else np.empty(0)
    n_best, n_second = ((values[:, None] <= at).sum(axis=0) for values in (best, second))
    told = n_second >= MIN_SAMPLE
    n_best, n_second, n = n_best[told] + 0.5, n_second[told] + 0.5, np.full(told.sum(), len(best) + 1.0)
    s = n_second / n
    b = np.minimum(wilson(n_best, n, STANDARD_ERRORS)[1], s)
    return float((1 - b / _unreached(b, s)).max(initial=0.0))


def _unreached(b: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Solve s = q - b log q for q in [b, 1] by bisection; b where there is no solution."""
    low, high = b.copy(), np.ones_like(b)
    for _ in range(40):
        middle = (low + high) / 2
        above = middle - b * np.log(middle) > s
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.where(b - b * np.log(b) < s, high, b)


def _n_clear(candidates: CandidatePairs) -> int:
    """Count the entities in similar pairs that are the best of both their ends, and clearly so for one of them.

    Where an entity has several such pairs, one at most is a match: the side with fewer entities counts.
    """
    value = candidates.similarity
    ahead = [value - best_rival(line, value, n) for line, n in zip(candidates.ends, candidates.shape, strict=True)]
    clear = (value >= candidates.clear_similarity) & (np.minimum(*ahead) >= 0) & (np.maximum(*ahead) >= CLEAR_MARGIN)
    return min(len(np.unique(line[clear])) for line in candidates.ends)


def constant_with_links(
    candidates: CandidatePairs, score: np.ndarray, links: np.ndarray, n_matched: float, fitted: float
) -> float:
    """Find the constant with which links, and as many others as have a counterpart, are matched.

    Links can show that more entities have a counterpart than are counted without links. They cannot show fewer: when
    its link is hidden, a linked entity still has more similar ones than one without a counterpart, which the other
    graph may not cover at all. But linked entities should be found about as often as all are taken to have a
    counterpart: where they are found far less, much of what looks like a counterpart is not one, and the number is
    lowered in that proportion. The constant that was `fitted` to links counts as well, the more, the more links there
    are.

    The links are evaluated with the constant by `n_matched`, or the one `fitted` to links, whichever separates linked
    entities better from those whose link is hidden.
    """
    constant, found = shift_for_total(candidates, score, n_matched, device=candidates.device)
    by_links = max(
        (_share_by_links(candidates, score + c, links) for c in (constant, fitted)), key=lambda by: by.reliability
    )
    n_right = found.probability[candidates.are_among(links)].sum()
    n_expected = len(links) * n_matched / max(min(candidates.n_comparable), 1)
    n_matched *= min((n_right / MIN_FOUND_SHARE + PSEUDO_LINKS) / (n_expected + PSEUDO_LINKS), 1.0)
    trust = by_links.reliability * len(links) / (by_links.reliability * len(links) + LINKS_HALF_TRUSTED)
    share = max(n_matched - by_links.n_linked, 0.0) / by_links.n_open
    share = min(share + trust * max(by_links.share * by_links.right - share, 0.0), MAX_SHARE)
    total = min(by_links.n_linked, n_matched) + share * by_links.n_open
    constant = shift_for_total(candidates, score, total, device=candidates.device)[0]
    return constant + len(links) ** 2 / (len(links) ** 2 + LINKS_HALF_FITTED**2) * (fitted - constant)


class ShareByLinks(NamedTuple):
    """The share of the `n_open` entities that have a counterpart, and how reliable links are for it, from 0 to 1.

    `right` is the share of the links that are found, `n_linked` how many of the linked entities are matched, rightly or
    not.
    """

    share: float
    right: float
    reliability: float
    n_linked: float
    n_open: int


def _share_by_links(candidates: CandidatePairs, log_odds: np.ndarray, links: np.ndarray) -> ShareByLinks:
    """Estimate the share of open entities that have a counterpart, on the side with fewer entities.

    With F1 the share of linked entities that are matched, F0 the same when the links are not among the candidates, M
    the share of open entities that are matched, and s the share that has a counterpart (adjusted counts):

        M = s F1 + (1 - s) F0, so s = (M - F0) / (F1 - F0), and links tell it the better, the greater F1 - F0.
    """
    side = int(np.argmin(candidates.n_comparable))
    line, n = candidates.ends[side], candidates.shape[side]
    is_link = candidates.are_among(links)
    linked = [are_in(links[:, end], size) for end, size in enumerate(candidates.shape)]
    is_open = ~(linked[0][candidates.source] | linked[1][candidates.target])
    other = linked[side][line] & ~linked[1 - side][candidates.ends[1 - side]]  # of linked ones, without their links
    probability = matching(candidates, log_odds, device=candidates.device).probability
    kept = is_open | other
    hidden = np.zeros(len(line))
    hidden[kept] = matching(candidates.where(kept), log_odds[kept], device=candidates.device).probability
    n_linked, of_linked = int(linked[side].sum()), is_link | other
    n_open = max(candidates.n_comparable[side] - n_linked, 1)
    found = float(np.minimum(np.bincount(line[of_linked], probability[of_linked], minlength=n), 1).sum())
    looking = linked[side] if candidates.settled is None else linked[side] & ~candidates.settled[side]
    by_chance = float(hidden[other & looking[line]].sum()) / max(int(looking.sum()), 1)
    reliability = max(found / n_linked - by_chance, 1e-3)
    share = (float(probability[is_open].sum()) / n_open - by_chance) / reliability
    return ShareByLinks(share, float(probability[is_link].sum()) / len(links), reliability, found, n_open)
