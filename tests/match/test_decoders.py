"""Decoders: one-to-one assignment equals SciPy's dense one, and rankings are complete."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from mixtea.compute.pairs import pairs_of_keys
from mixtea.match.decoders import assign, decide, ranked
from mixtea.vote.normalise import csls


def everything(n, m):
    return pairs_of_keys(torch.arange(n * m), (n, m))


@pytest.mark.parametrize(("n", "m"), [(6, 6), (4, 7), (1, 3)])
def test_the_assignment_is_the_best_of_all(n, m):
    logs = -3 * torch.rand(n, m, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    found = assign(everything(n, m), logs.flatten()).view(n, m)
    rows, columns = linear_sum_assignment(logs.numpy(), maximize=True)
    assert np.array_equal(found.nonzero().numpy(), np.stack([rows, columns], axis=1))


def test_rows_that_lose_every_candidate_stay_without():
    pairs = pairs_of_keys(torch.tensor([0, 2, 4]), (3, 2))  # three rows, all want column 0
    found = assign(pairs, torch.tensor([-0.5, -0.1, -0.9]))
    assert pairs.where(found).source.tolist() == [1]
    assert not assign(pairs_of_keys(torch.empty(0, dtype=torch.int64), (3, 2)), torch.empty(0)).any()


def test_separate_problems_are_solved_each_on_its_own():
    generator = torch.Generator().manual_seed(0)
    blocks = torch.full((40, 40), -50.0, dtype=torch.float64)  # far below what takes part
    for first in range(0, 40, 4):
        blocks[first : first + 4, first : first + 4] = -torch.rand(4, 4, generator=generator, dtype=torch.float64)
    found = assign(everything(40, 40), blocks.flatten()).view(40, 40)
    rows, columns = linear_sum_assignment(blocks.numpy(), maximize=True)
    assert np.array_equal(found.nonzero().numpy(), np.stack([rows, columns], axis=1))


def test_one_to_one_ranks_the_assigned_first_and_then_by_belief():
    belief = torch.tensor([[0.6, 0.3, 0.1], [0.7, 0.2, 0.1]])
    pairs = everything(2, 3)
    places = ranked(pairs, decide(pairs, belief.flatten(), belief.flatten(), "one_to_one"), 3)
    assert pairs.target[places].tolist() == [[1, 0, 2], [0, 1, 2]]  # 0.3 * 0.7 is more than 0.6 * 0.2
    places = ranked(pairs, decide(pairs, belief.flatten(), belief.flatten(), "sinkhorn"), 3)
    assert pairs.target[places].tolist() == [[0, 1, 2], [0, 1, 2]]


def test_the_other_decoders_go_by_the_scores():
    pairs, scores = everything(2, 3), torch.tensor([0.9, 0.8, 0.1, 0.8, 0.2, 0.1])
    torch.testing.assert_close(decide(pairs, scores, scores, "nearest"), scores)
    torch.testing.assert_close(decide(pairs, scores, scores, "csls"), csls(pairs, scores))
    tied = torch.tensor([0.9, 0.9 + 1e-9, 0.1, 0.8, 0.2, 0.1], dtype=torch.float64)
    assert ranked(pairs, decide(pairs, tied, tied, "nearest"), 1).tolist() == [[0], [3]]


def test_ranked_says_where_a_row_has_too_few():
    pairs = pairs_of_keys(torch.tensor([1, 3]), (3, 2))
    assert ranked(pairs, torch.tensor([0.1, 0.2]), 2).tolist() == [[0, -1], [1, -1], [-1, -1]]
