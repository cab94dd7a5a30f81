"""The engine against whole matrices."""

from __future__ import annotations

import pytest
import torch

from mixtea.compute import similarity
from mixtea.compute.memory import block_mib, row_blocks
from mixtea.compute.similarity import best_both_ways, count_better_and_equal, top_k, unit, unit_rows
from mixtea.errors import MixTEAError


def vectors(n, m, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [unit(torch.randn(k, 5, generator=generator)) for k in (n, m)]


@pytest.mark.parametrize("block", [1, 7, None])
@pytest.mark.parametrize("n, m", [(9, 9), (4, 17), (17, 4), (1, 1)])
def test_best_both_ways(n, m, block):
    source, target = vectors(n, m)
    dense, best = source @ target.T, best_both_ways(source, target, block_size=block)
    assert torch.equal(best.target_of, dense.argmax(1)) and torch.equal(best.source_of, dense.argmax(0))
    torch.testing.assert_close(best.target_score, dense.amax(1))
    torch.testing.assert_close(best.source_score, dense.amax(0))


@pytest.mark.parametrize("block", [1, 2, None])
def test_ties_across_blocks_go_to_the_lowest_index(block):
    ones = torch.tensor([[1.0, 0.0]]).repeat(4, 1)
    best = best_both_ways(ones, ones, block_size=block)
    assert best.target_of.tolist() == best.source_of.tolist() == [0, 0, 0, 0]


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


@pytest.mark.parametrize("failures", [1, 3])
def test_smaller_blocks_when_memory_runs_out(failures, monkeypatch, caplog):
    source, target = vectors(40, 30)
    wanted, sizes = best_both_ways(source, target), []
    real = similarity.similarities

    def full_at_first(rows, others, m):
        sizes.append(len(rows))
        if len(sizes) <= failures:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(rows, others, m)

    monkeypatch.setattr(similarity, "similarities", full_at_first)
    found = best_both_ways(source, target, mib=64)
    assert all(torch.equal(f, w) for f, w in zip(found, wanted, strict=True))
    assert f"blocks of {64 >> failures} MiB" in caplog.text


def test_memory_that_is_never_enough_is_an_error_with_a_way_out(monkeypatch):
    def always_full(rows, others, m):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")

    monkeypatch.setattr(similarity, "similarities", always_full)
    with pytest.raises(MixTEAError, match="smaller entity_dim"):
        best_both_ways(*vectors(4, 3))


def test_other_errors_are_not_taken_for_full_memory():
    with pytest.raises(RuntimeError, match="shapes"):
        best_both_ways(torch.ones(2, 3), torch.ones(2, 4))


def test_columns_that_only_align_a_product_never_win():
    source, target = -torch.ones(3, 2), torch.ones(4, 2)
    padded = torch.cat([target, torch.zeros(4, 2)])
    block = similarity.similarities(source, padded, 4)
    assert torch.equal(block[:, :4], source @ target.T) and (block[:, 4:] == -torch.inf).all()


def test_unit_rows_equal_plain_operations_in_value_and_gradient():
    generator = torch.Generator().manual_seed(0)
    whole = torch.randn(9, 4, generator=generator, dtype=torch.float64).requires_grad_()
    first, second = torch.tensor([3, 0, 7]), torch.tensor([8, 1])
    upstream = [torch.randn(k, 4, generator=generator, dtype=torch.float64) for k in (3, 2)]
    gradients = []
    for rows in (unit_rows(whole, first, second), (unit(whole[first]), unit(whole[second]))):
        total = sum((r * u).sum() for r, u in zip(rows, upstream, strict=True))
        gradients.append(torch.autograd.grad(total, whole)[0])
    torch.testing.assert_close(*gradients)
    zero = torch.zeros(2, 3, requires_grad=True)
    unit_rows(zero, torch.tensor([0]), torch.tensor([1]))[0].sum().backward()
    assert zero.grad.abs().sum() == 0
