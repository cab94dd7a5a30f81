"""Which fields explain the difference between the paper's text and the behaviour behind its numbers.

    python benchmarks/text_fields.py DATA --task D_W_15K_V1 --fold 1

Both presets, then each field in which they differ switched alone: from "paper" to the text's value, and from "text" to
the paper's. One fold, so these are leads. Prints a Markdown table, the largest differences first.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mixtea import Config, MixTEA, Task, load_task
from mixtea.config import PRESETS


def hit(task: Task, preset: str, settings: dict[str, Any]) -> float:
    scores = MixTEA(preset=preset, **settings).fit(task).score(task.test)
    print(f"{preset} {settings}: {scores['hits@1']:.4f} {scores['hits@5']:.4f} {scores['mrr']:.4f}", flush=True)
    return scores["hits@1"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--task", default="D_W_15K_V1")
    parser.add_argument("--fold", type=int, default=1)
    args = parser.parse_args()
    task = load_task(args.data / args.task, fold=args.fold)
    letter, published = PRESETS["text"], Config().to_dict()
    both = {"candidates": "given"}  # scored alike, so that only the learning differs
    paper, text = hit(task, "paper", {}), hit(task, "text", both)
    rows = []
    for name, value in letter.items():
        if name != "candidates":
            changed = hit(task, "paper", {name: value}) - paper
            mended = hit(task, "text", both | {name: published[name]}) - text
            rows.append((name, published[name], value, changed, mended))
    print(f"\nHit@1: preset paper {paper:.3f}, preset text {text:.3f}\n")
    print("| field | paper | text | paper with the text's value | text with the paper's value |\n|---|---|---|---|---|")
    for name, old, new, changed, mended in sorted(rows, key=lambda row: row[3] - row[4]):
        print(f"| `{name}` | {old} | {new} | {changed:+.3f} | {mended:+.3f} |")


if __name__ == "__main__":
    main()
