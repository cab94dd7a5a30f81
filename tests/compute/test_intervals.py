"""Intervals of shares: those of other people's tables, and where they are shown."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from mixtea.compute.intervals import MIN_CASES_ALONE, interval, interval_text, wilson


@pytest.mark.parametrize(("met", "of"), [(0, 1), (1, 1), (8, 10), (195, 200), (500, 1000)])
def test_the_interval_is_wilsons(met, of):
    known = binomtest(met, of).proportion_ci(0.95, method="wilson")
    assert interval(met / of, of) == pytest.approx((known.low, known.high), abs=1e-4)


def test_of_nothing_all_is_possible():
    assert interval(0.0, 0) == (0.0, 1.0)


def test_wider_with_more_standard_errors_and_fewer_cases():
    low, high = wilson(np.array([5.0, 50.0]), np.array([10.0, 100.0]), 1.96)
    assert low[0] < low[1] < 0.5 < high[1] < high[0]
    wider = wilson(np.array([5.0]), np.array([10.0]), 3.0)
    assert wider[0][0] < low[0] and wider[1][0] > high[0]


def test_only_shares_of_few_cases_have_one_beside_them():
    assert interval_text(0.5, MIN_CASES_ALONE) == interval_text(0.5, None) == interval_text(0.5, 0) == ""
    assert interval_text(0.5, MIN_CASES_ALONE - 1) == " (0.469–0.531)"
