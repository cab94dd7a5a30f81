"""Sparse candidates: found again, best of rows and columns, cosines by either way."""

from __future__ import annotations

import pytest
import torch

from mixtea.compute import nearest as nearest_module
from mixtea.compute.nearest import cosines, nearest_pairs
from mixtea.compute.scored_pairs import ScoredPairs, pairs_of_keys, rank_within, top_k_mask, union
from mixtea.compute.similarity import products_at, unit


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


def test_vectors_of_zeros_are_not_multiplied_with_all_others(monkeypatch):
    """They stand behind the others, and get what a product would have given them."""
    generator = torch.Generator().manual_seed(3)
    source, target = torch.zeros(90_000, 4), torch.zeros(40, 4)
    source[:20], target[:30] = (unit(torch.randn(n, 4, generator=generator)) for n in (20, 30))
    wanted = (source @ target.T).topk(3, dim=1, sorted=False).indices
    real, rows = nearest_module.similarities, []

    def counted(block, *others):
        rows.append(len(block))
        return real(block, *others)

    monkeypatch.setattr(nearest_module, "similarities", counted)
    row, column = nearest_module._nearest(source, target, 3, None, 1)
    assert row.tolist() == torch.arange(90_000).repeat_interleave(3).tolist() and 20 <= sum(rows) < 10_000
    assert column.view(-1, 3).equal(wanted)


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_cosines_are_the_same_row_by_row_pair_by_pair_and_from_whole_products(dtype):
    generator = torch.Generator().manual_seed(4)
    source, target = (unit(torch.randn(n, 8, generator=generator, dtype=dtype)) for n in (9, 7))
    pairs = pairs_of_keys(torch.arange(0, 63, 2), (9, 7))
    wanted = (source @ target.T).flatten()[::2]
    torch.testing.assert_close(cosines(source, target, pairs), wanted)
    torch.testing.assert_close(products_at(source, target, pairs.source, pairs.target, 600), wanted)
    assert cosines(source, target, pairs.where(pairs.source < 0)).shape == (0,)


def test_products_of_halves_are_added_up_in_single_precision():
    source, target = torch.full((1, 4096), 0.1).half(), torch.full((1, 4096), 0.1).half()
    found = products_at(source, target, torch.tensor([0]), torch.tensor([0]), 1 << 20)
    assert found.dtype == torch.float32 and found.item() == pytest.approx(4096 * float(source[0, 0]) ** 2)


def test_some_rows_alone_look_for_their_nearest():
    generator = torch.Generator().manual_seed(3)
    source, target = (unit(torch.randn(n, 8, generator=generator)) for n in (30, 20))
    rows, columns = torch.tensor([4, 17]), torch.tensor([0])
    wanted = torch.zeros(30, 20, dtype=torch.bool)
    similarity = source @ target.T
    wanted[rows.repeat_interleave(3), similarity[rows].topk(3, dim=1).indices.flatten()] = True
    wanted[similarity[:, 0].topk(3).indices, 0] = True
    found = nearest_pairs(source, target, 3, looking=(rows, columns))
    assert torch.equal(found.key, wanted.flatten().nonzero()[:, 0])


@pytest.mark.parametrize("values", [[5.0, 1.0, 7.0, 4.0, 2.0], [5.0, 5.0, 5.0, 5.0, 5.0]])
def test_the_best_of_each_line_are_as_many_as_asked_for(values):
    line, values = torch.tensor([1, 0, 1, 1, 2]), torch.tensor(values)
    best = top_k_mask(line, values, 3, 2)
    assert torch.bincount(line[best], minlength=3).tolist() == [1, 2, 1]
    assert best.tolist() == [True, True, True, False, True] or len(set(values.tolist())) == 1
    assert not len(top_k_mask(line[:0], values[:0], 3, 2))


def test_a_union_holds_each_pair_once():
    a, b = pairs_of_keys(torch.tensor([1, 5]), (2, 4)), pairs_of_keys(torch.tensor([5, 6]), (2, 4))
    assert union([a, b]).key.tolist() == [1, 5, 6] and isinstance(union([a]), ScoredPairs)
