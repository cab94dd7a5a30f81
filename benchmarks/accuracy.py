"""Accuracy of a preset on benchmark folders, every fold: mean and standard deviation, seconds, peak GPU memory.

    python benchmarks/accuracy.py DATA --preset best --tasks D_W_15K_V1 --folds 1 2 --set temperature=0.5

DATA holds OpenEA folders (DATA/D_W_15K_V1/rel_triples_1 ...). Each run is scored twice, after training: the student by
plain cosine, and the preset's own decoder; then how far its probabilities can be trusted. --seeds 0.05 cuts the
training links to that share of the 15,000, and the validation links to half as many. --links valid scores the
validation links among all targets, which is how settings are chosen: test links rest until then. Prints a Markdown
table; --out keeps every run as JSON; --jobs runs several at a time on one GPU, and their seconds then mean little.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import torch

from mixtea import MixTEA, Task, load_task
from mixtea.config import parse_setting
from mixtea.measure.metrics import both_directions

TASKS = ("EN_FR_15K_V1", "EN_DE_15K_V1", "D_W_15K_V1", "D_Y_15K_V1")
METRICS = ("hits@1", "hits@5", "mrr")
TRUST = ("calibration_error", "accepted@95", "accepted@95_precision")
PAPER = {"EN_FR_15K_V1": 0.582, "EN_DE_15K_V1": 0.724, "D_W_15K_V1": 0.647, "D_Y_15K_V1": 0.748}


def few_seeds(task: Task, share: float | None) -> Task:
    """The task with training links for `share` of its links, and half as many validation links."""
    if share is None:
        return task
    n = round(share * sum(len(links) for links in (task.train, task.valid, task.test)))
    return replace(task, train=task.train[:n], valid=task.valid[: n // 2])


def run(
    folder: Path, fold: int, preset: str, settings: dict[str, Any], seeds: float | None = None, links: str = "test"
) -> dict[str, Any]:
    """Train on one fold and score its test links, or its validation links among all targets."""
    task = few_seeds(load_task(folder, fold=fold), seeds)
    if torch.cuda.is_available():
        torch.cuda.init()
        torch.cuda.reset_peak_memory_stats()
    aligner = MixTEA(preset=preset, **settings).fit(task)
    memory = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else float("nan")
    started = time.perf_counter()
    scored = task.test if links == "test" else task.valid
    if links == "valid":
        aligner.config = aligner.config.replace(candidates="all")
    decoded = aligner.score(scored)
    seconds = time.perf_counter() - started
    joint = torch.from_numpy(scored + np.array([0, task.source.n_entities])).to(aligner.vectors_.device)
    student = both_directions(aligner.vectors_, joint, task.source.n_entities if links == "valid" else None)
    return {
        "task": folder.name, "fold": fold, "settings": settings, "seeds": seeds, "links": links,
        "student": {m: student[m] for m in METRICS}, "decoded": {m: decoded[m] for m in METRICS},
        **{name: decoded[name] for name in TRUST if name in decoded},
        "seconds": aligner.seconds_, "decoding_seconds": seconds, "gpu_gib": memory, "epochs": aligner.n_epochs_,
        "n_train": len(task.train), "n_valid": len(task.valid), "config": aligner.config.to_dict(),
    }  # fmt: skip


def run_all(jobs: list[tuple[Any, ...]], workers: int, out: Path | None) -> list[dict[str, Any]]:
    """All runs, some at a time; each is shown as it ends."""
    rows: list[dict[str, Any]] = []
    if workers == 1:
        results = (run(*job) for job in jobs)
        return [_shown(row, rows, out) for row in results]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return [_shown(row, rows, out) for row in pool.map(run, *zip(*jobs, strict=True))]


def _shown(row: dict[str, Any], rows: list[dict[str, Any]], out: Path | None) -> dict[str, Any]:
    rows.append(row)
    if out:
        out.write_text(json.dumps(rows, indent=1))
    both = "; ".join(f"{k} " + " ".join(f"{row[k][m]:.4f}" for m in METRICS) for k in ("student", "decoded"))
    trust = " ".join(f"{row[name]:.3f}" for name in TRUST if name in row)
    said = f"{row['task']} fold {row['fold']} {row['settings'] or ''} {row['seeds'] or ''}: {both}; trust {trust}"
    print(f"{said}; {row['epochs']} epochs, {row['seconds']:.1f} s, {row['gpu_gib']:.2f} GiB", flush=True)
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """Mean and standard deviation over the folds of each task, the paper's Hit@1 beside."""
    heads = ["task", "folds", "student Hit@1", "Hit@5", "MRR", "decoded Hit@1", "Hit@5", "MRR", "paper Hit@1"]
    heads += ["calibration error", "accepted at 95 %", "their precision", "s", "GiB"]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for name in dict.fromkeys(row["task"] for row in rows):
        runs = [row for row in rows if row["task"] == name]
        cells = [_mean_std([row[kind][m] for row in runs]) for kind in ("student", "decoded") for m in METRICS]
        cells += [f"{PAPER[name]:.3f}" if name in PAPER else ""]
        cells += [_mean_std([row[key] for row in runs if key in row]) for key in TRUST]
        cells += [f"{mean(row[key] for row in runs):.2f}" for key in ("seconds", "gpu_gib")]
        lines.append(f"| {' | '.join([name, str(len(runs)), *cells])} |")
    return "\n".join(lines)


def _mean_std(values: list[float]) -> str:
    if not values:
        return ""
    spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
    return f"{mean(values):.3f}{spread}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--preset", default="best")
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--folds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--seeds", nargs="+", type=float, default=[None], help="share of all links to train on")
    parser.add_argument("--links", choices=("test", "valid"), default="test")
    parser.add_argument("--set", nargs="*", default=[], metavar="FIELD=VALUE", dest="settings")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="keep every run as JSON here")
    args = parser.parse_args()
    settings = dict(parse_setting(text) for text in args.settings)
    if args.jobs == 1:  # warm up, not counted
        run(args.data / args.tasks[0], args.folds[0], args.preset, settings | {"max_epochs": 2}, args.seeds[0])
    jobs = [
        (args.data / name, fold, args.preset, settings, seeds, args.links)
        for seeds in args.seeds for name in args.tasks for fold in args.folds
    ]  # fmt: skip
    rows = run_all(jobs, args.jobs, args.out)
    for seeds in args.seeds:
        print("\n" + (f"seeds {seeds}:\n" if seeds else "") + table([row for row in rows if row["seeds"] == seeds]))


if __name__ == "__main__":
    main()
