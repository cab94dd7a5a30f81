"""One-to-one assignment: the total is SciPy's, whichever part of the work finds it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, min_weight_full_bipartite_matching

from mixtea.compute.scored_pairs import ScoredPairs, pairs_of_keys
from mixtea.decide import assignment
from mixtea.decide.assignment import EPSILON, assign

WAYS = {  # to divide the work
    "as it is": {},
    "the auction alone": {"MAX_AUCTION_REST": 0, "MAX_BIDS": 10**9},
    "searches alone": {"MAX_BIDS": 0},
    "searches that get lost": {"MAX_BIDS": 1, "MAX_AUCTION_REST": 0, "MAX_PASSED": 1},
}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    for name, value in WAYS[request.param].items():
        monkeypatch.setattr(assignment, name, value)


def everything(n, m):
    return pairs_of_keys(torch.arange(n * m), (n, m))


def sparse(n, m, each, seed, levels=None):
    """Random candidates, fewer than each a row, with logarithms above -4; whole numbers of levels for ties."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.arange(n).repeat_interleave(each)
    rows = rows[torch.rand(len(rows), generator=generator) < 0.7]
    pairs = pairs_of_keys(rows * m + torch.randint(m, (len(rows),), generator=generator), (n, m))
    logs = -4 * torch.rand(len(pairs), generator=generator, dtype=torch.float64)
    return pairs, logs.round(decimals=4) if levels is None else (logs * levels / 4).round()


def alone(pairs, logs):
    """[n]: one less than the least logarithm of those a row is connected with."""
    n, m = pairs.shape
    graph = csr_matrix((np.ones(len(pairs)), (pairs.source, n + pairs.target)), shape=(n + m, n + m))
    part = torch.from_numpy(connected_components(graph, directed=False)[1]).long()
    least = torch.full((n + m,), torch.inf, dtype=torch.float64)
    return least.scatter_reduce(0, part[pairs.source], logs.double(), "amin")[part[:n]] - 1.0


def total(pairs, logs, found):
    """What was found is one-to-one; its logarithms, and what those without a place count."""
    one = pairs.where(found)
    assert len(one.source.unique()) == len(one) == len(one.target.unique())
    without = np.setdiff1d(pairs.source.numpy(), one.source.numpy())
    return float(logs[found].sum() + alone(pairs, logs)[without].sum())


def best_total(pairs, logs):
    """The same of SciPy's sparse assignment, every row with a place of its own."""
    rows, row = np.unique(pairs.source.numpy(), return_inverse=True)
    n, m = len(rows), pairs.shape[1]
    gains = np.concatenate([logs.numpy(), alone(pairs, logs).numpy()[rows]])
    ends = np.concatenate([row, np.arange(n)]), np.concatenate([pairs.target.numpy(), m + np.arange(n)])
    costs = csr_matrix((1.0 - gains, ends), shape=(n, m + n))
    return n - costs[min_weight_full_bipartite_matching(costs)].sum()


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize(("n", "m", "each"), [(30, 30, 3), (40, 15, 4), (15, 40, 6), (60, 60, 2), (25, 5, 5)])
def test_the_total_is_the_greatest(way, n, m, each, levels):
    for seed in range(10):
        pairs, logs = sparse(n, m, each, seed, levels)
        best = best_total(pairs, logs)
        assert best - n * EPSILON <= total(pairs, logs, assign(pairs, logs)) <= best + 1e-6


@pytest.mark.parametrize(("n", "m"), [(6, 6), (4, 7), (1, 3)])
def test_the_assignment_is_the_best_of_all(way, n, m):
    logs = -3 * torch.rand(n, m, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    found = assign(everything(n, m), logs.flatten()).view(n, m)
    assert np.array_equal(found.nonzero().numpy(), np.stack(linear_sum_assignment(logs.numpy(), maximize=True), axis=1))


def test_rows_that_lose_every_candidate_stay_without(way):
    pairs = pairs_of_keys(torch.tensor([0, 2, 4]), (3, 2))  # three rows, all want column 0
    found = assign(pairs, torch.tensor([-0.5, -0.1, -0.9]))
    assert pairs.where(found).source.tolist() == [1]


def test_no_candidates_no_assignment():
    assert assign(pairs_of_keys(torch.empty(0, dtype=torch.int64), (3, 2)), torch.empty(0)).tolist() == []


def test_unlikely_candidates_take_part_only_where_they_are_the_best():
    logs = torch.tensor([[-0.1, -7.5], [-0.2, -7.5], [-50.0, -9.0]])
    found = assign(everything(3, 2), logs.flatten()).view(3, 2)
    assert found.tolist() == [[True, False], [False, False], [False, True]]


def test_what_is_not_connected_does_not_matter(way):
    pairs, logs = sparse(20, 20, 3, 0)
    both = ScoredPairs(
        torch.cat([pairs.source, pairs.source + 20]), torch.cat([pairs.target, pairs.target + 20]), (40, 40)
    )
    deep = torch.cat([logs, logs - 2.9])
    assert total(both, deep, assign(both, deep)) == pytest.approx(
        best_total(pairs, logs) + best_total(pairs, logs - 2.9), abs=40 * EPSILON
    )


def test_ties_are_decided_by_position_every_time():
    pairs, logs = everything(30, 20), torch.zeros(600)
    found = assign(pairs, logs)
    assert int(found.sum()) == 20 and torch.equal(found, assign(pairs, logs))
    assert assign(everything(3, 1), torch.zeros(3)).tolist() == [True, False, False]


def test_one_big_connected_part():
    pairs, logs = sparse(3000, 2900, 20, 0)
    assert total(pairs, logs, assign(pairs, logs)) == pytest.approx(best_total(pairs, logs), abs=3000 * EPSILON)
