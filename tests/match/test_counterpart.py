"""Who has a counterpart: known laws, drawn samples, and links that were given for easy entities."""

from __future__ import annotations

import numpy as np
import pytest

from mixtea.match.calibration import calibration_error
from mixtea.match.counterpart import counterparts, like_the_links, share_with_counterpart, told_apart


def population(n, share, seed, gap=2.0):
    """Features of n sources, whether each has a counterpart, and how often its best candidate would then be right."""
    random = np.random.default_rng(seed)
    has = random.random(n) < share
    seen = random.normal(size=(n, 6)) + gap * has[:, None] * np.array([0.5, 1, 1, 0.5, 0.5, 0])
    seen[:, 5] = random.random(n) < np.where(has, 0.95, 0.4)
    return seen, has, np.full(n, 0.9)


def drawn(has, n, seed):
    known = np.zeros(len(has), dtype=bool)
    known[np.random.default_rng(seed).choice(np.flatnonzero(has), n, replace=False)] = True
    return known


@pytest.mark.parametrize("share", [0.3, 0.7])
@pytest.mark.parametrize("n_links", [200, 1500])
def test_a_mixture_is_taken_apart(share, n_links):
    seen, has, right = population(20_000, share, 0)
    p = counterparts(seen, drawn(has, n_links, 1), right, 1.0)
    assert p.mean() == pytest.approx(share, abs=0.08)
    assert calibration_error(p, has) < 0.1 and ((p > 0.5) == has).mean() > 0.85


@pytest.mark.parametrize("n_links", [50, 200, 1500])
def test_where_all_have_one_nobody_is_doubted(n_links):
    seen, has, right = population(20_000, 1.0, 2)
    assert counterparts(seen, drawn(has, n_links, 3), right, 1.0).mean() > 0.9


def test_there_are_no_more_counterparts_than_targets():
    seen, has, right = population(20_000, 0.9, 4)
    p = counterparts(seen, drawn(has, 500, 5), right, 0.4)
    assert p.mean() == pytest.approx(0.4, abs=0.02)


def test_links_given_for_easy_entities_are_not_taken_for_a_sample():
    """All links are of entities far out in one feature: the evidence decides, not how links look."""
    seen, has, right = population(20_000, 0.4, 6)
    easy = has & (seen[:, 3] > np.quantile(seen[has, 3], 0.98))
    p = counterparts(seen, easy, right, 1.0)
    assert 0.25 < p.mean() < 0.75 and ((p > 0.5) == has).mean() > 0.75


def test_few_links_say_nothing_and_sizes_still_do():
    seen, has, right = population(5_000, 0.4, 7)
    few = drawn(has, 5, 8)
    assert (counterparts(seen, few, right, 1.0) == 1).all()
    p = counterparts(seen, few, right, 0.4)
    assert p.mean() == pytest.approx(0.4, abs=0.05) and ((p > 0.5) == has).mean() > 0.7


def test_the_share_is_the_ratio_in_the_upper_tail():
    everyone = np.concatenate([np.linspace(1, 2, 500), np.linspace(0, 0.9, 500)])
    assert share_with_counterpart(everyone, np.linspace(1, 2, 5000)) == pytest.approx(0.5, abs=0.01)
    assert share_with_counterpart(everyone, everyone) == 1


def test_weighted_sources_look_like_the_links():
    """mean(p x) = share * mean of the links, as the loss's slope says."""
    seen, has, _ = population(5_000, 0.5, 9)
    x = np.column_stack([np.ones(len(seen)), seen])
    known = drawn(has, 2_000, 10)
    p = 1 / (1 + np.exp(-x @ like_the_links(x, x[known], 0.5)))
    np.testing.assert_allclose(p @ x / len(x), 0.5 * x[known].mean(axis=0), atol=0.01)


def test_nobody_is_judged_by_what_was_learned_from_them():
    """Random features: scores of the known ones are no greater than those of others."""
    random = np.random.default_rng(11)
    x = np.column_stack([np.ones(4_000), random.normal(size=(4_000, 6))])
    known = random.random(4_000) < 0.02
    scores = told_apart(x, known)
    assert scores[known].mean() < 0.2
