"""Eq. 1: Faiss and the streamed search give the same answers."""

from __future__ import annotations

import pytest
import torch

from mixtea.compute.nearest import has_faiss, nearest
from mixtea.compute.similarity import unit

METRICS = ["cosine", "euclidean", "manhattan"]


def dense(source, target, metric):
    source, target = source.double(), target.double()
    if metric == "cosine":
        return unit(source) @ unit(target).T
    return -(source[:, None] - target[None]).norm(p=1 if metric == "manhattan" else 2, dim=2)


def vectors_with_twins(seed=0):
    """40 x 60 vectors in which every third target has a twin."""
    generator = torch.Generator().manual_seed(seed)
    source, target = torch.randn(40, 16, generator=generator), torch.randn(60, 16, generator=generator)
    target[1::3] = target[0::3]
    source[:20] = target[10:30] + 0.1 * source[:20]
    return source, target


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [1, 5, 60, 100])
def test_same_answers_from_both_engines(metric, k):
    assert has_faiss()
    source, target = vectors_with_twins()
    scores, rows = nearest(source, target, k, metric, engine="streamed", mib=1)
    faiss_scores, faiss_rows = nearest(source, target, k, metric, engine="faiss")
    assert torch.equal(rows, faiss_rows) and torch.equal(scores, faiss_scores)


@pytest.mark.parametrize("metric", METRICS)
def test_equals_the_dense_ranking(metric):
    source, target = vectors_with_twins()
    scores, _ = nearest(source, target, 5, metric)
    wanted = dense(source, target, metric).topk(5)
    torch.testing.assert_close(scores.double(), wanted.values, rtol=1e-5, atol=1e-6)
    assert (scores[:, :-1] >= scores[:, 1:] - 1e-6).all()


def test_a_tie_goes_to_the_lower_row():
    target = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    for engine in ("streamed", "faiss"):
        _, rows = nearest(torch.tensor([[3.0, 0.0]]), target, 3, engine=engine)
        assert rows.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("dtype, rounding", [(torch.float32, 1e-7), (torch.float64, 1e-15)])
def test_a_difference_of_rounding_is_a_tie(dtype, rounding):
    target = torch.tensor([[0.0, 1.0], [1.0, 1e-3], [1.0, 1e-3]], dtype=dtype)
    target[2, 1] -= rounding  # nearer, by less than a product's rounding
    _, rows = nearest(torch.tensor([[1.0, 0.0]], dtype=dtype), target, 2, engine="streamed")
    assert rows.tolist() == [[1, 2]]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [1, 3, 25])
def test_more_twins_than_candidates(metric, k):
    """Forty equal targets between twenty others: the lowest of them, in order, from both engines."""
    generator = torch.Generator().manual_seed(0)
    target = torch.randn(60, 8, generator=generator)
    target[7:47] = target[7]
    source = target[[7, 50]]
    for engine in ("streamed", "faiss"):
        scores, rows = nearest(source, target, k, metric, engine=engine)
        assert rows[0].tolist() == list(range(7, 7 + k)) and (scores[0] == scores[0, 0]).all()
        assert rows[1, 0] == 50 and len(set(rows[1].tolist())) == k


def test_nobody_asks():
    scores, rows = nearest(torch.empty(0, 3), torch.ones(4, 3), 2)
    assert scores.shape == rows.shape == (0, 2)
