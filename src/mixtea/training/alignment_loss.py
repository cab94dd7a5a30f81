"""The supervised loss on the given links (Eq. 8), and its negatives: an end of a link is replaced by other entities of
the same graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from mixtea.compute.arrays import State, as_numpy, checked_rows, to_tensor
from mixtea.compute.memory import enough_memory
from mixtea.compute.similarity import top_k, unit
from mixtea.config import Config
from mixtea.encode.structure import Structure
from mixtea.graph.task import Task

DISTANCES_BYTES = 8 << 20
Draw = Callable[[Tensor, Tensor, int, int], Tensor]  # partners [p], own [p], first entity and size of own's graph


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
    size = max(1, DISTANCES_BYTES // (vectors.shape[1] * vectors.element_size()))
    return [slice(start, start + size) for start in range(0, n, size)]


class Negatives:
    """The negatives of a training: drawn anew from time to time, and the pairs that a person rejected, always."""

    def __init__(self, task: Task, config: Config, structure: Structure, generator: torch.Generator) -> None:
        self.config, self.structure, self.generator = config, structure, generator
        device = generator.device
        self.held = torch.empty(0, 0, 2, dtype=torch.int64, device=device)
        shift = np.array([0, task.source.n_entities])
        links, rejected = _sharing_an_end(task.train + shift, task.rejected + shift)
        self.links, self.rejected = to_tensor(links, device), to_tensor(rejected, device)

    def draw(self, epoch: int, links: Tensor, vectors: Tensor) -> Tensor:
        """Return [p, k or 2k, 2]: negatives of links [p, 2]; new every negatives_every epochs, and for new links."""
        config = self.config
        if (epoch - 1) % config.negatives_every == 0 or len(self.held) != len(links):
            n_source, n_target = self.structure.n_source, self.structure.n_target
            k, replace, generator = config.n_negatives, config.negatives_replace, self.generator
            if config.negatives == "random":
                self.held = random_negatives(links, n_source, n_target, k, generator, replace)
            else:
                self.held = hard_negatives(links, vectors, n_source, k, generator, replace, config.block_mib)
        return self.held

    def forget(self) -> None:
        """Draw anew at the next epoch."""
        self.held = self.held[:0]

    def of_rejected(self, vectors: Tensor) -> Tensor | float:
        """Compute L_a of the rejected pairs as further negatives of the links that they share an end with."""
        if not len(self.links):
            return 0.0
        return alignment_loss(vectors, self.links, self.rejected[:, None], self.config.margin)

    def state_dict(self) -> State:
        return {"held": as_numpy(self.held)}

    def load_state_dict(self, state: State) -> None:
        held = state["held"]
        if held.ndim != 3 or held.shape[2] != 2:
            raise ValueError("negatives of another form")
        checked_rows(held.reshape(-1), self.structure.n_entities, self.held)
        self.held = to_tensor(held, self.held.device)


def _sharing_an_end(links: np.ndarray, rejected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ([q, 2], [q, 2]): every link with every rejected pair that has its source or its target."""
    ends = [
        pd.DataFrame({"end": pairs.ravel(), "pair": np.arange(len(pairs)).repeat(2)}) for pairs in (links, rejected)
    ]
    both = ends[0].merge(ends[1], on="end", suffixes=("_link", "_rejected"))
    return links[both["pair_link"].to_numpy()], rejected[both["pair_rejected"].to_numpy()]


@enough_memory("Use fewer n_negatives.")
def random_negatives(
    links: Tensor, n_source: int, n_target: int, k: int, generator: torch.Generator, replace: str = "both"
) -> Tensor:
    """Draw [p, k or 2k, 2] by joint index: (s', t) for k random sources s', then, for "both", (s, t') likewise."""

    def draw(partner: Tensor, own: Tensor, first: int, size: int) -> Tensor:
        return first + _other(own - first, size, k, generator)

    return _replaced(links, n_source, n_target, replace, draw, generator)


@enough_memory("Use fewer n_negatives.")
def hard_negatives(
    links: Tensor,
    vectors: Tensor,
    n_source: int,
    k: int,
    generator: torch.Generator,
    replace: str = "both",
    mib: int | None = None,
) -> Tensor:
    """Return [p, k or 2k, 2]: (s', t) for the k sources nearest to t by cosine, then, for "both", (s, t') likewise.

    The link itself is never among them; where a graph has too few other entities, random ones fill up.
    """
    vectors = unit(vectors.detach())

    def draw(partner: Tensor, own: Tensor, first: int, size: int) -> Tensor:
        graph = vectors[first : first + size]
        return first + _nearest_others(vectors[partner], graph, (own - first)[:, None], k, generator, mib)

    return _replaced(links, n_source, len(vectors) - n_source, replace, draw, generator)


def _replaced(
    links: Tensor, n_source: int, n_target: int, replace: str, draw: Draw, generator: torch.Generator
) -> Tensor:
    source, target = links[:, 0], links[:, 1]
    others = draw(target, source, 0, n_source)
    pairs = [torch.stack([others, target[:, None].expand_as(others)], dim=2)]
    if replace == "both":
        others = draw(source, target, n_source, n_target)
        pairs.append(torch.stack([source[:, None].expand_as(others), others], dim=2))
    return _without_links(torch.cat(pairs, dim=1), links, n_source, n_target, generator)


def _without_links(
    pairs: Tensor, links: Tensor, n_source: int, n_target: int, generator: torch.Generator, tries: int = 64
) -> Tensor:
    """Replace pairs that are themselves links, as there can be where one entity has several, by random pairs."""
    n = n_source + n_target
    known = links[:, 0] * n + links[:, 1]
    for _ in range(tries):
        wrong = torch.isin(pairs[..., 0] * n + pairs[..., 1], known)
        if not wrong.any():
            break
        count = int(wrong.sum())
        drawn = [
            torch.randint(size, (count,), generator=generator, device=links.device) for size in (n_source, n_target)
        ]
        pairs[wrong] = torch.stack([drawn[0], drawn[1] + n_source], dim=1)
    return pairs


def _nearest_others(
    queries: Tensor, candidates: Tensor, own: Tensor, k: int, generator: torch.Generator, mib: int | None
) -> Tensor:
    found = top_k(queries, candidates, min(k + 1, len(candidates)), mib=mib)
    last = (found == own).int().argsort(dim=1, stable=True)  # own, if it is among them, goes last
    found = found.gather(1, last)[:, :k]
    fill = _other(own[:, 0], len(candidates), k, generator)
    found = torch.where(found == own, fill[:, : found.shape[1]], found)
    return torch.cat([found, fill[:, found.shape[1] :]], dim=1)


def _other(own: Tensor, n: int, k: int, generator: torch.Generator) -> Tensor:
    """Draw [p, k] random numbers below n, all but `own` [p] equally likely (own itself if n is 1)."""
    drawn = torch.randint(0, max(n - 1, 1), (len(own), k), generator=generator, device=own.device)
    return (drawn + (drawn >= own[:, None]).long()).clamp(max=n - 1)
