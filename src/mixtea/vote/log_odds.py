"""Learn what features of a candidate pair are worth, as log-odds of a match. No torch.

    l_ij = constant + sum over f of w_f x_ijf

The weights w have typical values that links move (a normal prior). The constant is such that the probabilities of a
random matching with these log-odds add up to the number of counterparts, which is estimated without any link.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from mixtea.compute.intervals import wilson
from mixtea.compute.matching import Matching, matching, shift_for_total

CONSTANT_SPREAD = 2.0  # how far links may move the constant
LINKS_HALF_TRUSTED = 100  # links whose constant counts as much as the one by the number of counterparts
UNLIKE = 0.1  # of the matches, typically: not among the candidates at all
WRONG = 0.03  # of the matches, typically: a comparison is wrong about them
LEAST_TOLD = 1.0  # log-odds against a pair of which nothing is known, below which a comparison tells nothing
PSEUDO_LINKS = 10  # links that this typical share counts for
TOLERATED = 0.5  # of the expected links, found at the least: below, the number of counterparts is lowered
EM_ROUNDS = 4
MAX_CERTAIN = 1 - 1e-9
MIN_TELLING = 30  # entities whose second best pair lies below some similarity, from which on they show a share
STANDARD_ERRORS = 2.0  # of the share of best pairs below some similarity, to the upper end of its interval
CLEARLY_SIMILAR, CLEAR_MARGIN = 0.65, 0.1  # similarity of a clear match, and how far it is ahead of its rivals
SHARE_ROUNDS = 3  # in which the share of entities with a counterpart is estimated
MAX_SHARE = 0.99
_QUANTILES = np.arange(0.05, 0.96, 0.05)  # of the second best similarity, at which shares are compared


class Feature(NamedTuple):
    """A column of numbers per pair: its typical weight, and how far links may move it (standard deviation)."""

    name: str
    weight: float
    spread: float


class Learned(NamedTuple):
    """Weights per feature and the constant; `n_matched` is the estimated number of counterparts."""

    weights: np.ndarray
    constant: float
    n_matched: float

    def log_odds(self, columns: np.ndarray) -> np.ndarray:
        """Compute l [p] of columns [p, f]."""
        return self.constant + columns @ self.weights


class CandidatePairs(NamedTuple):
    """Candidate pairs between `n_comparable` entities of each side: their similarity, and their features [p, f]."""

    source: np.ndarray
    target: np.ndarray
    similarity: np.ndarray
    columns: np.ndarray
    shape: tuple[int, int]
    n_comparable: tuple[int, int]

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self.source, self.target


def learn(candidates: CandidatePairs, features: Sequence[Feature], links: np.ndarray) -> Learned:
    """Learn weights from links [p, 2] whose ends can be compared; without any, typical weights remain.

    Links show what a match looks like, given that there is one; the estimated share of entities that have one lowers
    the constant from there.
    """
    typical = np.array([feature.weight for feature in features])
    n_matched, constant, _ = counted(candidates, candidates.columns @ typical)
    share = float(np.clip(n_matched / max(min(candidates.n_comparable), 1), 1e-6, 1.0))
    if not len(links):
        return Learned(typical, constant, n_matched)
    not_found = np.log((1 - share + UNLIKE * share) / UNLIKE)  # how much rarer it is that a link is not found
    prior = Feature("constant", constant + not_found, CONSTANT_SPREAD)
    fitted, *weights = robust_weights(candidates, links, (prior, *features))
    score = candidates.columns @ weights
    constant = _constant_with_links(candidates, score, links, n_matched, fitted - not_found)
    return Learned(np.array(weights), constant, n_matched)


def _constant_with_links(
    candidates: CandidatePairs, score: np.ndarray, links: np.ndarray, n_matched: float, fitted: float
) -> float:
    """Find the constant with which links, and as many others as have a counterpart, are matched.

    Links can show that more have one than are counted without links. They are no measure of fewer: when its link is
    hidden, a linked entity still has more alike to it than one without a counterpart, which the other graph may not
    cover at all. But linked entities should be found about as often as all are taken to have a counterpart: where they
    are found far less, much of what looks like a counterpart is none, and the number is lowered in that proportion.

    What links show is looked at with the constant by `n_matched`, or the one that was `fitted` to links, whichever
    tells linked entities better from those whose link is hidden.
    """
    constant, found = shift_for_total(*candidates.ends, score, candidates.shape, n_matched)
    by_links = max(
        (_share_by_links(candidates, score + c, links) for c in (constant, fitted)), key=lambda by: by.reliability
    )
    n_right = found.probability[among(*candidates.ends, links, candidates.shape[1])].sum()
    n_expected = len(links) * n_matched / max(min(candidates.n_comparable), 1)
    n_matched *= min((n_right / TOLERATED + PSEUDO_LINKS) / (n_expected + PSEUDO_LINKS), 1.0)
    trust = by_links.reliability * len(links) / (by_links.reliability * len(links) + LINKS_HALF_TRUSTED)
    share = max(n_matched - by_links.n_linked, 0.0) / by_links.n_open
    share = min(share + trust * max(by_links.share - share, 0.0), MAX_SHARE)
    total = min(by_links.n_linked, n_matched) + share * by_links.n_open
    return shift_for_total(*candidates.ends, score, candidates.shape, total)[0]


class ShareByLinks(NamedTuple):
    """The share of the `n_open` entities that have a counterpart, and how well links tell it, from 0 to 1.

    `n_linked` is how many of the linked entities are matched, rightly or not.
    """

    share: float
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
    is_link = among(*candidates.ends, links, candidates.shape[1])
    linked = [np.zeros(size, dtype=bool) for size in candidates.shape]
    linked[0][links[:, 0]] = linked[1][links[:, 1]] = True
    is_open = ~(linked[0][candidates.source] | linked[1][candidates.target])
    other = linked[side][line] & ~linked[1 - side][candidates.ends[1 - side]]  # of linked ones, without their links
    probability = matching(*candidates.ends, log_odds, candidates.shape).probability
    kept = is_open | other
    ends = candidates.source[kept], candidates.target[kept]
    hidden = np.zeros(len(line))
    hidden[kept] = matching(*ends, log_odds[kept], candidates.shape).probability
    n_linked, of_linked = int(linked[side].sum()), is_link | other
    n_open = max(candidates.n_comparable[side] - n_linked, 1)
    found = float(np.minimum(np.bincount(line[of_linked], probability[of_linked], minlength=n), 1).sum())
    by_chance = float(hidden[other].sum()) / n_linked
    reliability = max(found / n_linked - by_chance, 1e-3)
    share = (float(probability[is_open].sum()) / n_open - by_chance) / reliability
    return ShareByLinks(share, reliability, found, n_open)


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


def judge(candidates: CandidatePairs, log_odds: np.ndarray, links: np.ndarray) -> BoundedLogOdds:
    """Turn log-odds of pairs into those among all their rivals, bounded by how often the comparison misleads.

    With p the marginals of the matching, u how likely both ends are unmatched by it, s the share of matches for which
    the comparison is wrong, and m targets:

        q = (1 - s) (p + u / m) + s / m, and the log-odds are log(q / (1 - q)).

    So neither similarity nor its absence is ever certain. s is the most likely under the links [l, 2], each judged as
    if it were not known; for open entities the ends of links are no rivals.
    """
    source, target = candidates.ends
    m = max(candidates.shape[1], 1)
    probability = matching(source, target, log_odds, candidates.shape).probability
    share = WRONG
    if len(links):
        share = _share_wrong(candidates, probability, links)
        linked = [np.zeros(n, dtype=bool) for n in candidates.shape]
        linked[0][links[:, 0]] = linked[1][links[:, 1]] = True
        is_open = ~(linked[0][source] | linked[1][target])
        ends = source[is_open], target[is_open]
        probability[is_open] = matching(*ends, log_odds[is_open], candidates.shape).probability
    unmatched = _unmatched(candidates, probability)
    free = np.minimum(unmatched[0][source], unmatched[1][target])
    q = np.clip((1 - share) * (probability + free / m) + share / m, 0.0, MAX_CERTAIN)
    log_odds = np.log(q / (1 - q))
    if not len(links):
        return BoundedLogOdds(log_odds, unmatched, share)
    told = log_odds[among(source, target, links, m)] > -np.log(max(m - len(links), 1)) + LEAST_TOLD
    misleading = float(np.clip(1 - told.sum() / len(links), 0.0, 1.0))
    return BoundedLogOdds(log_odds, unmatched, share, misleading, len(links))


def _unmatched(candidates: CandidatePairs, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How likely each entity of both sides is in none of its candidate pairs."""
    ours, theirs = (
        np.clip(1 - np.bincount(line, probability, minlength=n), 0.0, 1.0)
        for line, n in zip(candidates.ends, candidates.shape, strict=True)
    )
    return ours, theirs


