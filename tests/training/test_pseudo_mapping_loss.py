"""Eq. 14: the streamed loss equals the dense one."""

from __future__ import annotations

import oracle
import pytest
import torch

from mixtea.errors import ConfigError
from mixtea.training.fuse import bidirectional_votes, rectify
from mixtea.training.pseudo_mapping_loss import pseudo_mapping_loss
from mixtea.voters.votes import make_votes, no_votes

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-9}
SHAPES = [(9, 9), (5, 13), (13, 5), (1, 4), (4, 1)]


def vectors(n, m, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(k, 6, generator=generator, dtype=dtype).requires_grad_() for k in (n, m)]


def check(source, target, votes, *, temperature, kind, block, dtype):
    tolerance = TOLERANCE[dtype]
    dense = oracle.pseudo_mapping_loss(source, target, votes.to_dense(), temperature, kind)
    wanted = torch.autograd.grad(dense, (source, target))
    fast = pseudo_mapping_loss(source, target, votes, temperature=temperature, target=kind, block_size=block)
    found = torch.autograd.grad(fast, (source, target))
    torch.testing.assert_close(fast, dense, rtol=tolerance, atol=tolerance)
    for f, w in zip(found, wanted, strict=True):
        torch.testing.assert_close(f, w, rtol=tolerance, atol=tolerance * max(1.0, w.abs().max().item()))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", ["votes", "softmax"])
@pytest.mark.parametrize("block", [1, 7, None])
@pytest.mark.parametrize("n, m", SHAPES)
def test_equals_the_dense_formula(n, m, block, kind, dtype):
    source, target = vectors(n, m, dtype)
    votes = rectify(bidirectional_votes(source, target, 0.7, 0.2))
    for temperature in (1.0, 0.1):
        check(source, target, votes, temperature=temperature, kind=kind, block=block, dtype=dtype)


@pytest.mark.parametrize("kind", ["votes", "softmax"])
def test_small_temperatures_do_not_overflow(kind):
    source, target = vectors(6, 8, torch.float64)
    votes = bidirectional_votes(source, target, 0.5, 0.5)
    check(source, target, votes, temperature=0.005, kind=kind, block=4, dtype=torch.float64)
    small = [v.float().detach().requires_grad_() for v in (source, target)]
    votes = bidirectional_votes(*small, 0.5, 0.5)
    assert torch.isfinite(pseudo_mapping_loss(*small, votes, temperature=0.005, target=kind))


@pytest.mark.parametrize("kind", ["votes", "softmax"])
@pytest.mark.parametrize("block", [1, 7, None])
def test_empty_votes(kind, block):
    source, target = vectors(5, 4, torch.float64)
    check(source, target, no_votes((5, 4), source), temperature=1.0, kind=kind, block=block, dtype=torch.float64)


@pytest.mark.parametrize("kind", ["votes", "softmax"])
@pytest.mark.parametrize("block", [1, 7, None])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_exact_ties(kind, block, dtype):
    """Vectors of one non-zero power of two have exact cosines, so twins tie exactly."""
    rows = torch.tensor([[2.0, 0, 0], [0, 4, 0], [2, 0, 0], [0, 0, 1], [0, 8, 0]], dtype=dtype)
    source, target = rows.clone().requires_grad_(), rows[[3, 0, 1, 1]].clone().requires_grad_()
    votes = rectify(bidirectional_votes(source, target, 0.6, 0.4))
    assert torch.equal(votes.to_dense(), oracle.rectified(oracle.bidirectional(source, target, 0.6, 0.4)))
    check(source, target, votes, temperature=1.0, kind=kind, block=block, dtype=dtype)


def test_a_zero_vector_has_a_finite_loss_and_gradient():
    source, target = vectors(3, 3, torch.float32)
    with torch.no_grad():
        source[1] = 0
    loss = pseudo_mapping_loss(source, target, bidirectional_votes(source, target, 1, 1))
    loss.backward()
    assert torch.isfinite(loss) and torch.isfinite(source.grad).all()


def test_scales_with_the_upstream_gradient():
    source, target = vectors(4, 5, torch.float64)
    votes = bidirectional_votes(source, target, 0.5, 0.5)
    single = torch.autograd.grad(pseudo_mapping_loss(source, target, votes), source)[0]
    triple = torch.autograd.grad(3 * pseudo_mapping_loss(source, target, votes), source)[0]
    torch.testing.assert_close(triple, 3 * single)


def test_wrong_calls_are_named():
    source, target = vectors(4, 5, torch.float64)
    votes = bidirectional_votes(source, target, 0.5, 0.5)
    with pytest.raises(ConfigError, match="votes or softmax"):
        pseudo_mapping_loss(source, target, votes, target="argmax")
    with pytest.raises(ConfigError, match="shape"):
        pseudo_mapping_loss(target, source, votes)


def test_repeated_pairs_in_hand_made_votes_add_up():
    source, target = vectors(2, 3, torch.float64)
    pairs = torch.tensor([[0, 1], [0, 1], [1, 2]])
    votes = make_votes(pairs[:, 0], pairs[:, 1], torch.tensor([0.2, 0.3, 1.0], dtype=torch.float64), (2, 3))
    check(source, target, votes, temperature=1.0, kind="votes", block=1, dtype=torch.float64)


@pytest.mark.parametrize("kind", ["votes", "softmax"])
def test_the_graph_can_be_kept_and_gradients_checked_by_differences(kind):
    source, target = vectors(5, 4, torch.float64)
    votes = rectify(bidirectional_votes(source, target, 0.7, 0.2))

    def loss(s, t):
        return pseudo_mapping_loss(s, t, votes, target=kind, temperature=0.5, block_size=2)

    assert torch.autograd.gradcheck(loss, (source, target))
    kept = loss(source, target)
    kept.backward(retain_graph=True)
    first = source.grad.clone()
    kept.backward()
    torch.testing.assert_close(source.grad, 2 * first)
