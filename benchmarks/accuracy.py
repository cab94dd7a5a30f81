"""Accuracy of a preset on benchmark folders, every fold: mean and standard deviation, seconds, peak GPU memory.

    python benchmarks/accuracy.py DATA --preset paper --tasks D_W_15K_V1 --folds 1 2 --set temperature=0.5

DATA holds OpenEA folders (DATA/D_W_15K_V1/rel_triples_1 ...). Test links are scored once, after training. Prints a
Markdown table; --out keeps every run as JSON.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch

from mixtea import MixTEA, load_task
from mixtea.config import parse_setting

TASKS = ("EN_FR_15K_V1", "EN_DE_15K_V1", "D_W_15K_V1", "D_Y_15K_V1")
METRICS = ("hits@1", "hits@5", "mrr")
PAPER = {
    "EN_FR_15K_V1": (0.582, 0.807, 0.680),
    "EN_DE_15K_V1": (0.724, 0.877, 0.797),
    "D_W_15K_V1": (0.647, 0.832, 0.731),
    "D_Y_15K_V1": (0.748, 0.871, 0.802),
}


def run(folder: Path, fold: int, preset: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Train on one fold and score its test links."""
    task = load_task(folder, fold=fold)
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    aligner = MixTEA(preset=preset, **settings).fit(task)
    memory = torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else float("nan")
    return {
        "task": folder.name,
        "fold": fold,
        **aligner.score(task.test),
        "seconds": aligner.seconds_,
        "gpu_gib": memory,
        "epochs": aligner.n_epochs_,
        "stopped_because": aligner.stopped_because_,
        "config": aligner.config.to_dict(),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Mean and standard deviation over the folds of each task, the paper's row beside."""
    lines = ["| task | folds | Hit@1 | Hit@5 | MRR | paper | s | epochs | GiB |", "|" + "---|" * 9]
    for name in dict.fromkeys(row["task"] for row in rows):
        runs = [row for row in rows if row["task"] == name]
        cells = [_mean_std([row[metric] for row in runs]) for metric in METRICS]
        published = "/".join(f"{v:.3f}".lstrip("0") for v in PAPER[name]) if name in PAPER else ""
        seconds, epochs, memory = (mean(row[key] for row in runs) for key in ("seconds", "epochs", "gpu_gib"))
        cells = [name, str(len(runs)), *cells, published, f"{seconds:.1f}", f"{epochs:.0f}", f"{memory:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean_std(values: list[float]) -> str:
    spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
    return f"{mean(values):.3f}{spread}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--folds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--set", nargs="*", default=[], metavar="FIELD=VALUE", dest="settings")
    parser.add_argument("--out", type=Path, help="keep every run as JSON here")
    args = parser.parse_args()
    settings = dict(parse_setting(text) for text in args.settings)
    run(args.data / args.tasks[0], args.folds[0], args.preset, settings | {"max_epochs": 2})  # warm up, not counted
    rows = []
    for name in args.tasks:
        for fold in args.folds:
            rows.append(run(args.data / name, fold, args.preset, settings))
            shown = " ".join(f"{m} {rows[-1][m]:.4f}" for m in METRICS)
            print(f"{name} fold {fold}: {shown}, {rows[-1]['epochs']} epochs, {rows[-1]['seconds']:.1f} s", flush=True)
            if args.out:
                args.out.write_text(json.dumps(rows, indent=1))
    print("\n" + table(rows))


if __name__ == "__main__":
    main()