def _share_wrong(candidates: CandidatePairs, probability: np.ndarray, links: np.ndarray) -> float:
    """Find the most likely share of links for which the comparison is wrong, near WRONG with few of them."""
    m = max(candidates.shape[1], 1)
    p = values_of((links[:, 0], links[:, 1]), candidates.ends, probability, m, 0.0)
    free = _unmatched(candidates, probability)[0][links[:, 0]]
    share = np.linspace(0.005, 0.95, 190)[:, None]
    found = np.log((1 - share) * (p + free / m) + share / m).sum(axis=1)
    prior = PSEUDO_LINKS * (WRONG * np.log(share) + (1 - WRONG) * np.log1p(-share))[:, 0]
    return float(share[(found + prior).argmax(), 0])


def counted(candidates: CandidatePairs, score: np.ndarray) -> tuple[float, float, Matching]:
    """Estimate how many counterparts there are, and the constant with which `score` [p] leads to that number.

    `score` are log-odds but for the constant. After the first round rivals that others want more count less: the
    messages of the matching lower the score of their pairs.
    """
    sides: tuple[np.ndarray, ...] = (score, score)
    most = MAX_SHARE * _size_of_largest_matching(candidates)
    for _ in range(SHARE_ROUNDS):
        n_matched = _number_matched(candidates, sides, most)
        constant, found = shift_for_total(*candidates.ends, score, candidates.shape, n_matched)
        messages = (found.messages.to_source, found.messages.to_target)
        sides = tuple(score + np.log(np.maximum(to_it, 1e-30)) for to_it in messages)
    return n_matched, constant, found


