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


def typical(level: np.ndarray, n_comparable: int, n_rivals: int) -> Table:
    """The table without links: the fewer pairs are well alike and clearly the best, the fewer have a counterpart.

    `n_comparable` entities of the smaller side have something to compare.
    """
    matched = share_matched(level, n_comparable)
    return Table(with_unmatched(TYPICAL_ODDS, matched), float(np.log(UNLIKE * matched / n_rivals)), 0.0, 0)


def share_matched(level: np.ndarray, n_comparable: int) -> float:
    """Estimate the share of `n_comparable` entities that has a counterpart, by pairs well alike and clearly the best."""
    well = int(((level % 4 == CLEARLY) & (level >= 4 * EDGES.searchsorted(WELL_ALIKE, side="right"))).sum())
    return min(1.0, max(well, 1) / max(MATCHED_SO * n_comparable, 1))


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
