"""Candidates by names against an exact search: recall, the links among them, and the ways to find them.

    python benchmarks/name_candidates.py DATA [--tasks EN_FR_15K_V1 ...] [--sample 2000] [--device auto] [--sketch]

DATA holds the sets of the tables, unpacked, and what `make_taxonomy` lays out (`plants`). For up to `--sample` names of
each side that look for similar ones, the exact search multiplies each with all of the other side. Recall is the share
of the 20 best that are among the candidates, where those that are as similar as the 20th count as found. `--all` shows
the links that a search for all names finds, settled or not. With `--sketch` rows are projected to a few hundred numbers
by random signs, too, and the nearest of these looked at: why that is not done. For WN30_WN31, with no names, the rows
are those of its values.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import header, row
from names import load
from scipy.sparse import csr_matrix

from mixtea.compute.ngrams import sparse_unit_rows
from mixtea.compute.similar_rows import RowIndex, SimilarRows, is_gpu, row_products, top_products_in_blocks
from mixtea.graph.task import Task
from mixtea.voters import similarity
from mixtea.voters.attributes import AttributeOpinions
from mixtea.voters.names import NameOpinions
from mixtea.voters.similarity import CANDIDATES_PER_ENTITY, SimilarityOpinions

TASKS = ("EN_FR_15K_V1", "DBP15K_ZH_EN, translated", "WN30_WN31", "plants")
NAMES_PER_BLOCK = 256  # that the exact search multiplies with all others at a time
SKETCHES = ((256, 50), (512, 100), (1024, 200))  # numbers of a projected row, and how many of the nearest are looked at


def opinions_of(task: Task, device: str) -> SimilarityOpinions:
    names = NameOpinions(task, device=device)
    return names if names.has_both_sides else AttributeOpinions(task, device)


def rows_of(opinions: SimilarityOpinions) -> tuple[tuple[csr_matrix, csr_matrix], list[np.ndarray]]:
    """The rows of both sides, and which of them look for similar ones; names that the other side has do not count."""
    if isinstance(opinions, NameOpinions):
        ours, theirs = opinions.index.looking
        equal = opinions.index.equal
        return opinions.index.rows, [ours[equal[ours] < 0], np.setdiff1d(theirs, equal)]
    assert isinstance(opinions, AttributeOpinions)
    looking = [np.flatnonzero(has & ~done) for has, done in zip(opinions.has, opinions.settled, strict=True)]
    return opinions._rows(opinions.aligned), looking


def least_of_best(rows: csr_matrix, others: csr_matrix, k: int) -> np.ndarray:
    """[n]: the similarity of the k-th best of all others."""
    turned = csr_matrix(others.T)
    found = [
        np.partition((rows[begin : begin + NAMES_PER_BLOCK] @ turned).toarray(), -k, axis=1)[:, -k]
        for begin in range(0, rows.shape[0], NAMES_PER_BLOCK)
    ]
    return np.concatenate(found) if found else np.empty(0, dtype=np.float32)


def recall(found: SimilarRows, least: np.ndarray, k: int) -> float:
    """The share of the k best of each row that are found."""
    good = (found.product >= least[found.first] - 1e-6) & (found.product > 0)
    n = np.minimum(np.bincount(found.first[good], minlength=len(least)), k)
    return float(n[least > 0].sum() / (k * max((least > 0).sum(), 1)))


def sketched(rows: csr_matrix, others: csr_matrix, width: int, k: int, seed: int = 0) -> SimilarRows:
    """The nearest by a projection of each column to one number with a random sign."""
    draw = np.random.default_rng(seed)
    n = rows.shape[1]
    sign = draw.choice(np.array([-1, 1], dtype=np.float32), n)
    projection = csr_matrix((sign, (np.arange(n), draw.integers(0, width, n))), shape=(n, width))
    ours, theirs = (torch.from_numpy(sparse_unit_rows(side @ projection).toarray()) for side in (rows, others))
    places = [(ours[b : b + 512] @ theirs.T).topk(k, dim=1).indices for b in range(0, len(ours), 512)]
    row_, other = np.repeat(np.arange(len(ours)), k), torch.cat(places).numpy().ravel()
    return SimilarRows(row_, other, row_products(rows, others, row_, other))


def links_among(opinions: SimilarityOpinions, task: Task) -> float:
    return float(opinions.found.find(task.test[:, 0], task.test[:, 1])[1].mean())


def measure(name: str, task: Task, args: argparse.Namespace) -> None:
    opinions, k = opinions_of(task, args.device), CANDIDATES_PER_ENTITY
    started = time.process_time()
    share = links_among(opinions, task)
    seconds = time.process_time() - started
    n_settled = int(opinions.settled[0].sum()) if opinions.settled is not None else 0
    rows, looking = rows_of(opinions)
    draw = np.random.default_rng(0)
    results: dict[str, list[tuple[float, float]]] = {}
    for side in (0, 1):
        # as many look as in a run, so that each is looked up through as many columns; a sample of them is judged
        every = looking[side]
        sample = np.sort(draw.permutation(len(every))[: args.sample])
        wanted, others = rows[side][every], rows[1 - side]
        if not len(sample):
            continue
        least = least_of_best(wanted[sample], others, min(k, others.shape[0]))
        place = np.full(len(every), -1)
        place[sample] = np.arange(len(sample))

        def judged(label: str, found: SimilarRows, began: float, place: np.ndarray, least: np.ndarray) -> None:
            at = place[found.first]
            kept = SimilarRows(at[at >= 0], found.second[at >= 0], found.product[at >= 0])
            results.setdefault(label, []).append((recall(kept, least, k), time.perf_counter() - began))

        began = time.perf_counter()
        judged("used", RowIndex(others, args.device).most_alike(wanted, k), began, place, least)
        few, alone = wanted[sample], np.arange(len(sample))
        if is_gpu(args.device) or args.sketch:
            began = time.perf_counter()
            dense = top_products_in_blocks(few, others, k, args.device)
            ends = np.repeat(alone, np.diff(dense.indptr)), dense.indices.astype(np.int64)
            judged("blocks, of the sample", SimilarRows(*ends, dense.data), began, alone, least)
        for width, wide in SKETCHES if args.sketch else ():
            began = time.perf_counter()
            label = f"sketch of {width}, {wide} nearest, of the sample"
            judged(label, sketched(few, others, width, wide), began, alone, least)
    before, similarity.MIN_SETTLED = similarity.MIN_SETTLED, 10**9
    whole = links_among(opinions_of(task, args.device), task) if args.all else float("nan")
    similarity.MIN_SETTLED = before
    for label, found in results.items():
        cells: list[Any] = [name, n_settled, "/".join(f"{len(side):,}" for side in looking), label]
        cells += [" ".join(f"{value:.4f}" for value, _ in found), f"{sum(s for _, s in found):.1f}"]
        row([*cells, f"{share:.4f}", f"{whole:.4f}", f"{seconds:.1f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--sample", type=int, default=2000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sketch", action="store_true")
    parser.add_argument("--all", action="store_true", help="search for all names too, settled or not")
    args = parser.parse_args()
    header("task", "settled", "look", "way", "recall of each side", "s", "links among candidates", "without settling",
           "CPU s")  # fmt: skip
    for name in args.tasks:
        measure(name, load(args.data, name, 1), args)


if __name__ == "__main__":
    main()
