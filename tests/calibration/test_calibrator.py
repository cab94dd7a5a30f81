"""Probabilities that mean what they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from mixtea.calibration.calibrator import (
    PRIOR,
    accept_at_precision,
    calibrated,
    calibration_error,
    calibration_measures,
    fit_calibrator,
    logistic,
    reliability,
)
from mixtea.calibration.features import pair_features


def mappings(n, seed, weights):
    """n random mappings, whether each is right, by a known law, and that none was rehearsed."""
    random = np.random.default_rng(seed)
    degrees = (random.integers(1, 30, n), random.integers(1, 30, n))
    row, column = random.uniform(-12, 12, (2, n))
    seen = pair_features(row, column, random.uniform(0, 40, n), random.uniform(-12, 12, n), degrees)
    return seen, random.random(n) < 1 / (1 + np.exp(-seen @ weights)), np.zeros(n, dtype=bool)


def test_many_links_overrule_the_prior():
    law = np.array([-1.0, 0.8, 0.4, 0.5, 0.3, -0.2, 0.1, 0.1])
    weights = fit_calibrator(*mappings(4000, 0, law))
    seen, right, _ = mappings(20_000, 1, law)
    assert calibration_error(calibrated(seen, weights), right) < 0.02


def test_without_links_the_prior_speaks():
    weights = fit_calibrator(np.empty((0, 8)), np.empty(0, dtype=bool), np.empty(0, dtype=bool))
    np.testing.assert_allclose(weights, PRIOR[:-2])


def test_few_links_stay_near_the_prior_and_one_sided_ones_do_no_harm():
    seen, _, rehearsed = mappings(5, 2, PRIOR[:-2])
    weights = fit_calibrator(seen, np.ones(5, dtype=bool), rehearsed)
    assert np.abs(weights - PRIOR[:-2]).max() < 2
    assert np.isfinite(calibrated(seen, weights)).all()


def test_weights_are_the_most_likely_ones_under_examples_and_prior():
    """Against a search that is told no gradient: few examples, so that the prior pulls as hard as they do."""
    random = np.random.default_rng(5)
    features, right = random.normal(size=(6, 3)), np.array([1.0, 0.0, 1.0, 1.0, 0.2, 0.0])
    prior, spread = np.array([0.5, -1.0, 0.3]), np.array([1.0, 0.4, 2.0])

    def loss(weights):
        p = 1 / (1 + np.exp(-features @ weights))
        away = (weights - prior) / spread
        return -(right * np.log(p) + (1 - right) * np.log(1 - p)).sum() + away @ away / 2

    found = logistic(features, right, prior, spread)
    assert found == pytest.approx(minimize(loss, prior, method="Nelder-Mead", tol=1e-8).x, abs=1e-3)
    assert np.abs(found - prior).max() > 0.05


def test_what_is_rehearsed_may_be_right_more_often():
    """Examples of both kinds by different laws: mappings that are not rehearsed are judged by theirs."""
    law = np.array([0.0, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0])
    seen, right, plain = mappings(3000, 3, law)
    more = mappings(3000, 4, law + np.eye(8)[0])
    examples = [np.concatenate(parts) for parts in ((seen, more[0]), (right, more[1]), (plain, ~more[2]))]
    assert calibration_error(calibrated(seen, fit_calibrator(*examples)), right) < 0.03


def test_the_error_by_hand():
    probability, right = np.array([0.95, 0.95, 0.15, 0.15]), np.array([True, False, False, False])
    assert calibration_error(probability, right) == pytest.approx((2 * 0.45 + 2 * 0.15) / 4)
    assert reliability(probability, right)[-1] == pytest.approx({"n": 2, "probability": 0.95, "right": 0.5})
    assert calibration_error(np.array([1.0, 0.0]), np.array([True, False])) == 0


def test_the_most_probable_are_accepted_as_long_as_their_mean_allows():
    probability = np.array([0.5, 0.99, 0.93, 0.97])
    assert accept_at_precision(probability, 0.95).tolist() == [False, True, True, True]
    assert accept_at_precision(probability, 0.999).tolist() == [False] * 4
    found = calibration_measures(probability, np.array([False, True, True, False]))
    assert found["accepted@95"] == 0.75 and found["accepted@95_precision"] == pytest.approx(2 / 3)
    assert "accepted@95_precision" not in calibration_measures(np.array([0.1]), np.array([True]))
