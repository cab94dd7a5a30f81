"""Accuracy of a preset on benchmark folders, every fold: mean and standard deviation, seconds, peak GPU memory.

    python benchmarks/accuracy.py DATA --preset best --tasks D_W_15K_V1 --folds 1 2 --set temperature=0.5

DATA holds OpenEA folders (DATA/D_W_15K_V1/rel_triples_1 ...). Each run is scored after training: the student by plain
cosine, and, for a preset with a council, its own decoder and one-to-one; then how far the probabilities of its own
decoder can be trusted. `mixtea reproduce` makes the tables of the results; this script tries settings. --seeds 0.05
cuts the training links to that share of the 15,000, and the validation links to half as many. --links valid scores the
validation links among all targets, which is how settings are chosen: test links rest until then. Prints a Markdown
table; --out keeps every run as JSON; --jobs runs several at a time on one GPU, and their seconds then mean little.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any

from mixtea import Task, load_task
from mixtea.config import parse_setting
from mixtea.experiments.reproduce.pages import mean_std
from mixtea.experiments.reproduce.plan import structural_voters
from mixtea.experiments.reproduce.published import MAIN, METRICS, TASKS
from mixtea.experiments.reproduce.runner import TRUST_SCORES, measured


def few_seeds(task: Task, share: float | None) -> Task:
    """The task with training links for `share` of its links, and half as many validation links."""
    if share is None:
        return task
    n = round(share * sum(len(links) for links in (task.train, task.valid, task.test)))
    return task.replace(train=task.train[:n], valid=task.valid[: n // 2])


def run(
    folder: Path, fold: int, preset: str, settings: dict[str, Any], seeds: float | None = None, links: str = "test"
) -> dict[str, Any]:
    """Train on one fold and score its test links, or its validation links among all targets."""
    task = few_seeds(load_task(folder, fold=fold), seeds)
    if links == "valid":
        task, settings = task.replace(test=task.valid), settings | {"candidates": "all"}
    about = {"task": folder.name, "fold": fold, "settings": settings, "seeds": seeds}
    return about | measured(task, preset, {"voters": structural_voters(preset)} | settings)


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
    both = "; ".join(f"{k} " + " ".join(f"{v[m]:.4f}" for m in METRICS) for k, v in row["scores"].items())
    trust = " ".join(f"{row[name]:.3f}" for name in TRUST_SCORES if name in row)
    said = f"{row['task']} fold {row['fold']} {row['settings'] or ''} {row['seeds'] or ''}: {both}; trust {trust}"
    print(f"{said}; {row['epochs']} epochs, {row['seconds']:.1f} s, {row['peak_gib']:.2f} GiB", flush=True)
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """Mean and standard deviation over the folds of each task, the paper's Hit@1 beside."""
    kinds = list(dict.fromkeys(kind for row in rows for kind in row["scores"]))
    heads = ["task", "folds", *(f"{kind} {m}" for kind in kinds for m in METRICS), "paper hits@1"]
    heads += ["calibration error", "accepted at 95 %", "their precision", "s", "GiB"]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for name in dict.fromkeys(row["task"] for row in rows):
        runs = [row for row in rows if row["task"] == name]
        cells = [mean_std([row["scores"][kind][m] for row in runs]) for kind in kinds for m in METRICS]
        cells += [f"{MAIN['MixTEA'][name][0]:.3f}" if name in TASKS else ""]
        cells += [mean_std([row[key] for row in runs if key in row]) for key in TRUST_SCORES]
        cells += [f"{mean(row[key] for row in runs):.2f}" for key in ("seconds", "peak_gib")]
        lines.append(f"| {' | '.join([name, str(len(runs)), *cells])} |")
    return "\n".join(lines)


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
