"""Neighbourhood attention (Eq. 2-3) with memory for vectors and edges, never for edges x dimensions."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mixtea.compute.similarity import products_by_row
from mixtea.encode.structure import Adjacency, csr, product

LEAKY_SLOPE = 0.2


def attend(hidden: Tensor, scores: Tensor, neighbours: Adjacency, activation: str) -> Tensor:
    """Compute attention over neighbours (Eq. 2-3).

    out_i = sum_j alpha_ij hidden_j, alpha_i = softmax_j(act(scores_i0 + scores_j1)) over i's neighbours j. hidden [n,
    d] is W_g h, scores [n, 2] is hidden @ [a_left, a_right]. An entity without neighbours gets zeros.
    """
    return _Attention.apply(hidden, scores[:, 0], scores[:, 1], neighbours, activation)


class _Attention(torch.autograd.Function):
    """Value and gradient by compressed-row products.

    With g the gradient of out: d alpha_ij = g_i . h_j at the edges alone; the softmax takes away
    sum_j alpha_ij d alpha_ij = g_i . out_i; d h = alpha^T g. The transpose reuses the symmetric structure.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, left: Tensor, right: Tensor, edges: Adjacency, activation: str) -> Tensor:
        before = left.index_select(0, edges.row) + right.index_select(0, edges.column)
        alpha = _row_softmax(_activate(before, activation), edges)
        out = product(_matrix(edges, alpha), hidden)
        ctx.save_for_backward(hidden, before, alpha, out)
        ctx.edges, ctx.activation = edges, activation
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        hidden, before, alpha, out = ctx.saved_tensors
        edges, gradient = ctx.edges, gradients[0].contiguous()
        d_alpha = products_by_row(gradient, hidden, edges.start, edges.row, edges.column)
        mean = torch.linalg.vecdot(gradient, out)
        d_before = alpha * (d_alpha - mean.index_select(0, edges.row)) * _slope(before, ctx.activation)
        d_left = _row_sum(d_before, edges)
        d_right = _row_sum(d_before.index_select(0, edges.reverse), edges)
        d_hidden = product(_matrix(edges, alpha.index_select(0, edges.reverse)), gradient)
        return d_hidden, d_left, d_right, None, None


def _matrix(edges: Adjacency, values: Tensor) -> Tensor:
    n = len(edges.start) - 1
    return csr(edges.start, edges.column, values, (n, n))


def _row_sum(values: Tensor, edges: Adjacency) -> Tensor:
    return torch.segment_reduce(values, "sum", offsets=edges.start, initial=0.0)


def _row_softmax(values: Tensor, edges: Adjacency) -> Tensor:
    top = torch.segment_reduce(values, "max", offsets=edges.start)
    weights = (values - top.index_select(0, edges.row)).exp()
    return weights / _row_sum(weights, edges).index_select(0, edges.row)


def _activate(values: Tensor, activation: str) -> Tensor:
    return F.leaky_relu(values, LEAKY_SLOPE) if activation == "leaky_relu" else F.elu(values)


def _slope(values: Tensor, activation: str) -> Tensor:
    if activation == "leaky_relu":
        return torch.ones_like(values).masked_fill_(values <= 0, LEAKY_SLOPE)
    return values.clamp(max=0.0).exp_()
