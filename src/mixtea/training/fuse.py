"""Bi-directional voting (BDV): votes fused by how often each voter was right on the validation links."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mixtea.compute.similarity import unit
from mixtea.council.weights import vote_weights
from mixtea.voters.directions import directions
from mixtea.voters.votes import Votes, no_votes


def fuse(votes: Sequence[Votes], weights: Sequence[float]) -> Votes:
    """P = sum_k beta_k g_k (Eq. 10): pairs that several voters propose add up. A voter of weight 0 is not heard.

    Votes that do not say who cast them are the k-th voter's own.
    """
    heard = [(k, v, w) for k, (v, w) in enumerate(zip(votes, weights, strict=True)) if w > 0 and len(v)]
    if not heard:
        n_voters = len(votes) if votes[0].voters is None else votes[0].voters.shape[1]
        return no_votes(votes[0].shape, votes[0].confidence, n_voters)
    n, m = votes[0].shape
    pairs = torch.cat([v.source * m + v.target for _, v, _ in heard])
    confidence = torch.cat([w * v.confidence for _, v, w in heard])
    voters = torch.cat([_voters(v, k, len(votes)) for k, v, _ in heard])
    pair, place = torch.unique(pairs, return_inverse=True)
    return Votes(
        pair // m,
        pair % m,
        confidence.new_zeros(len(pair)).index_add_(0, place, confidence),
        (n, m),
        voters.new_zeros(len(pair), voters.shape[1], dtype=torch.int32).index_add_(0, place, voters.int()) > 0,
    )


def _voters(votes: Votes, k: int, n: int) -> Tensor:
    if votes.voters is not None:
        return votes.voters
    own = torch.zeros(len(votes), n, dtype=torch.bool, device=votes.source.device)
    own[:, k] = True
    return own


def bidirectional_votes(
    source_vectors: Tensor, target_vectors: Tensor, hit_forward: float, hit_backward: float
) -> Votes:
    """P = beta g(M) + (1 - beta) g(M^T)^T with beta = hit_forward / (hit_forward + hit_backward) (Eq. 9-12).

    source_vectors [n, d], target_vectors [m, d]; M is their cosine. Confidence 1 where both directions agree.
    """
    return fuse(directions(unit(source_vectors), unit(target_vectors)), vote_weights((hit_forward, hit_backward)))
