"""Eq. 9-13: voting in two directions, fusion, rectification; the paper's Figure 2 as a worked example."""

from __future__ import annotations

import oracle
import pytest
import torch

from mixtea.compute.scored_pairs import pairs_of_keys
from mixtea.compute.similarity import unit
from mixtea.training.fuse import bidirectional_votes, fuse, rectify, vote_weights
from mixtea.voters.votes import directions, make_votes, no_votes

# The situation of the paper's Figure 2: the right pairs on the diagonal, two directions that agree on some pairs and
# conflict on others. From source to target, rows 0, 1 and 2 choose targets 0, 0 and 2; from target to source, columns
# 0, 1 and 2 choose sources 0, 1 and 1. docs/voting.md walks through the same numbers.
FORWARD, BACKWARD = [(0, 0), (1, 0), (2, 2)], [(0, 0), (1, 1), (1, 2)]


def votes_of(pairs, n=3, m=3):
    source, target = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    return make_votes(source, target, torch.ones(len(source), dtype=torch.float64), (n, m))


def test_figure_2_fused_and_rectified():
    fused = fuse([votes_of(FORWARD), votes_of(BACKWARD)], vote_weights((0.6, 0.4)))
    expected = torch.tensor([[1.0, 0, 0], [0.6, 0.4, 0.4], [0, 0, 0.6]], dtype=torch.float64)
    torch.testing.assert_close(fused.to_dense(), expected)
    both, forward, backward = [True, True], [True, False], [False, True]
    assert fused.voters.tolist() == [both, forward, backward, backward, forward]  # who voted
    # (0,0): 1 / (1 + 1.6 - 1) = .625; (1,0): .6 / (1.4 + 1.6 - .6) = .25; (1,1): .4 / (1.4 + .4 - .4) = .286;
    # (1,2): .4 / (1.4 + 1 - .4) = .2; (2,2): .6 / (.6 + 1 - .6) = .6
    expected = torch.tensor([[0.625, 0, 0], [0.25, 0.4 / 1.4, 0.2], [0, 0, 0.6]], dtype=torch.float64)
    torch.testing.assert_close(rectify(fused).to_dense(), expected)


@pytest.mark.parametrize("n, m", [(7, 7), (4, 11), (11, 4), (1, 1), (1, 5)])
@pytest.mark.parametrize("hits", [(0.7, 0.3), (1.0, 0.0), (0.0, 0.5), (0.0, 0.0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_the_dense_formulas(n, m, hits, dtype):
    generator = torch.Generator().manual_seed(n * m)
    source, target = (torch.randn(k, 5, generator=generator, dtype=dtype) for k in (n, m))
    votes = bidirectional_votes(source, target, *hits)
    dense = oracle.bidirectional(source, target, *hits)
    torch.testing.assert_close(votes.to_dense(), dense)
    torch.testing.assert_close(rectify(votes).to_dense(), oracle.rectified(dense))
    assert votes.shape == (n, m) and votes.confidence.dtype == dtype
    assert votes.source.dtype == votes.target.dtype == torch.int64
    assert len(votes) <= n + m


def test_agreement_of_both_directions_is_confidence_one():
    same = torch.eye(3, dtype=torch.float64)
    votes = bidirectional_votes(same, same, 0.3, 0.4)
    assert votes.to_dense().tolist() == same.tolist()


def test_the_lowest_index_wins_an_exact_tie():
    source = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    forward, backward = directions(source, source.repeat(2, 1))
    assert forward.target.tolist() == [0, 0] and backward.source.tolist() == [0, 0, 0, 0]


def test_all_twins_can_get_the_vote():
    source = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    target = torch.tensor([[3.0, 4.0], [0.0, 2.0], [2.0, 0.0], [0.0, 4.0]])
    forward, backward = directions(source, unit(target), tied_votes="all")
    assert sorted(zip(forward.source.tolist(), forward.target.tolist(), strict=True)) == [(0, 2), (1, 1), (1, 3)]
    assert len(backward) == 4


def test_a_rejected_pair_gets_no_vote_and_the_next_best_does():
    source = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    target = unit(torch.tensor([[1.0, 0.1], [1.0, 0.5], [0.1, 1.0]]))
    rejected = pairs_of_keys(torch.tensor([0, 5]), (2, 3))  # (0, 0) and (1, 2)
    forward, backward = directions(source, target, rejected=rejected)
    assert forward.target.tolist() == [1, 1]
    assert list(zip(backward.source.tolist(), backward.target.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 0)]
    twins = directions(source, target[[0, 0, 2]], tied_votes="all", rejected=rejected)[0]
    assert (0, 0) not in zip(twins.source.tolist(), twins.target.tolist(), strict=True)


def test_votes_among_the_first_rows_and_of_some():
    votes = fuse([votes_of(FORWARD), votes_of(BACKWARD)], [0.5, 0.5])
    few = votes.among_first(2, 2)
    assert few.shape == (2, 2) and few.to_dense().tolist() == votes.to_dense()[:2, :2].tolist()
    assert votes.among_first(3, 3) is votes
    assert votes.of_rows(torch.tensor([2, 0])).to_dense().tolist() == votes.to_dense()[[2, 0]].tolist()


def test_nobody_right_gives_equal_weights():
    assert vote_weights((0.0, 0.0)) == [0.5, 0.5]
    assert vote_weights((0.2, 0.2, 0.4)) == [0.25, 0.25, 0.5]


def test_empty_votes_stay_empty():
    like = torch.ones(1)
    fused = fuse([no_votes((2, 3), like)] * 2, [0.5, 0.5])
    assert len(rectify(fused)) == 0 and fused.to_dense().shape == (2, 3)


@pytest.mark.parametrize("n, m", [(0, 3), (3, 0), (0, 0)])
def test_nobody_to_vote_or_to_vote_for(n, m):
    votes = rectify(bidirectional_votes(torch.ones(n, 2), torch.ones(m, 2), 0.5, 0.5))
    assert len(votes) == 0 and votes.shape == (n, m)
