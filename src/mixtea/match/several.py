"""Further targets of a source, where it may have several. No torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from mixtea.match.answers import Ranked

LEAST = 0.5  # probability of each further target


class Further(NamedTuple):
    """Places of sources and of their candidates in `Ranked`, and how likely each is."""

    row: np.ndarray
    place: np.ndarray
    probability: np.ndarray


def further_targets(found: Ranked, taken: np.ndarray, given: np.ndarray) -> Further:
    """The candidates beside those that are mapped, each above LEAST and given to the likeliest of its sources.

    `taken` are the targets that are mapped or linked already. Sources whose place is in `given`, which have a link,
    need no counterpart beside it, so that only how likely the candidate is right counts.
    """
    has_one = np.where(given, 1.0, found.counterpart)
    probability = found.likelihood * has_one[:, None]
    row, place = np.nonzero((probability > LEAST) & ~found.silent & ~np.isin(found.target, taken))
    sure = probability[row, place]
    order = np.lexsort((row, -sure))
    kept = np.sort(order[np.unique(found.target[row[order], place[order]], return_index=True)[1]])
    return Further(row[kept], place[kept], sure[kept])
