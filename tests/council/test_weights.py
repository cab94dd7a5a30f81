"""Weights by how often a voter is right among the links on which it speaks."""

from __future__ import annotations

import pytest

from mixtea.council.weights import shares_right, vote_weights


def test_who_speaks_on_all_links_has_its_plain_share():
    assert shares_right([60, 30], [100, 100], 100) == [0.6, 0.3]


def test_who_speaks_on_few_is_drawn_to_the_mean():
    mean = (60 + 4) / (100 + 5)
    assert shares_right([60, 4], [100, 5], 100) == [0.6, pytest.approx((4 + 20 * mean) / 25)]
    assert shares_right([60, 0], [100, 0], 100) == [0.6, pytest.approx(0.6)]  # one that never speaks is average


def test_many_links_outweigh_what_it_is_drawn_to():
    assert shares_right([600, 490], [1000, 500], 1000)[1] > 0.95


def test_nobody_speaks():
    assert shares_right([0, 0], [0, 0], 5) == [0, 0] and shares_right([], [], 0) == []
    assert vote_weights([0.0, 0.0]) == [0.5, 0.5]
