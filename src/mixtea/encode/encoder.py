"""The encoder f(; theta) of student and teacher: two graphs into vectors (Eq. 2-6)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mixtea.compute.memory import GATHERED_BYTES, sweep
from mixtea.compute.similarity import MIN_NORM, products_by_row
from mixtea.config import Config
from mixtea.encode.structure import Adjacency, Mean, Structure

LEAKY_SLOPE = 0.2


class Encoder(nn.Module):
    """Trainable entity and relation vectors, L attention layers, relation means, weighted concatenation."""

    def __init__(self, structure: Structure, config: Config, generator: torch.Generator) -> None:
        super().__init__()
        self.structure, self.config = structure, config
        d, n_layers, dtype = config.entity_dim, config.n_layers, getattr(torch, config.precision)

        def xavier(*shape: int) -> nn.Parameter:
            values = torch.empty(*shape, device=generator.device, dtype=dtype)
            return nn.Parameter(nn.init.xavier_uniform_(values, generator=generator))

        def ones(n: int) -> nn.Parameter:
            return nn.Parameter(torch.ones(n, device=generator.device, dtype=dtype))

        self.entity = xavier(structure.n_entities, d)
        self.relation = xavier(structure.n_relations, config.relation_dim) if config.use_relations else None
        square = config.layer_transform == "matrix"
        self.transform = nn.ParameterList(xavier(d, d) if square else ones(d) for _ in range(n_layers))
        self.attention = nn.ParameterList(xavier(2 * d, 1) for _ in range(n_layers))
        n_blocks = n_layers + 2 * config.use_relations
        trained = config.concat_weights == "trained"
        self.weight = ones(n_blocks).requires_grad_(trained)

    def block_weights(self) -> dict[str, float]:
        """Return the weight of each block in the concatenation (Eq. 6)."""
        names = [f"layer_{i + 1}" for i in range(self.config.n_layers)]
        names += ["relations_out", "relations_in"] if self.config.use_relations else []
        return dict(zip(names, self.weight.detach().softmax(0).tolist(), strict=True))

    def forward(self, dropout_from: torch.Generator | None = None) -> Tensor:
        """Return [n_source + n_target, D]: the vectors h_e of Eq. 6; with a generator, layers are dropped out by it."""
        layers, means = self._layers(), self._relation_means()
        masks = [self._mask(layer, dropout_from) for layer in layers] + [None] * len(means)
        weights, p, normalize = self.weight.softmax(0), self.config.dropout, self.config.normalize_blocks
        return concatenate(weights, layers + means, masks, dropout=p, normalize=normalize)

    def _layers(self) -> list[Tensor]:
        """Compute h^(1) .. h^(L): Eq. 2-3, ELU on the output."""
        hidden: Tensor = self.entity
        layers = []
        for transform, attention in zip(self.transform, self.attention, strict=True):
            hidden = hidden @ transform if transform.dim() == 2 else hidden * transform
            scores = hidden @ attention.view(2, -1).T
            out = attend(hidden, scores, self.structure.neighbours, self.config.attention_activation)
            hidden = F.elu(out)
            layers.append(hidden)
        return layers

    def _relation_means(self) -> list[Tensor]:
        """Compute h^{r+}, h^{r-}: Eq. 4-5; nothing without relations."""
        if self.relation is None:
            return []
        return [average(self.relation, mean) for mean in (self.structure.outward, self.structure.inward)]

    def _mask(self, layer: Tensor, generator: torch.Generator | None) -> Tensor | None:
        p = self.config.dropout
        return None if generator is None or p == 0 else dropout_mask(layer.shape, p, generator)


def dropout_mask(shape: torch.Size, p: float, generator: torch.Generator) -> Tensor:
    """Draw bool, false with probability p (to 1/65536): four decisions from each 64 random bits."""
    n = shape.numel()
    words = torch.empty((n + 3) // 4, dtype=torch.int64, device=generator.device)
    words.random_(-(2**63), None, generator=generator)
    return (words.view(torch.int16)[:n] >= round(p * 65536) - 32768).view(shape)


def average(vectors: Tensor, mean: Mean) -> Tensor:
    """Return mean.matrix @ vectors, with a gradient to the vectors alone."""
    return _Average.apply(vectors, mean)


class _Average(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, mean: Mean) -> Tensor:
        ctx.mean = mean
        return product(mean.matrix, vectors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return product(ctx.mean.transposed, gradients[0].contiguous()), None


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
    """Make a compressed-row tensor without a check of its (known good) indices."""
    n = len(edges.start) - 1
    return torch.sparse_csr_tensor(edges.start, edges.column, values, (n, n), check_invariants=False)


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
            if normalize:  # a zero row remains zero, and gets no gradient
                norm = torch.linalg.vector_norm(part, dim=1)
                scales.append(norm.reciprocal().masked_fill_(norm <= MIN_NORM, 0.0))
            else:
                scales.append(part.new_full((len(part),), 1.0 if mask is None else 1 / (1 - dropout)))
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


def product(matrix: Tensor, dense: Tensor) -> Tensor:
    """Return matrix @ dense for compressed rows; in deterministic mode on a GPU, summed in a fixed order."""
    if dense.device.type != "cuda" or not torch.are_deterministic_algorithms_enabled():
        return matrix @ dense
    return product_in_order(matrix, dense)


def product_in_order(matrix: Tensor, dense: Tensor) -> Tensor:
    """Return matrix @ dense, summed in one order, some rows of the matrix at a time."""
    start, column, values = matrix.crow_indices(), matrix.col_indices(), matrix.values()
    row = torch.repeat_interleave(torch.arange(len(start) - 1, device=start.device), start.diff())
    row_bytes = dense.shape[1] * dense.element_size()

    def run(mib: int) -> Tensor:
        out = dense.new_zeros(matrix.shape[0], dense.shape[1])
        for part in _whole_rows(start, max(1, (mib << 20) // row_bytes)):
            out.index_add_(0, row[part], dense[column[part]].mul_(values[part, None]))
        return out

    return sweep(run, row_bytes, dense.device, GATHERED_BYTES[dense.device.type] >> 20)


def _whole_rows(start: Tensor, size: int) -> Iterator[slice]:
    """Cut the entries into parts of about `size`, but not within a row that fits: its sum is the same for any size."""
    n = int(start[-1])
    wanted = torch.arange(size, max(n, size), size, device=start.device)
    whole = start[torch.searchsorted(start, wanted, right=True) - 1]
    cuts = [0, *torch.where(whole > wanted - size, whole, wanted).tolist(), n]
    return (slice(first, last) for first, last in itertools.pairwise(cuts) if first < last)
