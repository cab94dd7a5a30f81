"""Numbers each once, in order. No torch."""

from __future__ import annotations

import numpy as np


def distinct(numbers: np.ndarray) -> np.ndarray:
    """Return each of the numbers [n] once, ascending: `np.unique` by sorting, which is faster than its hash table.

    >>> distinct(np.array([3, 1, 3]))
    array([1, 3])
    """
    ordered = np.sort(numbers)
    return ordered[np.r_[True, ordered[1:] != ordered[:-1]]] if len(ordered) else ordered
