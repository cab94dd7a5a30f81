"""Decoders: each ranks by what it is made of, and rankings are complete."""

from __future__ import annotations

import torch

from mixtea.compute.scored_pairs import pairs_of_keys
from mixtea.council.opinions import csls
from mixtea.decide.decoders import decide, rank_top


def everything(n, m):
    return pairs_of_keys(torch.arange(n * m), (n, m))


def test_one_to_one_ranks_the_assigned_first_and_then_by_belief():
    belief = torch.tensor([[0.6, 0.3, 0.1], [0.7, 0.2, 0.1]])
    pairs = everything(2, 3)
    places = rank_top(pairs, decide(pairs, belief.flatten(), belief.flatten(), "one_to_one"), 3)
    assert pairs.target[places].tolist() == [[1, 0, 2], [0, 1, 2]]  # 0.3 * 0.7 is more than 0.6 * 0.2
    places = rank_top(pairs, decide(pairs, belief.flatten(), belief.flatten(), "sinkhorn"), 3)
    assert pairs.target[places].tolist() == [[0, 1, 2], [0, 1, 2]]


def test_the_other_decoders_go_by_the_scores():
    pairs, scores = everything(2, 3), torch.tensor([0.9, 0.8, 0.1, 0.8, 0.2, 0.1])
    torch.testing.assert_close(decide(pairs, scores, scores, "nearest"), scores)
    torch.testing.assert_close(decide(pairs, scores, scores, "csls"), csls(pairs, scores))
    tied = torch.tensor([0.9, 0.9 + 1e-9, 0.1, 0.8, 0.2, 0.1], dtype=torch.float64)
    assert rank_top(pairs, decide(pairs, tied, tied, "nearest"), 1).tolist() == [[0], [3]]


def test_ranked_says_where_a_row_has_too_few():
    pairs = pairs_of_keys(torch.tensor([1, 3]), (3, 2))
    assert rank_top(pairs, torch.tensor([0.1, 0.2]), 2).tolist() == [[0, -1], [1, -1], [-1, -1]]
