"""What each voter, decoder and setting of the preset `best` adds: one switched off at a time.

    python benchmarks/ablation.py DATA --tasks EN_FR_15K_V1 D_W_15K_V1 --folds 1 2 --jobs 4

Prints Hit@1 on the test links of the student by plain cosine and of one-to-one decoding by all voters, mean over the
folds, and for the full preset every decoder. --out keeps the rows as JSON.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any

from mixtea import MixTEA, load_task
from mixtea.config import STRUCTURE_VOTERS

OFF: dict[str, dict[str, Any]] = {
    "the preset best": {},
    "no propagation": {"voters": ("forward", "backward", "agreement")},
    "no agreement": {"voters": ("forward", "backward", "propagation")},
    "propagation not cross-fitted": {"propagation_cross_fit": False},
    "CSLS instead of Sinkhorn": {"vote_normaliser": "csls"},
    "temperature 1, lambda 1": {"temperature": 1.0, "pseudo_weight": 1.0},
    "learning rate halved, not cosine": {"lr_decay": "halving"},
    "voters weigh the same": {"valid_needed": 1_000_000},
    "no MDR": {"rectify": False},
    "256 numbers an entity": {"entity_dim": 256},
    "negatives at the source end": {"negatives_replace": "source"},
    "no rounds before training": {"propagation_rounds": 0},
    "concatenation weights fixed": {"concat_weights": "uniform"},
    "teacher without dropout": {"teacher_dropout": False},
}
DECODERS = [
    (decoder, voters)
    for voters in ("forward,backward", "forward,backward,agreement", ",".join(STRUCTURE_VOTERS))
    for decoder in ("nearest", "csls", "sinkhorn", "one_to_one")
]


def run(folder: Path, fold: int, label: str) -> dict[str, Any]:
    """Train once and score by the two decoders that matter, or by all of them for the full preset."""
    aligner = MixTEA(preset="best", **({"voters": STRUCTURE_VOTERS} | OFF[label])).fit(load_task(folder, fold=fold))
    decoders = DECODERS if label == next(iter(OFF)) else []
    hits = {f"{d}, {v}": aligner.score(decoder=d, voters=v)["hits@1"] for d, v in decoders}
    hits["student"] = aligner.score(decoder="nearest", voters="forward,backward")["hits@1"]
    hits["one-to-one"] = aligner.score(decoder="one_to_one")["hits@1"]
    return {"task": folder.name, "fold": fold, "label": label, "hits@1": hits, "seconds": aligner.seconds_}


def tables(rows: list[dict[str, Any]]) -> str:
    tasks = list(dict.fromkeys(row["task"] for row in rows))

    def cell(label: str, task: str, decoder: str) -> str:
        found = [r["hits@1"][decoder] for r in rows if r["label"] == label and r["task"] == task]
        return f"{mean(found):.3f}" if found else ""

    labels = list(dict.fromkeys(row["label"] for row in rows))
    lines = [
        "| | " + " | ".join(f"{t}, student | {t}, one-to-one" for t in tasks) + " |",
        "|" + "---|" * (1 + 2 * len(tasks)),
    ]
    for label in labels:
        cells = [cell(label, task, d) for task in tasks for d in ("student", "one-to-one")]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    lines += ["", f"| decoder, voters | {' | '.join(tasks)} |", "|" + "---|" * (1 + len(tasks))]
    for decoder, voters in DECODERS:
        name = f"{decoder}, {voters}"
        lines.append(f"| {name} | {' | '.join(cell(labels[0], task, name) for task in tasks)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=("EN_FR_15K_V1", "D_W_15K_V1"))
    parser.add_argument("--folds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    jobs = [(args.data / name, fold, label) for label in OFF for name in args.tasks for fold in args.folds]
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
        for row in pool.map(run, *zip(*jobs, strict=True)):
            rows.append(row)
            print(row["task"], row["fold"], row["label"], row["hits@1"], f"{row['seconds']:.1f} s", flush=True)
            if args.out:
                args.out.write_text(json.dumps(rows, indent=1))
    print(tables(rows))


if __name__ == "__main__":
    main()
