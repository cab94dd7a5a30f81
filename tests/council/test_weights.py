"""Weights by how often a voter is right among the links on which it speaks."""

from __future__ import annotations

import pytest

from mixtea.council.weights import shrunk_hits, vote_weights


def test_who_speaks_on_all_links_has_its_plain_share():
    assert shrunk_hits([60, 30], [100, 100], 100) == [0.6, 0.3]


def test_who_speaks_on_few_is_drawn_to_the_mean():
    mean = (60 + 4) / (100 + 5)
    assert shrunk_hits([60, 4], [100, 5], 100) == [0.6, pytest.approx((4 + 20 * mean) / 25)]
    assert shrunk_hits([60, 0], [100, 0], 100) == [0.6, pytest.approx(0.6)]  # one that never speaks is average


def test_many_links_outweigh_what_it_is_drawn_to():
    assert shrunk_hits([600, 490], [1000, 500], 1000)[1] > 0.95


def test_nobody_speaks():
    assert shrunk_hits([0, 0], [0, 0], 5) == [0, 0] and shrunk_hits([], [], 0) == []
    assert vote_weights([0.0, 0.0]) == [0.5, 0.5]
