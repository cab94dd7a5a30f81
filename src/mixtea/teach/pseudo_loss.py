"""The pseudo-mapping loss (Eq. 14), streamed: value and gradient in one sweep over blocks of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from mixtea.errors import ConfigError
from mixtea.similarity import row_blocks, unit, width
from mixtea.teach.votes import Votes

SAFE_EXPONENT = 40.0  # exp(40) times a million columns is far from float32's largest number


def pseudo_mapping_loss(
    source_vectors: Tensor,
    target_vectors: Tensor,
    votes: Votes,
    *,
    temperature: float = 1.0,
    target: str = "votes",
    block_size: int | None = None,
    mib: int | None = None,
) -> Tensor:
    """L_u = sum_i CE(softmax_j(M_ij), q_i), M = cosine / temperature, source [n, d], target [m, d] (Eq. 14).

    q is the votes as they are (target="votes"), or a softmax of each row of them over all m columns, absent votes
    being 0 (target="softmax"). Memory is O((n + m) d) and one block.
    """
    if target not in ("votes", "softmax"):
        raise ConfigError(f"target must be votes or softmax, not {target!r}.")
    if votes.shape != (len(source_vectors), len(target_vectors)):
        raise ConfigError(f"votes of shape {votes.shape} for {len(source_vectors)} x {len(target_vectors)} vectors.")
    wanted = _as_given(votes) if target == "votes" else _softmaxed(votes)
    source, goal = unit(source_vectors), unit(target_vectors)
    return _CrossEntropy.apply(source, goal, votes, wanted, temperature, block_size, mib)


class _Wanted(NamedTuple):
    """The target distribution q of each row as a constant plus a few spikes: q_ij = base_i + spike_ij.

    `mass` [n] is sum_j q_ij, `base` [n] is None for zero, `spike` [votes].
    """

    mass: Tensor
    base: Tensor | None
    spike: Tensor


def _as_given(votes: Votes) -> _Wanted:
    return _Wanted(votes.row_sum(), None, votes.confidence)


def _softmaxed(votes: Votes) -> _Wanted:
    """softmax of a sparse row: exp(0)/Z everywhere and (exp(p) - 1)/Z more at a vote, Z = m + sum (exp(p) - 1)."""
    more = torch.expm1(votes.confidence)
    n, m = votes.shape
    total = m + more.new_zeros(n).index_add_(0, votes.source, more)
    return _Wanted(torch.ones_like(total), 1 / total, more / total.index_select(0, votes.source))


class _CrossEntropy(torch.autograd.Function):
    """sum_i [mass_i logsumexp_j M_ij - sum_j q_ij M_ij] for unit vectors; the gradient is computed with the value.

    With E = exp(M) of a block of rows and z its row sums, dL/dM = mass/z E - q. The factor mass/z is applied to the
    small sides of the two gradient products, so a block is touched by one product, one exp and two products.
    """

    @staticmethod
    def forward(
        ctx: Any, source: Tensor, target: Tensor, votes: Votes, wanted: _Wanted, temperature: float,
        block_size: int | None, mib: int | None,
    ) -> Tensor:  # fmt: skip
        ctx.needs = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        scaled = source / temperature
        loss, d_source, d_target = _partition(scaled, target, wanted.mass, 1 / temperature, block_size, mib, ctx.needs)
        left, right = scaled.index_select(0, votes.source), target.index_select(0, votes.target)
        loss = loss - wanted.spike @ torch.linalg.vecdot(left, right)
        if ctx.needs:
            d_source.index_add_(0, votes.source, right * -wanted.spike[:, None])
            d_target.index_add_(0, votes.target, left * -wanted.spike[:, None])
        if wanted.base is not None:
            everything, weighted = target.sum(0), wanted.base @ scaled
            loss = loss - weighted @ everything
            if ctx.needs:
                d_source.addr_(wanted.base, everything, alpha=-1)
                d_target.sub_(weighted)
        if ctx.needs:
            ctx.save_for_backward(d_source.div_(temperature), d_target)
        return loss

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_source, d_target = ctx.saved_tensors
        return d_source * gradients[0], d_target * gradients[0], None, None, None, None, None


def _partition(
    scaled: Tensor,
    target: Tensor,
    mass: Tensor,
    bound: float,
    block_size: int | None,
    mib: int | None,
    needs_gradient: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """sum_i mass_i logsumexp_j(scaled_i . target_j) and its gradients; no product exceeds `bound`."""
    loss = scaled.new_zeros(())
    d_source = torch.empty_like(scaled) if needs_gradient else scaled
    d_target = torch.zeros_like(target) if needs_gradient else target
    for rows in row_blocks(scaled, width(target), block_size, mib):
        block = scaled[rows] @ target.T
        if bound > SAFE_EXPONENT:
            top = block.amax(dim=1, keepdim=True)
            total = block.sub_(top).exp_().sum(dim=1)
            log_total = total.log() + top[:, 0]
        else:
            total = block.exp_().sum(dim=1)
            log_total = total.log()
        loss += mass[rows] @ log_total
        if needs_gradient:
            share = (mass[rows] / total)[:, None]
            torch.mm(block, target, out=d_source[rows]).mul_(share)
            d_target.addmm_(block.T, scaled[rows] * share)
    return loss, d_source, d_target
