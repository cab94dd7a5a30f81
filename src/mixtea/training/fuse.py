"""Bi-directional voting (BDV) and matching diversity-based rectification (MDR)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.compute.similarity import unit
from mixtea.council.weights import vote_weights
from mixtea.voters.votes import directions, make_votes, no_votes


def fuse(votes: Sequence[ScoredPairs], weights: Sequence[float]) -> ScoredPairs:
    """Compute P = sum_k beta_k g_k (Eq. 10): pairs that several voters propose add up. A weight of 0 leaves votes out.

    Votes without voters are the k-th voter's own.
    """
    weighted = [(k, v, w) for k, (v, w) in enumerate(zip(votes, weights, strict=True)) if w > 0 and len(v)]
    if not weighted:
        n_voters = len(votes) if "voters" not in votes[0].columns else votes[0].voters.shape[1]
        return no_votes(votes[0].shape, votes[0].confidence, n_voters)
    n, m = votes[0].shape
    pairs = torch.cat([v.key for _, v, _ in weighted])
    confidence = torch.cat([w * v.confidence for _, v, w in weighted])
    voters = torch.cat([_voters(v, k, len(votes)) for k, v, _ in weighted])
    pair, place = torch.unique(pairs, return_inverse=True)
    return make_votes(
        pair // m,
        pair % m,
        confidence.new_zeros(len(pair)).index_add_(0, place, confidence),
        (n, m),
        voters.new_zeros(len(pair), voters.shape[1], dtype=torch.int32).index_add_(0, place, voters.int()) > 0,
    )


def _voters(votes: ScoredPairs, k: int, n: int) -> Tensor:
    if "voters" in votes.columns:
        return votes.voters
    own = torch.zeros(len(votes), n, dtype=torch.bool, device=votes.source.device)
    own[:, k] = True
    return own


def bidirectional_votes(
    source_vectors: Tensor, target_vectors: Tensor, hit_forward: float, hit_backward: float
) -> ScoredPairs:
    """Compute P = beta g(M) + (1 - beta) g(M^T)^T, beta = hit_forward / (hit_forward + hit_backward) (Eq. 9-12).

    source_vectors [n, d], target_vectors [m, d]; M is their cosine. Confidence 1 where both directions agree.
    """
    return fuse(directions(unit(source_vectors), unit(target_vectors)), vote_weights((hit_forward, hit_backward)))


def rectify(votes: ScoredPairs) -> ScoredPairs:
    """Compute P~_ij = P_ij / (sum_j' P_ij' + sum_i' P_i'j - P_ij) (Eq. 13), on votes alone: where P is 0, so is P~."""
    row = votes.row_sum(votes.confidence).index_select(0, votes.source)
    column = votes.column_sum(votes.confidence).index_select(0, votes.target)
    competing = row + column - votes.confidence
    rectified = votes.confidence / competing.where(competing > 0, 1.0)
    return votes.with_columns(confidence=rectified)
