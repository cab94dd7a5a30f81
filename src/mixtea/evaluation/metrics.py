"""Hit@k and MRR. Ties count in expectation: every order of equally similar candidates is equally likely."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.compute.similarity import count_better_and_equal, fast_products, unit
from mixtea.errors import DataError

KS = (1, 5, 10)
METRICS = (*(f"hits@{k}" for k in KS), "mrr")
RANKING_TOLERANCE = 1e-4  # of decoders' numbers, which have gone through many sums


def ranking_metrics(
    source_vectors: Tensor,
    target_vectors: Tensor,
    truth: Tensor,
    ks: Sequence[int] = KS,
    *,
    block_size: int | None = None,
    mib: int | None = None,
) -> dict[str, float]:
    """Compute Hit@k and MRR of source row i against target row truth[i] by cosine, ties in expectation.

    source_vectors [n, d], target_vectors [m, d], truth int64 [n]. With g better and e equal candidates (the true one
    included), Hit@k is clamp((k - g)/e, 0, 1) and the reciprocal rank the mean of 1/r for r = g+1 .. g+e.
    """
    if not len(truth):
        raise DataError("There is no link to score.")
    source, target = unit(source_vectors), unit(target_vectors)
    with fast_products(False):
        counts = count_better_and_equal(source, target, truth, block_size=block_size, mib=mib)
    return expected_metrics(*counts, ks)


def expected_metrics(better: Tensor, equal: Tensor, ks: Sequence[int] = KS) -> dict[str, float]:
    """Compute the metrics from how many candidates are better, and how many equal to the right one, itself included."""
    better, equal = better.double(), equal.double()
    hits = {f"hits@{k}": ((k - better) / equal).clamp(0, 1).mean().item() for k in ks}
    harmonic = torch.digamma(better + equal + 1) - torch.digamma(better + 1)
    reciprocal = torch.where(equal == 1, 1 / (better + 1), harmonic / equal)
    return hits | {"mrr": reciprocal.mean().item()}


def sparse_ranking_metrics(
    pairs: ScoredPairs, ranking: Tensor, links: Tensor, ks: Sequence[int] = KS
) -> dict[str, float]:
    """Compute Hit@k and MRR of links [p, 2] (rows and columns of `pairs`) when only candidates are ranked.

    Targets that are not candidates of a row come after them, all equal.
    """
    return expected_metrics(*better_and_equal(pairs, ranking, links), ks)


def hits_at_1(better: Tensor, equal: Tensor) -> Tensor:
    """Return Hit@1 per link: how likely each is first, if every order of equal candidates is equally likely."""
    return ((1 - better.double()) / equal.double()).clamp(0, 1)


def better_and_equal(pairs: ScoredPairs, ranking: Tensor, links: Tensor) -> tuple[Tensor, Tensor]:
    """Count the candidates better than the right one, and those equal to it, itself included; of links [p, 2]."""
    row, column = links[:, 0], links[:, 1]
    if not len(pairs):
        return torch.zeros_like(row), torch.full_like(row, pairs.shape[1])
    size = torch.bincount(pairs.source, minlength=pairs.shape[0])
    place, found = pairs.find(row, column)
    of_row = torch.argsort(row, stable=True)
    first = torch.searchsorted(row[of_row].contiguous(), torch.arange(pairs.shape[0], device=row.device))
    copies = torch.bincount(row, minlength=pairs.shape[0])[pairs.source]  # links that a candidate competes in
    entry = torch.repeat_interleave(torch.arange(len(pairs), device=row.device), copies)
    turn = torch.arange(len(entry), device=row.device) - torch.repeat_interleave(copies.cumsum(0) - copies, copies)
    link = of_row[first[pairs.source[entry]] + turn]
    gap = ranking[entry] - ranking[place][link]
    better = torch.zeros_like(row).index_add_(0, link, (gap > RANKING_TOLERANCE).long())
    equal = torch.zeros_like(row).index_add_(0, link, (gap.abs() <= RANKING_TOLERANCE).long())
    return better.where(found, size[row]), equal.where(found, pairs.shape[1] - size[row]).clamp(min=1)


def both_directions(
    vectors: Tensor, links: Tensor, n_source: int | None = None, *, mib: int | None = None
) -> dict[str, float]:
    """Compute the metrics from source to target, and from target to source under names that begin with `backward_`.

    vectors [N, d] and links [p, 2] by joint index. Candidates are the links' own other ends, or, if `n_source` is
    given, all entities of the other graph.
    """
    found: dict[str, float] = {}
    for prefix, (own, other) in (("", (0, 1)), ("backward_", (1, 0))):
        if n_source is None:
            candidates, truth = torch.unique(links[:, other], return_inverse=True)
            goal = vectors.index_select(0, candidates)
        else:
            first = n_source if other else 0
            goal, truth = (vectors[n_source:] if other else vectors[:n_source]), links[:, other] - first
        scores = ranking_metrics(vectors.index_select(0, links[:, own]), goal, truth, mib=mib)
        found |= {prefix + name: value for name, value in scores.items()}
    return found
