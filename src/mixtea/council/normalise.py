"""Make scores of candidate pairs comparable between rows: CSLS and Sinkhorn."""

from __future__ import annotations

import torch
from torch import Tensor

from mixtea.compute.memory import FEWER_PAIRS, enough_memory
from mixtea.compute.scored_pairs import ScoredPairs, rank_within

NEIGHBOURS = 10  # of CSLS
MIN_SUM = 1e-30  # that is divided by


@enough_memory(FEWER_PAIRS)
@torch.no_grad()
def csls(pairs: ScoredPairs, scores: Tensor, neighbours: int = NEIGHBOURS) -> Tensor:
    """Compute 2 s_ij - r_i - r_j, r the mean of the greatest `neighbours` scores of the pair's row and column."""
    rows = _mean_of_best(scores, pairs.source, pairs.shape[0], neighbours)
    columns = _mean_of_best(scores, pairs.target, pairs.shape[1], neighbours)
    return 2 * scores - rows[pairs.source] - columns[pairs.target]


def _mean_of_best(scores: Tensor, line: Tensor, n: int, neighbours: int) -> Tensor:
    kept = rank_within(line, scores, n) < neighbours
    total = scores.new_zeros(n).index_add_(0, line[kept], scores[kept])
    return total / torch.bincount(line, minlength=n).clamp(1, neighbours)


@enough_memory(FEWER_PAIRS)
@torch.no_grad()
def sinkhorn(pairs: ScoredPairs, scores: Tensor, temperature: float, rounds: int) -> Tensor:
    """Compute exp(s / temperature), its rows and then its columns divided by their sums, `rounds` times.

    The result is a belief: between 0 and 1, columns add up to 1 and rows nearly do. Pairs that are not among the
    candidates count as impossible.
    """
    scaled = scores / temperature
    kernel = (scaled - pairs.row_max(scaled)[pairs.source]).exp()
    column = kernel.new_ones(pairs.shape[1])
    row = kernel.new_ones(pairs.shape[0])
    source, target, (n, m) = pairs.source, pairs.target, pairs.shape
    for _ in range(rounds):
        row = kernel.new_zeros(n).index_add_(0, source, kernel * column[target]).clamp_(min=MIN_SUM).reciprocal_()
        column = kernel.new_zeros(m).index_add_(0, target, kernel * row[source]).clamp_(min=MIN_SUM).reciprocal_()
    return kernel * row[source] * column[target]


@torch.no_grad()
def normalise_with_null(pairs: ScoredPairs, log_odds: Tensor) -> Tensor:
    """Compute e / (1 + the sum of e in the pair's row or column, whichever is greater), e = exp(log-odds of a match).

    This is how likely a pair is when each entity has one counterpart or none, which rivals every candidate.
    """

    def share(line: Tensor, greatest: Tensor, n: int) -> Tensor:
        top = greatest.clamp(min=0)  # that of no counterpart
        total = log_odds.new_zeros(n).index_add_(0, line, (log_odds - top[line]).exp()) + (-top).exp()
        return (log_odds - top[line]).exp() / total[line]

    n, m = pairs.shape
    rows, columns = pairs.row_max(log_odds), pairs.column_max(log_odds)
    return torch.minimum(share(pairs.source, rows, n), share(pairs.target, columns, m))
