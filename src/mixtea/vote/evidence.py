"""What likeness is worth: log-odds of a match, by how alike a pair is and how far ahead of its rivals. No torch.

Learned from links, judged as if each were open; typical odds where there are few. Whoever misleads, for all entities or
for some, is seen through: what is never right weighs nothing, however alike it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

EDGES = np.array([0.15, 0.25, 0.35, 0.5, 0.65, 0.8, 1.0])  # of likeness; the last level is equality
CLOSE = 0.1  # how far the best must be ahead of the next to be clearly the best
BEHIND, TIED, CLOSELY, CLEARLY = range(4)
N_LEVELS = 4 * (len(EDGES) + 1)
PSEUDO = 6.0  # examples that the typical odds count for, at each level
UNLIKE = 0.1  # of the matches, typically: not among the most alike at all
_MIDDLES = np.array([0.08, 0.2, 0.3, 0.42, 0.57, 0.72, 0.9, 1.0])
_TYPICAL = np.stack([np.minimum(8 * _MIDDLES - 9, -3), 0 * _MIDDLES - 0.5, 3 * _MIDDLES - 1, 2 * _MIDDLES + 2])
TYPICAL_ODDS = _TYPICAL.T.ravel()  # logarithms, by level
_SHARES = np.array([[0.03, 0, 0, 0], [0.04, 0, 0.01, 0], [0.03, 0, 0.02, 0.01], [0.03, 0, 0.02, 0.05],
                    [0.01, 0, 0.01, 0.08], [0.005, 0, 0.01, 0.06], [0.005, 0.01, 0.005, 0.04],
                    [0.005, 0.035, 0.01, 0.48]])  # fmt: skip
TYPICAL_SHARES = np.append(_SHARES.ravel() * (1 - UNLIKE) / _SHARES.sum(), UNLIKE)  # of the matches; last: unlike


_UNMATCHED = np.array([1.3, 1.3, 1.3, 1.3, 1.3, 1.0, 0.3, 0.02])  # best pairs of entities without a counterpart, by
UNMATCHED_ODDS = np.repeat(_UNMATCHED, 4)  # likeness, for one of entities with one
FEWEST_TOLD = 30  # entities whose second best pair lies below some likeness, from which on they tell
WELL_ALIKE = 0.65  # likeness at which who is clearly the best tells how many have a counterpart
MATCHED_SO = TYPICAL_SHARES[CLEARLY::4][EDGES.searchsorted(WELL_ALIKE, side="right") :].sum()


class Table(NamedTuple):
    """Log-odds of a match by level, and of a pair that is not among the most alike; `misleading` is the share of the

    links whose likeness tells nothing, `n_links` how many it was learned from.
    """

    odds: np.ndarray
    unlike: float
    misleading: float
    n_links: int


def levels(
    source: np.ndarray, target: np.ndarray, value: np.ndarray, links: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """int64 a pair: its level, by its likeness and by how far it is ahead of its best rival on either side.

    Rivals are entities without a link; the two of a link are judged as if it were not known.
    """
    is_link = among(source, target, links, shape[1])
    rivals = []
    for side, line in enumerate((source, target)):
        other = (target, source)[side]
        is_open = np.ones(shape[1 - side], dtype=bool)
        is_open[links[:, 1 - side]] = False
        rivals.append(_best_rival(line, value, is_open[other] | is_link, shape[side]))
    gap = value - np.maximum(*rivals)
    standing = np.select([gap < -1e-6, gap <= 1e-6, gap < CLOSE], [BEHIND, TIED, CLOSELY], CLEARLY)
    return 4 * np.searchsorted(EDGES, value, side="right") + standing


def _best_rival(line: np.ndarray, value: np.ndarray, counts: np.ndarray, n: int) -> np.ndarray:
    """For each pair the greatest value of another one in its line, of those that count; 0 if there is none."""
    best: np.ndarray = np.zeros(n)
    np.maximum.at(best, line[counts], value[counts])
    is_best = counts & (value >= best[line])
    n_best = np.bincount(line[is_best], minlength=n)
    second: np.ndarray = np.zeros(n)
    rest = counts & ~is_best
    np.maximum.at(second, line[rest], value[rest])
    return np.where(is_best & (n_best[line] == 1), second[line], best[line])


def learned(
    level: np.ndarray, source: np.ndarray, target: np.ndarray, links: np.ndarray, shape: tuple[int, int],
    matched: float = 1.0,
) -> Table:  # fmt: skip
    """The table behind links [p, 2] whose ends both have something to compare.

    log odds(l) = log((T_l + prior) / (F_l + prior)): T_l of the links are at level l, and F_l of the other pairs of
    their sources, with entities that are open. The prior is that of entities of which a share `matched` has a
    counterpart.
    """
    is_link = among(source, target, links, shape[1])
    linked = [np.zeros(n, dtype=bool) for n in shape]
    linked[0][links[:, 0]] = linked[1][links[:, 1]] = True
    true = np.bincount(level[is_link], minlength=N_LEVELS).astype(float)
    false = np.bincount(level[linked[0][source] & ~linked[1][target]], minlength=N_LEVELS).astype(float)
    n, n_rivals = len(links), max(1, shape[1] - len(links))
    missed = max(0.0, n - true.sum())
    misleading = _misleading(np.append(true, missed), false, n, n_rivals)
    typical = 1 / (1 + np.exp(-with_unmatched(TYPICAL_ODDS, matched)))
    odds = np.log(true + PSEUDO * (1 - misleading) * typical + PSEUDO * misleading / n_rivals)
    odds -= np.log(false + PSEUDO * (1 - typical))
    share = (missed + PSEUDO * UNLIKE * matched) / (n + PSEUDO)
    return Table(odds, float(np.log(share / n_rivals)), misleading, n)


def without_links(
    level: np.ndarray, source: np.ndarray, target: np.ndarray, value: np.ndarray, has: tuple[int, int],
    shape: tuple[int, int], power: float = 1.0,
) -> Table:  # fmt: skip
    """The table of pairs where no link is known, from what the second best of each entity looks like.

    Who has a counterpart has its second best by chance, as who has none has its best. So of the best pairs at level l,
    (1 - matched) f0(l) are by chance, f0 [l] counting the second best ones by the level that they would have as the
    best; the others are matches. Typical odds count as much as PSEUDO pairs at each level.
    """
    matched = share_matched(level, source, target, value, has, power)
    best, decoy = _best_and_decoys(level, source, target, value, shape)
    n_best = np.bincount(level[best], minlength=N_LEVELS).astype(float)
    chance = (1 - matched) * np.bincount(decoy, minlength=N_LEVELS) * len(best) / max(len(decoy), 1)
    chance = np.minimum(chance, n_best)
    others = np.bincount(np.delete(level, best), minlength=N_LEVELS)
    typical = 1 / (1 + np.exp(-with_unmatched(TYPICAL_ODDS, matched)))
    odds = np.log(n_best - chance + PSEUDO * typical) - np.log(chance + others + PSEUDO * (1 - typical))
    return Table(odds, float(np.log(UNLIKE * matched / shape[1])), 0.0, 0)


def _best_and_decoys(
    level: np.ndarray, source: np.ndarray, target: np.ndarray, value: np.ndarray, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Places of the best pair of each source; and the levels that the second best ones would have without the best."""
    order = np.lexsort((-value, source))
    begins = np.flatnonzero(np.diff(source[order], prepend=-1))
    sizes = np.diff(np.append(begins, len(order)))
    second = order[begins[sizes > 1] + 1]
    third = np.where(sizes[sizes > 1] > 2, value[order[np.minimum(begins[sizes > 1] + 2, len(order) - 1)]], 0.0)
    everybody = np.ones(len(value), dtype=bool)
    gap = value[second] - np.maximum(third, _best_rival(target, value, everybody, shape[1])[second])
    standing = np.select([gap < -1e-6, gap <= 1e-6, gap < CLOSE], [BEHIND, TIED, CLOSELY], CLEARLY)
    return order[begins], 4 * np.searchsorted(EDGES, value[second], side="right") + standing


