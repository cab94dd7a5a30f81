"""Confidence intervals of shares of few cases. No torch."""

from __future__ import annotations

import numpy as np

Z = 1.96  # standard errors either side: nineteen times of twenty, the true share lies between
MIN_CASES_ALONE = 1000  # cases from which on a share is shown alone


def wilson(met: np.ndarray, of: np.ndarray, z: float) -> tuple[np.ndarray, np.ndarray]:
    """Return both ends of Wilson's interval for the shares met / of, z standard errors to either side."""
    share, half = met / of, z * z / (2 * of)
    spread = z * np.sqrt(share * (1 - share) / of + half / (2 * of))
    low, high = ((share + half + sign * spread) / (1 + 2 * half) for sign in (-1, 1))
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def interval(share: float, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of so many cases; (0, 1) for none.

    >>> [round(end, 3) for end in interval(0.8, 50)], interval(0.5, 0)
    ([0.67, 0.888], (0.0, 1.0))
    """
    if not of:
        return 0.0, 1.0
    low, high = wilson(np.array([share * of]), np.array([float(of)]), Z)
    return float(low[0]), float(high[0])


def interval_text(share: float, of: int | None, form: str = "{:.3f}") -> str:
    """Return the interval of a share of few cases as text, "" for many cases.

    >>> interval_text(0.8, 50), interval_text(0.8, 5000), interval_text(0.8, 50, "{:.0%}")
    (' (0.670–0.888)', '', ' (67%–89%)')
    """
    if not of or of >= MIN_CASES_ALONE:
        return ""
    return " ({})".format("–".join(form.format(end) for end in interval(share, of)))