def _number_matched(candidates: CandidatePairs, sides: tuple[np.ndarray, ...], most: float) -> float:
    """Estimate the number of counterparts: by the side that shows more of them, and at least the clear matches.

    More than `most` would be out of reach, however large the constant.
    """
    shares = [share_matched(line, value) for line, value in zip(candidates.ends, sides, strict=True)]
    by_side = [share * n for share, n in zip(shares, candidates.n_comparable, strict=True)]
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
    told = n_second >= MIN_TELLING
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
    clear = (value >= CLEARLY_SIMILAR) & (np.minimum(*ahead) >= 0) & (np.maximum(*ahead) >= CLEAR_MARGIN)
    return min(len(np.unique(line[clear])) for line in candidates.ends)


def best_rival(line: np.ndarray, value: np.ndarray, n: int) -> np.ndarray:
    """Return per pair the greatest value of another one in its line; 0 if there is none."""
    best: np.ndarray = np.zeros(n)
    np.maximum.at(best, line, value)
    is_best = value >= best[line]
    alone = np.bincount(line[is_best], minlength=n) == 1
    second: np.ndarray = np.zeros(n)
    np.maximum.at(second, line[~is_best], value[~is_best])
    return np.where(is_best & alone[line], second[line], best[line])


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
    """Fit weights to links for some of which the comparison is wrong, as `judge` takes them, by EM.

    With P the probability of a link by the features, s the share of links for which they are wrong, and m targets, a
    link counts by (1 - s) P / ((1 - s) P + s / m): one between a symbol and a name says nothing of spelling.
    """
    m, share, belief = max(candidates.shape[1], 1), WRONG, np.ones(len(links))
    for _ in range(EM_ROUNDS):
        weights = fitted_weights(candidates, links, features, belief)
        told = (1 - share) * _link_probability(candidates, links, weights)
        belief = told / (told + share / m)
        share = float(((1 - belief).sum() + PSEUDO_LINKS * WRONG) / (len(links) + PSEUDO_LINKS))
    return weights


def _link_probability(candidates: CandidatePairs, links: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Compute how likely each link is chosen among the candidates of its ends, the geometric mean of both.

    One that is not a candidate is any of the m that are not.
    """
    log_p = np.zeros(len(links))
    log_odds = np.clip(weights[0] + candidates.columns @ weights[1:], -50, 50)
    m = max(candidates.shape[1], 1)
    own = values_of((links[:, 0], links[:, 1]), candidates.ends, log_odds, m, -float(np.log(m)))
    for side, choice in enumerate(choices(candidates, links)):
        reached = np.exp(np.clip(choice.columns @ weights, -50, 50))
        log_p += (own - np.log1p(np.bincount(choice.line, reached, minlength=len(choice.n_links)))[links[:, side]]) / 2
    return np.exp(log_p)


def values_of(
    wanted: tuple[np.ndarray, np.ndarray], ends: tuple[np.ndarray, np.ndarray], value: np.ndarray, m: int,
    missing: float,
) -> np.ndarray:  # fmt: skip
    """Look up the value [p] of wanted pairs among those with these `ends` [p]; `missing` for those not among them."""
    key, wanted_key = ends[0] * m + ends[1], wanted[0] * m + wanted[1]
    order = np.argsort(key)
    if not len(key):
        return np.full(len(wanted_key), missing)
    place = order[np.minimum(np.searchsorted(key[order], wanted_key), len(key) - 1)]
    return np.where(key[place] == wanted_key, value[place], missing)


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
    m = max(candidates.shape[1], 1)
    is_link = among(*candidates.ends, links, m)
    of_pair = values_of(candidates.ends, (links[:, 0], links[:, 1]), counts, m, 0.0)
    columns = np.column_stack([np.ones(len(candidates.source)), candidates.columns])
    is_linked = [np.isin(np.arange(n), links[:, side]) for side, n in enumerate(candidates.shape)]
    n_links = [np.bincount(links[:, side], counts, minlength=n) for side, n in enumerate(candidates.shape)]
    ours, theirs = (of_side[line] for of_side, line in zip(is_linked, candidates.ends, strict=True))
    kept = (is_link | (ours & ~theirs), is_link | (theirs & ~ours))
    by_source, by_target = (
        Choices(line[at], columns[at], of_pair[at], n)
        for line, at, n in zip(candidates.ends, kept, n_links, strict=True)
    )
    return by_source, by_target


def among(source: np.ndarray, target: np.ndarray, links: np.ndarray, m: int) -> np.ndarray:
    """Return per pair whether it is one of the links [p, 2]."""
    return np.isin(source * m + target, links[:, 0] * m + links[:, 1])
