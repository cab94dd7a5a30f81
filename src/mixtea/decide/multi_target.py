"""Further targets of a source, where it may have several. No torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from mixtea.decide.answers import Ranked

LEAST = 0.5  # probability of each further target


class Further(NamedTuple):
    """Places of sources and of their candidates in `Ranked`, and how likely each is."""

    row: np.ndarray
    place: np.ndarray
    probability: np.ndarray


def further_targets(found: Ranked, taken: np.ndarray, has_one: np.ndarray, least: float = LEAST) -> Further:
    """Choose the candidates beside those that are mapped, each above `least` and given to the likeliest of its sources.

    `taken` are the targets that are mapped or linked already. A source has a further target if it has one already: it
    is mapped, or it has a link (`has_one`, bool per source).
    """
    probability = found.probability(found.target.shape[1])
    able = (probability > least) & ~found.silent & ~np.isin(found.target, taken) & has_one[:, None]
    row, place = np.nonzero(able)
    sure = probability[row, place]
    order = np.lexsort((row, -sure))
    kept = np.sort(order[np.unique(found.target[row[order], place[order]], return_index=True)[1]])
    return Further(row[kept], place[kept], sure[kept])
