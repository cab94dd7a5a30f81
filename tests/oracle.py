"""The paper's formulas with dense matrices, in plain lines: what every fast path must equal, value and gradient."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def cosine(source: Tensor, target: Tensor) -> Tensor:
    return F.normalize(source, dim=-1) @ F.normalize(target, dim=-1).T


def layer(hidden: Tensor, attention: Tensor, neighbours: Tensor, activation: str) -> Tensor:
    """Eq. 2-3 before the outer activation: hidden [n, d] is W_g h, attention [2d], neighbours bool [n, n]."""
    left, right = hidden @ attention[: hidden.shape[1]], hidden @ attention[hidden.shape[1] :]
    scores = left[:, None] + right[None, :]
    scores = F.leaky_relu(scores, 0.2) if activation == "leaky_relu" else F.elu(scores)
    alpha = scores.masked_fill(~neighbours, -torch.inf).softmax(1).nan_to_num(0.0)
    return alpha @ hidden


def relation_mean(triples: list[tuple[int, int, int]], relation: Tensor, n: int, end: int, kind: str) -> Tensor:
    """Eq. 4 (end 0: outward) and Eq. 5 (end 2: inward), over occurrences or over the set."""
    rows = []
    for entity in range(n):
        found = [r for h, r, t in triples if (h, r, t)[end] == entity]
        found = sorted(set(found)) if kind == "set" else found
        rows.append(relation[found].mean(0) if found else torch.zeros_like(relation[0]))
    return torch.stack(rows)


def teacher_update(teacher: Tensor, student: Tensor, momentum: float) -> Tensor:
    """Eq. 7."""
    return momentum * teacher + (1 - momentum) * student


def alignment_loss(vectors: Tensor, links: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """Eq. 8."""
    loss = vectors.new_zeros(())
    for (s, t), pairs in zip(links.tolist(), negatives.tolist(), strict=True):
        near = (vectors[s] - vectors[t]).norm()
        for a, b in pairs:
            loss = loss + (near + margin - (vectors[a] - vectors[b]).norm()).relu()
    return loss


def one_hot_of_best(similarity: Tensor) -> Tensor:
    """g(M), Eq. 12: the first maximum of each row."""
    return F.one_hot(similarity.argmax(1), similarity.shape[1]).to(similarity.dtype)


def bidirectional(source: Tensor, target: Tensor, hit_forward: float, hit_backward: float) -> Tensor:
    """P, Eq. 9-12."""
    similarity = cosine(source, target)
    total = hit_forward + hit_backward
    beta = hit_forward / total if total else 0.5
    return beta * one_hot_of_best(similarity) + (1 - beta) * one_hot_of_best(similarity.T).T


def rectified(votes: Tensor) -> Tensor:
    """Eq. 13; 0 where there is no vote."""
    competing = votes.sum(1, keepdim=True) + votes.sum(0, keepdim=True) - votes
    return torch.where(votes > 0, votes / competing, 0.0)


def pseudo_mapping_loss(source: Tensor, target: Tensor, votes: Tensor, temperature: float, kind: str) -> Tensor:
    """Eq. 14."""
    wanted = votes.softmax(1) if kind == "softmax" else votes
    return -(wanted * (cosine(source, target) / temperature).log_softmax(1)).sum()


def objective(loss_a: Tensor, loss_u: Tensor, epoch: int, ramp: int) -> Tensor:
    """Eq. 15 with the ramp-up exp(-5 (1 - e/ramp)^2)."""
    return loss_a + math.exp(-5 * max(0.0, 1 - epoch / ramp) ** 2) * loss_u


def expected_metrics(similarity: Tensor, truth: list[int], ks: tuple[int, ...]) -> dict[str, float]:
    """Hit@k and MRR as means over every possible rank of the true target among those equal to it."""
    hits, reciprocal = dict.fromkeys(ks, 0.0), 0.0
    for row, true in zip(similarity, truth, strict=True):
        better = sum(bool(s > row[true]) for s in row)
        equal = sum(bool(s == row[true]) for s in row)
        ranks = range(better + 1, better + equal + 1)
        reciprocal += sum(1 / r for r in ranks) / equal
        for k in ks:
            hits[k] += sum(r <= k for r in ranks) / equal
    n = len(truth)
    return {f"hits@{k}": h / n for k, h in hits.items()} | {"mrr": reciprocal / n}
