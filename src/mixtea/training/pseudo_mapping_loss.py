"""The pseudo-mapping loss (Eq. 14), streamed: value and gradient in one sweep over blocks of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mixtea.compute import distributed
from mixtea.compute.memory import GATHERED_BYTES, enough_memory, row_blocks, sweep
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.compute.similarity import aligned_rows, products_at, similarities, unit, width
from mixtea.errors import ConfigError

SAFE_EXPONENT = 40.0  # exp(40) times a million columns is far from float32's largest number


@enough_memory()
def pseudo_mapping_loss(
    source_vectors: Tensor,
    target_vectors: Tensor,
    votes: ScoredPairs,
    *,
    temperature: float = 1.0,
    target: str = "votes",
    block_size: int | None = None,
    mib: int | None = None,
) -> Tensor:
    """Compute L_u = sum_i CE(softmax_j(M_ij), q_i), M = cosine / temperature, source [n, d], target [m, d] (Eq. 14).

    q is the votes as they are (target="votes"), or a softmax of each row of them over all m columns, absent votes being
    0 (target="softmax"). Memory is O((n + m) d) and one block.
    """
    if target not in ("votes", "softmax"):
        raise ConfigError(f"target must be votes or softmax, not {target!r}.")
    if votes.shape != (len(source_vectors), len(target_vectors)):
        raise ConfigError(f"votes of shape {votes.shape} for {len(source_vectors)} x {len(target_vectors)} vectors.")
    source, goal = unit(source_vectors), unit(target_vectors)
    return cross_entropy(source, goal, votes, temperature=temperature, target=target, block_size=block_size, mib=mib)


def cross_entropy(
    source: Tensor,
    target_vectors: Tensor,
    votes: ScoredPairs,
    *,
    temperature: float = 1.0,
    target: str = "votes",
    normaliser: str = "exact",
    block_size: int | None = None,
    mib: int | None = None,
) -> Tensor:
    """Compute the loss for unit vectors: sum_i [mass_i logsumexp_j M_ij - sum_j q_ij M_ij].

    With normaliser="moments" the logsumexp is that of a normal distribution with the mean and the covariance of the
    targets, an approximation that needs no n x m at all.
    """
    goal = _as_given(votes) if target == "votes" else _softmaxed(votes)
    scaled = source / temperature if temperature != 1 else source
    pairs = (votes.source, votes.target, goal.spike)
    if normaliser == "moments":
        loss = goal.mass @ log_partition_by_moments(scaled, target_vectors) - _spikes(scaled, target_vectors, *pairs)
    else:
        loss = _CrossEntropy.apply(scaled, target_vectors, goal.mass, *pairs, 1 / temperature, block_size, mib)
    if goal.base is not None:
        loss = loss - (goal.base @ scaled) @ target_vectors.sum(0)
    return loss


class _TargetDistribution(NamedTuple):
    """The target distribution q of each row as a constant plus a few spikes: q_ij = base_i + spike_ij.

    `mass` [n] is sum_j q_ij, `base` [n] is None for zero, `spike` [votes].
    """

    mass: Tensor
    base: Tensor | None
    spike: Tensor


def _as_given(votes: ScoredPairs) -> _TargetDistribution:
    return _TargetDistribution(votes.row_sum(votes.confidence), None, votes.confidence)


def _softmaxed(votes: ScoredPairs) -> _TargetDistribution:
    """Compute the softmax of sparse rows: exp(0)/Z everywhere and (exp(p) - 1)/Z more at a vote.

    Z = m + sum (exp(p) - 1).
    """
    more = torch.expm1(votes.confidence)
    n, m = votes.shape
    total = m + more.new_zeros(n).index_add_(0, votes.source, more)
    return _TargetDistribution(torch.ones_like(total), 1 / total, more / total.index_select(0, votes.source))


def log_partition_by_moments(scaled: Tensor, target: Tensor) -> Tensor:
    """Compute [n]: log sum_j exp(s_i . t_j) ~ log m + s_i . mean + s_i^T covariance s_i / 2, at a cost of n d^2."""
    mean = target.mean(0)
    centred = target - mean
    covariance = centred.T @ centred / len(target)
    spread = torch.linalg.vecdot(scaled @ covariance, scaled)
    return scaled @ mean + spread / 2 + math.log(len(target))


def _spikes(scaled: Tensor, target: Tensor, rows: Tensor, columns: Tensor, spike: Tensor) -> Tensor:
    """Sum over the votes (i, j) of spike_ij s_i . t_j."""
    return spike @ torch.linalg.vecdot(scaled.index_select(0, rows), target.index_select(0, columns))


class _CrossEntropy(torch.autograd.Function):
    """sum_i mass_i logsumexp_j (s_i . t_j) - sum_ij spike_ij s_i . t_j, no product above `bound`.

    The gradient is computed with the value, once. With E = exp(M) of a block of rows and z its row sums, the first
    term's dL/dM is mass/z E. The factor mass/z is applied to the small sides of the two gradient products, so a block
    is touched by one product, one exp, one sum and two products. Only the targets' gradient adds up over blocks: it
    alone is rounded in another way for blocks of another size.
    """

    @staticmethod
    def forward(
        ctx: Any, scaled: Tensor, target: Tensor, mass: Tensor, rows: Tensor, columns: Tensor, spike: Tensor,
        bound: float, block_size: int | None, mib: int | None,
    ) -> Tensor:  # fmt: skip
        gradient = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]

        def run(mib: int) -> tuple[Tensor, Tensor, Tensor]:
            blocks = row_blocks(mine.start, mine.stop, row_bytes, scaled.device, block_size, mib)
            return _partition_of_rows(scaled, wide, len(target), mass, bound, mine, blocks, gradient)

        mine, wide = distributed.own_rows(len(scaled)), aligned_rows(target)
        row_bytes = width(wide)
        loss, d_scaled, d_target = sweep(run, row_bytes, scaled.device, mib)
        distributed.add_up(loss, *((d_target,) if gradient else ()))
        if gradient:
            d_scaled = distributed.gather(d_scaled, len(scaled))
            _subtract(spike, (d_scaled, rows, target, columns), (d_target, columns, scaled, rows))
            ctx.gradients = (d_scaled, d_target)
        return loss - spike @ products_at(scaled, target, rows, columns, GATHERED_BYTES[scaled.device.type])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_scaled, d_target = ctx.gradients
        if _graph_is_kept():
            return d_scaled * gradients[0], d_target * gradients[0], *(None,) * 7
        del ctx.gradients  # the only use of them, so they are scaled where they are
        return d_scaled.mul_(gradients[0]), d_target.mul_(gradients[0]), *(None,) * 7


def _subtract(weight: Tensor, *sides: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
    """Compute out[index_p] -= weight_p vectors[at_p] for every p and each side, some thousands at a time.

    A side is (out, index, vectors, at). If memory runs out on the way, it goes on where it was: what is subtracted is
    not subtracted again.
    """
    out, _, vectors, _ = sides[0]
    row_bytes, left = max(1, vectors.shape[1] * vectors.element_size()), [(side, 0) for side in sides]

    def run(mib: int) -> None:
        at_once = max(1, (mib << 20) // row_bytes)
        while left:
            (out, index, vectors, at), done = left[0]
            part = slice(done, done + at_once)
            out.index_add_(0, index[part], vectors.index_select(0, at[part]).mul_(-weight[part, None]))
            left[:1] = [(left[0][0], part.stop)] if part.stop < len(index) else []

    sweep(run, row_bytes, out.device, max(1, GATHERED_BYTES[out.device.type] >> 20))


def _graph_is_kept() -> bool:
    """Check whether this backward pass may be followed by another (retain_graph); True where torch hides it."""
    return getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True)()


def _partition_of_rows(
    scaled: Tensor,
    target: Tensor,
    m: int,
    mass: Tensor,
    bound: float,
    mine: slice,
    blocks: Sequence[slice],
    gradient: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the loss of rows `mine`, cut into blocks, its gradient to them, and to the m targets.

    Rows of `target` beyond m are padding.
    """
    log_totals = scaled.new_empty(mine.stop - mine.start)
    d_scaled = scaled.new_empty(mine.stop - mine.start if gradient else 0, scaled.shape[1])
    d_target = torch.zeros_like(target) if gradient else target
    for rows in blocks:
        block = similarities(scaled[rows], target, m)
        here = slice(rows.start - mine.start, rows.stop - mine.start)
        if bound > SAFE_EXPONENT:
            top = block.amax(dim=1, keepdim=True)
            total = block.sub_(top).exp_().sum(dim=1)
            log_totals[here] = total.log() + top[:, 0]
        else:
            total = block.exp_().sum(dim=1)
            log_totals[here] = total.log()
        if gradient:
            share = (mass[rows] / total)[:, None]
            torch.mm(block, target, out=d_scaled[here]).mul_(share)
            d_target.addmm_(block.T, scaled[rows] * share)
    return mass[mine] @ log_totals, d_scaled, d_target[:m]
