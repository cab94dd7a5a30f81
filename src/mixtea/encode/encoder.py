"""The encoder f(; theta) of student and teacher: two graphs into vectors (Eq. 2-6)."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mixtea.compute.memory import enough_memory
from mixtea.config import Config
from mixtea.encode.attention import attend
from mixtea.encode.concatenate import concatenate
from mixtea.encode.structure import Mean, Structure, product


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

    @enough_memory()
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
