"""The supervised loss on the given links (Eq. 8)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

CHUNK_BYTES = 8 << 20


def alignment_loss(vectors: Tensor, links: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """Compute L_a = sum over links (s, t), negatives (s', t') of [|h_s - h_t| + margin - |h_s' - h_t'|]_+ (Eq. 8).

    vectors [N, d] as they are, links [p, 2], negatives [p, k, 2], L2 distances; the sum has no extra factor.
    """
    near = distances(vectors, links[:, 0], links[:, 1])
    pairs = negatives.reshape(-1, 2)
    far = distances(vectors, pairs[:, 0], pairs[:, 1]).view(negatives.shape[:2])
    return (near[:, None] + margin - far).relu().sum()


def distances(vectors: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Compute [p]: the L2 distance of vectors[left] and vectors[right], without keeping p x d differences."""
    return _Distances.apply(vectors, left, right)


class _Distances(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, left: Tensor, right: Tensor) -> Tensor:
        out = vectors.new_empty(len(left))
        for part in _parts(vectors, len(left)):
            out[part] = torch.linalg.vector_norm(_difference(vectors, left[part], right[part]), dim=1)
        ctx.save_for_backward(vectors, left, right, out)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        vectors, left, right, out = ctx.saved_tensors
        factor = (gradients[0] / out).where(out > 0, 0.0)  # at distance 0 the subgradient 0
        gradient = torch.zeros_like(vectors)
        for part in _parts(vectors, len(left)):
            step = _difference(vectors, left[part], right[part]).mul_(factor[part, None])
            gradient.index_add_(0, left[part], step)
            gradient.index_add_(0, right[part], step, alpha=-1)
        return gradient, None, None


def _difference(vectors: Tensor, left: Tensor, right: Tensor) -> Tensor:
    return vectors.index_select(0, left).sub_(vectors.index_select(0, right))


def _parts(vectors: Tensor, n: int) -> list[slice]:
    size = max(1, CHUNK_BYTES // (vectors.shape[1] * vectors.element_size()))
    return [slice(start, start + size) for start in range(0, n, size)]
