"""Sparse candidates: found again, best of rows and columns, cosines by either way."""

from __future__ import annotations

import pytest
import torch

import mixtea.compute.pairs
from mixtea.compute.pairs import Pairs, cosines, nearest_pairs, pairs_of_keys, rank_within, union
from mixtea.compute.similarity import unit


def everything(n, m):
    return pairs_of_keys(torch.arange(n * m), (n, m))


def test_pairs_are_found_at_their_place_and_others_are_not():
    pairs = pairs_of_keys(torch.tensor([7, 2, 7, 5]), (3, 4))
    assert pairs.source.tolist() == [0, 1, 1] and pairs.target.tolist() == [2, 1, 3]
    place, found = pairs.find(torch.tensor([1, 0, 2]), torch.tensor([3, 2, 0]))
    assert found.tolist() == [True, True, False] and place.tolist() == [2, 0, 0]
    empty = pairs_of_keys(torch.empty(0, dtype=torch.int64), (3, 4))
    assert not empty.find(torch.tensor([1]), torch.tensor([1]))[1].any()


def test_the_first_of_equal_scores_is_the_best_of_its_row_and_column():
    scores = torch.tensor([[1.0, 3.0, 3.0], [2.0, 3.0, 0.0]])
    pairs = everything(2, 3)
    assert pairs.best_of_rows(scores.flatten()).view(2, 3).nonzero().tolist() == [[0, 1], [1, 1]]
    assert pairs.best_of_columns(scores.flatten()).view(2, 3).nonzero().tolist() == [[0, 1], [0, 2], [1, 0]]


def test_rank_within_a_line_counts_from_the_greatest_and_keeps_the_order_of_equal_ones():
    line = torch.tensor([1, 0, 1, 1, 0])
    assert rank_within(line, torch.tensor([5.0, 1.0, 7.0, 5.0, 2.0]), 3).tolist() == [1, 1, 0, 2, 0]


@pytest.mark.parametrize("mib", [None, 1])
def test_nearest_pairs_are_the_k_best_of_each_row_and_of_each_column(mib):
    generator = torch.Generator().manual_seed(3)
    source, target = (unit(torch.randn(n, 8, generator=generator)) for n in (30, 20))
    similarity = source @ target.T
    wanted = torch.zeros(30, 20, dtype=torch.bool)
    wanted.scatter_(1, similarity.topk(3, dim=1).indices, True)
    wanted.scatter_(0, similarity.topk(3, dim=0).indices, True)
    found = nearest_pairs(source, target, 3, mib=mib)
    assert torch.equal(found.key, wanted.flatten().nonzero()[:, 0])
    assert len(nearest_pairs(source, target, 50, mib=mib)) == 600


@pytest.mark.parametrize("dense", [0, 10_000])
def test_cosines_are_the_same_pair_by_pair_and_from_whole_products(dense, monkeypatch):
    monkeypatch.setattr(mixtea.compute.pairs, "DENSE", dense)
    monkeypatch.setattr(mixtea.compute.pairs, "CHUNK_BYTES", {"cpu": 600})
    generator = torch.Generator().manual_seed(4)
    source, target = (unit(torch.randn(n, 8, generator=generator, dtype=torch.float64)) for n in (9, 7))
    pairs = pairs_of_keys(torch.arange(0, 63, 2), (9, 7))
    torch.testing.assert_close(cosines(source, target, pairs), (source @ target.T).flatten()[::2])


def test_a_union_holds_each_pair_once():
    a, b = pairs_of_keys(torch.tensor([1, 5]), (2, 4)), pairs_of_keys(torch.tensor([5, 6]), (2, 4))
    assert union([a, b]).key.tolist() == [1, 5, 6] and isinstance(union([a]), Pairs)
