"""Bi-directional voting (BDV): votes fused by how often each voter was right on the validation links."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mixtea.compute.similarity import unit
from mixtea.vote.directions import directions
from mixtea.vote.votes import Votes, no_votes


def vote_weights(hits: Sequence[float]) -> list[float]:
    """beta_k = hit_k / sum of hits (Eq. 11, for any number of voters); equal weights when nobody was ever right."""
    total = sum(hits)
    return [hit / total for hit in hits] if total > 0 else [1 / len(hits)] * len(hits)


def fuse(votes: Sequence[Votes], weights: Sequence[float]) -> Votes:
    """P = sum_k beta_k g_k (Eq. 10): pairs that several voters propose add up. A voter of weight 0 is not heard."""
    heard = [(bit, v, w) for bit, (v, w) in enumerate(zip(votes, weights, strict=True)) if w > 0 and len(v)]
    if not heard:
        return no_votes(votes[0].shape, votes[0].confidence)
    n, m = votes[0].shape
    pairs = torch.cat([v.source * m + v.target for _, v, _ in heard])
    confidence = torch.cat([w * v.confidence for _, v, w in heard])
    bits = torch.cat([torch.full_like(v.source, 1 << bit) for bit, v, _ in heard])
    pair, place = torch.unique(pairs, return_inverse=True)
    return Votes(
        pair // m,
        pair % m,
        confidence.new_zeros(len(pair)).index_add_(0, place, confidence),
        (n, m),
        torch.zeros_like(pair).index_add_(0, place, bits),
    )


def bidirectional_votes(
    source_vectors: Tensor, target_vectors: Tensor, hit_forward: float, hit_backward: float
) -> Votes:
    """P = beta g(M) + (1 - beta) g(M^T)^T with beta = hit_forward / (hit_forward + hit_backward) (Eq. 9-12).

    source_vectors [n, d], target_vectors [m, d]; M is their cosine. Confidence 1 where both directions agree.
    """
    return fuse(directions(unit(source_vectors), unit(target_vectors)), vote_weights((hit_forward, hit_backward)))
