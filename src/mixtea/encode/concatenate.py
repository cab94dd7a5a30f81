"""Weighted concatenation (Eq. 6) with dropout and normalisation in one step, without a copy of each stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from mixtea.compute.similarity import inverse_norm


def concatenate(
    weights: Tensor, blocks: list[Tensor], masks: list[Tensor | None], *, dropout: float = 0.0, normalize: bool = True
) -> Tensor:
    """Compute h = [w_1 b_1, w_2 b_2, ...] along the columns, weights [k] already softmaxed, blocks [n, d_k] (Eq. 6).

    A bool mask [n, d_k] drops from its block first, the rest being divided by 1 - dropout; with `normalize` each row
    of a block then has L2 norm 1, or stays zero.
    """
    return _Concatenate.apply(weights, normalize, dropout, masks, *blocks)


class _Concatenate(torch.autograd.Function):
    """Weighted concatenation that saves the blocks, which exist anyway, the masks and one number per row.

    With x = block * mask: out = f x, where f = w / |x| (normalize) or w / (1 - dropout). With y = x / |x|,
    d x = f (g - y (y . g)) and d w = y . g summed; without norms d x = f g and d w = (f / w) x . g summed.
    """

    @staticmethod
    def forward(
        ctx: Any, weights: Tensor, normalize: bool, dropout: float, masks: list[Tensor | None], *blocks: Tensor
    ) -> Tensor:
        out = blocks[0].new_empty(len(blocks[0]), sum(b.shape[1] for b in blocks))
        scales = []
        for weight, part, block, mask in _parts(weights, out, blocks, masks):
            _masked(block, mask, part)
            scales.append(inverse_norm(part) if normalize else _undropped(part, mask, dropout))
            part.mul_((weight * scales[-1])[:, None])
        ctx.save_for_backward(weights, *blocks, *scales)
        ctx.masks, ctx.normalize = masks, normalize
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        weights, *saved = ctx.saved_tensors
        blocks, scales = saved[: len(weights)], saved[len(weights) :]
        d_weights, d_blocks = [], []
        for scale, (weight, part, block, mask) in zip(
            scales, _parts(weights, gradients[0], blocks, ctx.masks), strict=True
        ):
            gradient = torch.empty_like(block)
            _masked(block, mask, gradient)
            along = torch.linalg.vecdot(gradient, part) * scale
            factor = weight * scale
            gradient.mul_((factor * along * -scale)[:, None]) if ctx.normalize else gradient.zero_()
            gradient.addcmul_(part, factor[:, None])
            d_weights.append(along.sum())
            d_blocks.append(gradient if mask is None else gradient.mul_(mask))
        return torch.stack(d_weights), None, None, None, *d_blocks


def _parts(weights: Tensor, whole: Tensor, blocks: Sequence[Tensor], masks: list[Tensor | None]) -> Iterator[Any]:
    """Return (weight, columns of the whole, block, mask) per block."""
    columns = whole.split([b.shape[1] for b in blocks], dim=1)
    return zip(weights.unbind(), columns, blocks, masks, strict=True)


def _masked(block: Tensor, mask: Tensor | None, out: Tensor) -> None:
    """Compute out = block * mask."""
    if mask is None:
        out.copy_(block)
    else:
        torch.mul(block, mask, out=out)


def _undropped(rows: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    return rows.new_full((len(rows),), 1.0 if mask is None else 1 / (1 - dropout))
