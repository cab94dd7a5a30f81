"""The engine against whole matrices."""

from __future__ import annotations

import pytest
import torch

from mixtea.similarity import best_both_ways, block_mib, count_better_and_equal, row_blocks, top_k, unit


def vectors(n, m, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [unit(torch.randn(k, 5, generator=generator)) for k in (n, m)]


@pytest.mark.parametrize("block", [1, 7, None])
@pytest.mark.parametrize("n, m", [(9, 9), (4, 17), (17, 4), (1, 1)])
def test_best_both_ways(n, m, block):
    source, target = vectors(n, m)
    dense, best = source @ target.T, best_both_ways(source, target, block_size=block)
    assert torch.equal(best.target, dense.argmax(1)) and torch.equal(best.source, dense.argmax(0))
    torch.testing.assert_close(best.target_score, dense.amax(1))
    torch.testing.assert_close(best.source_score, dense.amax(0))


@pytest.mark.parametrize("block", [1, 2, None])
def test_ties_across_blocks_go_to_the_lowest_index(block):
    ones = torch.tensor([[1.0, 0.0]]).repeat(4, 1)
    best = best_both_ways(ones, ones, block_size=block)
    assert best.target.tolist() == best.source.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("block", [1, 7, None])
def test_counts(block):
    source, target = vectors(6, 11)
    truth = torch.tensor([0, 3, 5, 10, 2, 2])
    dense = source @ target.T
    true = dense.gather(1, truth[:, None])
    better, equal = count_better_and_equal(source, target, truth, block_size=block)
    assert torch.equal(better, (dense > true + 1e-6).sum(1))
    assert equal.tolist() == [1] * 6


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "manhattan"])
def test_top_k(metric):
    source, target = vectors(6, 11)
    order = 1 if metric == "manhattan" else 2
    far = (source[:, None] - target[None]).norm(p=order, dim=2)
    found = top_k(source, target, 3, metric, block_size=4)
    assert torch.equal(found.sort(1).values, far.topk(3, largest=False).indices.sort(1).values)


def test_blocks_cover_everything_within_the_budget():
    cpu = torch.device("cpu")
    blocks = list(row_blocks(0, 1000, 1 << 20, cpu, mib=256))
    assert [b.start for b in blocks] == [0, 256, 512, 768] and blocks[-1].stop == 1000
    assert list(row_blocks(7, 7, 8, cpu)) == []
    assert next(iter(row_blocks(3, 9, 1 << 40, cpu))) == slice(3, 4)
    assert [block_mib(width, cpu) for width in (8, 1 << 18, 1 << 30)] == [32, 64, 256]
