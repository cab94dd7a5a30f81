"""CSLS and Sinkhorn on candidates equal their dense twins where all pairs are candidates."""

from __future__ import annotations

import oracle
import pytest
import torch

from mixtea.compute.scored_pairs import pairs_of_keys
from mixtea.council.opinions import csls, normalise_with_null, sinkhorn


@pytest.fixture
def scores():
    return torch.rand(6, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_csls_equals_its_dense_twin(scores):
    pairs = pairs_of_keys(torch.arange(30), (6, 5))
    torch.testing.assert_close(csls(pairs, scores.flatten(), 3).view(6, 5), oracle.csls(scores, 3))
    torch.testing.assert_close(csls(pairs, scores.flatten()).view(6, 5), oracle.csls(scores, 10))


@pytest.mark.parametrize(("temperature", "rounds"), [(1.0, 1), (0.1, 10), (0.02, 30)])
def test_sinkhorn_equals_its_dense_twin(scores, temperature, rounds):
    pairs = pairs_of_keys(torch.arange(30), (6, 5))
    found = sinkhorn(pairs, scores.flatten(), temperature, rounds).view(6, 5)
    torch.testing.assert_close(found, oracle.sinkhorn(scores, temperature, rounds))
    torch.testing.assert_close(found.sum(0), torch.ones(5, dtype=torch.float64))


def test_sinkhorn_counts_missing_pairs_as_impossible_and_survives_rows_and_columns_without_any():
    pairs = pairs_of_keys(torch.tensor([0, 1, 4]), (4, 3))  # row 2 and 3 and column 2 have none
    found = sinkhorn(pairs, torch.tensor([0.9, 0.8, 0.7]), 0.05, 200)
    assert torch.isfinite(found).all()
    torch.testing.assert_close(found[0] + 0, torch.tensor(1.0), atol=2e-2, rtol=0)  # column 1 goes to row 1
    assert found[1] < 0.02


def test_probabilities_among_rivals_equal_their_dense_twin():
    odds = 4 * torch.randn(6, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    found = normalise_with_null(pairs_of_keys(torch.arange(30), (6, 5)), odds.flatten()).view(6, 5)
    torch.testing.assert_close(found, oracle.among_rivals(odds))
    assert (found.sum(0) < 1).all() and (found.sum(1) < 1).all()


def test_among_rivals_missing_pairs_are_impossible_and_large_odds_do_not_overflow():
    pairs = pairs_of_keys(torch.tensor([0, 1, 5]), (3, 3))
    dense = torch.full((3, 3), -torch.inf).index_put_((pairs.source, pairs.target), torch.tensor([1.0, 2.0, -3.0]))
    found = normalise_with_null(pairs, torch.tensor([1.0, 2.0, -3.0]))
    torch.testing.assert_close(found, oracle.among_rivals(dense)[pairs.source, pairs.target])
    torch.testing.assert_close(
        normalise_with_null(pairs, torch.tensor([900.0, 900.0, -900.0])), torch.tensor([0.5, 0.5, 0.0])
    )
    assert len(normalise_with_null(pairs_of_keys(torch.arange(0), (2, 2)), torch.empty(0))) == 0
