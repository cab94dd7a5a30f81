"""Negative pairs for the supervised loss: an end of a link is replaced by other entities of the same graph."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from mixtea.compute.memory import enough_memory
from mixtea.compute.similarity import top_k, unit

Draw = Callable[[Tensor, Tensor, int, int], Tensor]  # partners [p], own [p], first entity and size of own's graph


@enough_memory("Use fewer n_negatives.")
def random_negatives(
    links: Tensor, n_source: int, n_target: int, k: int, generator: torch.Generator, replace: str = "both"
) -> Tensor:
    """[p, k or 2k, 2] in joint numbers: (s', t) for k random sources s', then, for "both", (s, t') likewise."""

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
    """[p, k or 2k, 2]: (s', t) for the k sources nearest to t by cosine, then, for "both", (s, t') likewise.

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
    """Pairs that are themselves links, as there can be where one entity has several, become random pairs."""
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
    """[p, k] random numbers below n, all but `own` [p] equally likely (own itself if n is 1)."""
    drawn = torch.randint(0, max(n - 1, 1), (len(own), k), generator=generator, device=own.device)
    return (drawn + (drawn >= own[:, None]).long()).clamp(max=n - 1)
