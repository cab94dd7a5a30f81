"""Approximate search of votes against the exact sweep: how often both find the same best match, and how fast.

    python benchmarks/search.py DATA [--task D_W_15K_V1] [--epochs 10]

Vectors of a student trained for some epochs, both directions, on the CPU. Needs the extra `faiss`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from common import header, row, timed

from mixtea import Config, load_task
from mixtea.compute.similarity import best_both_ways, unit_rows
from mixtea.training.trainer import Trainer
from mixtea.voters.votes import directions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--task", default="D_W_15K_V1")
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()
    device = torch.device("cpu")
    trainer = Trainer(load_task(args.data / args.task, fold=1), Config(normaliser="moments", votes_every=5), device)
    for epoch in range(1, args.epochs + 1):
        trainer.step(epoch)
    with torch.no_grad():
        source, target = unit_rows(trainer.student(), *trainer.entities.rows)
    exact = best_both_ways(source, target)
    first = timed(lambda: best_both_ways(source, target), device)
    header("search", "s, both directions", "ratio", "same best match")
    row(["exact", f"{first:.1f}", "1.0", "1.000"])
    for kind in ("ivf", "hnsw"):
        forward, backward = directions(source, target, search=kind)
        seconds = timed(lambda kind=kind: directions(source, target, search=kind), device)  # type: ignore[misc]
        hits = torch.cat([forward.target == exact.target_of, backward.source == exact.source_of])
        row([kind, f"{seconds:.1f}", f"{seconds / first:.2f}", f"{hits.double().mean().item():.3f}"])


if __name__ == "__main__":
    main()
