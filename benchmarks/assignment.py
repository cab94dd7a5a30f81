"""The one-to-one assignment against SciPy's exact one: seconds, growth, totals, and how many rows get the same column.

    python benchmarks/assignment.py [--sizes 2500 5000 10000 20000 40000] [--exact-up-to 20000]

Each problem is one connected part: rows with 20 candidates, six of them among columns that many rows want. Most rows
believe in a column of their own, some hardly more than in others. On one core of the CPU.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from common import header, row
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from torch import Tensor

from mixtea.compute.scored_pairs import ScoredPairs, pairs_of_keys, rank_within
from mixtea.decide.assignment import MIN_LOG, assign


def problem(n: int, own: float, seed: int = 0) -> tuple[ScoredPairs, Tensor]:
    """Candidates and logarithms of belief; `own` is how much more, on average, a row thinks of its own column."""
    draw = np.random.default_rng(seed)
    columns = draw.integers(0, n, (n, 20))
    columns[:, 0] = np.arange(n)
    columns[:, 1:7] = n * draw.random((n, 6)) ** 3
    keys = torch.from_numpy((np.arange(n)[:, None] * n + columns).ravel())
    pairs = pairs_of_keys(keys, (n, n))
    score = torch.from_numpy(1.5 * draw.normal(0, 1, len(pairs)))
    score += torch.where(pairs.source == pairs.target, torch.from_numpy(1.5 * draw.normal(own, 2, n))[pairs.source], 0)
    logs = (score - pairs.row_sum(score.exp()).log()[pairs.source]).round(decimals=4)
    kept = (logs > MIN_LOG) | (rank_within(pairs.source, logs, n) == 0)
    return pairs.where(kept), logs[kept]


def exact(pairs: ScoredPairs, logs: Tensor) -> Tensor:
    """bool a pair, by SciPy: each row has a place of its own besides, one below the least logarithm."""
    n, m = pairs.shape
    costs = np.concatenate([1.0 - logs.numpy(), np.full(n, 2.0 - float(logs.min()))])
    rows = np.concatenate([pairs.source.numpy(), np.arange(n)])
    columns = np.concatenate([pairs.target.numpy(), m + np.arange(n)])
    found = min_weight_full_bipartite_matching(csr_matrix((costs, (rows, columns)), shape=(n, m + n)))[1]
    return torch.from_numpy(found).long()[pairs.source] == pairs.target


def total(pairs: ScoredPairs, logs: Tensor, chosen: Tensor) -> float:
    alone = pairs.shape[0] - int(chosen.sum())
    return float(logs[chosen].sum() + alone * (logs.min() - 1.0))


def compared(pairs: ScoredPairs, logs: Tensor, chosen: Tensor) -> list[str]:
    """SciPy's seconds, how much less the total is a row, and the share of rows with the same column or none."""
    started = time.perf_counter()
    best = exact(pairs, logs)
    seconds = time.perf_counter() - started
    n = pairs.shape[0]
    less = (total(pairs, logs, best) - total(pairs, logs, chosen)) / n
    differ = len(pairs.source[best != chosen].unique())
    return [f"{seconds:.2f}", f"{less:.7f}", f"{1 - differ / n:.4f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[2500, 5000, 10000, 20000, 40000])
    parser.add_argument("--exact-up-to", type=int, default=20000)
    args = parser.parse_args()
    torch.set_num_threads(1)
    header("contention", "rows", "candidates", "s", "growth", "s of SciPy", "total less by, a row", "same column")
    for name, own in (("some", 4.0), ("much", 2.0)):
        before = None
        for n in args.sizes:
            pairs, logs = problem(n, own)
            started = time.perf_counter()
            chosen = assign(pairs, logs)
            seconds = time.perf_counter() - started
            growth = "" if before is None else f"{seconds / before:.2f}"
            others = compared(pairs, logs, chosen) if n <= args.exact_up_to else ["", "", ""]
            row([name, f"{n:,}", f"{len(pairs):,}", f"{seconds:.2f}", growth, *others])
            before = seconds


if __name__ == "__main__":
    main()