def share_matched(
    level: np.ndarray, source: np.ndarray, target: np.ndarray, value: np.ndarray, has: tuple[int, int],
    power: float = 1.0,
) -> float:  # fmt: skip
    """Estimate the share of the entities of the smaller side that has a counterpart.

    `has` are the entities of each side that have something to compare. The estimate is taken to a `power`, since it is
    rather too great where the share is small.
    """
    shares = [_share_of(line, value) for line in (source, target)]
    n_comparable = max(min(has), 1)
    if None in shares:
        well = int(((level % 4 == CLEARLY) & (level >= 4 * EDGES.searchsorted(WELL_ALIKE, side="right"))).sum())
        return min(1.0, max(well, 1) / max(MATCHED_SO * n_comparable, 1))
    matched = min(share**power * n for share, n in zip(shares, has, strict=True) if share is not None)
    return float(np.clip(matched / n_comparable, 1 / n_comparable, 1.0))


def _share_of(line: np.ndarray, value: np.ndarray) -> float | None:
    """The share of one side that has a counterpart; None where too few entities tell.

    Who has a counterpart has its second best pair by chance, who has none its best. So where x is too little for a
    counterpart, N(best <= x) = (1 - share) N(second best <= x), and

        1 - share = min over x of N(best <= x) / N(second best <= x).

    The second best pair of who has none is less alike than the best by chance: where few have a counterpart, the share
    is rather too great.
    """
    order = np.lexsort((-value, line))
    begins = np.flatnonzero(np.diff(line[order], prepend=-1))
    sizes = np.diff(np.append(begins, len(order)))
    best, second = value[order[begins]], np.zeros(len(begins))
    second[sizes > 1] = value[order[begins[sizes > 1] + 1]]
    at = np.arange(0.1, 0.85, 0.05)
    n_best, n_second = ((values[:, None] <= at).sum(axis=0) for values in (best, second))
    told = n_second >= FEWEST_TOLD
    return 1 - min(1.0, float(((n_best[told] + 1) / (n_second[told] + 1)).min())) if told.any() else None


def with_unmatched(odds: np.ndarray, matched: float) -> np.ndarray:
    """Log-odds by level where only a share of the entities has a counterpart: the others are like somebody too."""
    return -np.log(np.exp(-odds) + (1 / matched - 1) * UNMATCHED_ODDS)


def _misleading(true: np.ndarray, false: np.ndarray, n: int, n_rivals: int) -> float:
    """The most likely share of the links that are as alike as any two entities, the others being as is typical."""
    if not n:
        return 0.0
    anyone = np.append(false, max(0.0, n * n_rivals - false.sum()))
    anyone = (anyone + 1e-9) / (anyone + 1e-9).sum()
    share = np.linspace(0, 1, 201)[:, None]
    likelihood = np.log((1 - share) * TYPICAL_SHARES + share * anyone + 1e-300) @ true + np.log1p(-0.99 * share[:, 0])
    return float(share[likelihood.argmax(), 0])


def among(source: np.ndarray, target: np.ndarray, links: np.ndarray, m: int) -> np.ndarray:
    """bool a pair: whether it is one of the links [p, 2]."""
    return np.isin(source * m + target, links[:, 0] * m + links[:, 1])
