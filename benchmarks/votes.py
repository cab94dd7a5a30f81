"""Does agreement mean precision? The votes of a training by epoch, and by how many voters favour them.

    python benchmarks/votes.py DATA/EN_FR_15K_V1 DATA/D_W_15K_V1 --fold 1 --out docs/votes.png

Votes come from the run's trace, after training; they are compared with the validation and test links by an observer
that the training cannot see. --rows keeps the figures as JSON, and --draw draws from such a file without training.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mixtea import MixTEA, Task, load_task
from mixtea.config import STRUCTURE_VOTERS

STYLES = {1: (":", "#999999"), 2: ("-.", "#b9770e"), 3: ("--", "#5d8aa8"), 4: ("-", "#1b4f72")}


def precision_by_epoch(trace: pd.DataFrame, task: Task) -> list[dict[str, Any]]:
    """For each epoch that voted and each number of agreeing voters: votes of linked sources, and the share right."""
    truth = np.full(task.source.n_entities, -1)
    for links in (task.valid, task.test):
        truth[links[:, 0]] = links[:, 1]
    known = truth[trace["source"]] >= 0
    right = truth[trace["source"]] == trace["target"]
    agreeing = trace["voters"].map(lambda names: len(names.split("+")) if names else 0).to_numpy()
    rows = []
    for epoch in np.unique(trace["first_epoch"]):
        cast = known & (trace["first_epoch"] <= epoch) & (trace["last_epoch"] >= epoch)
        for n in ("all", *range(5)):
            here = cast if n == "all" else cast & (agreeing == n)
            if here.any():
                rows.append(
                    {
                        "epoch": int(epoch),
                        "agreeing": n,
                        "votes": int(here.sum()),
                        "precision": float(right[here].mean()),
                    }
                )
    return rows


def draw(tables: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Above the precision, below the number of votes, one column a data set; readable in grey."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * len(tables), 6.4), layout="constrained")
    axes = figure.subplots(2, len(tables), squeeze=False, sharex="col")
    for column, (name, rows) in enumerate(tables.items()):
        for n, (style, colour) in STYLES.items():
            mine = [row for row in rows if row["agreeing"] == n]
            for line, key in enumerate(("precision", "votes")):
                points = ([row["epoch"] for row in mine], [row[key] for row in mine])
                axes[line, column].plot(*points, style, color=colour, label=f"{n} voter{'s' * (n > 1)}", linewidth=1.8)
        every = [row for row in rows if row["agreeing"] == "all"]
        axes[0, column].plot(
            [row["epoch"] for row in every], [row["precision"] for row in every], "k.", markersize=4, label="all votes"
        )
        axes[0, column].set(title=name, ylabel="votes that are right", ylim=(0, 1))
        axes[1, column].set(xlabel="epoch", ylabel="votes of linked sources", ylim=(0, None))
        for line in (0, 1):
            axes[line, column].grid(alpha=0.3)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, title="favoured by", loc="outside lower center", ncols=len(labels))
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--fold", type=int, default=1)
    parser.add_argument("--out", type=Path, help="the picture")
    parser.add_argument("--rows", type=Path, help="keep the figures as JSON here")
    parser.add_argument("--draw", type=Path, help="draw the figures of this JSON file")
    args = parser.parse_args()
    tables: dict[str, list[dict[str, Any]]] = json.loads(args.draw.read_text()) if args.draw else {}
    for folder in args.folders:
        task = load_task(folder, fold=args.fold)
        tables[folder.name] = precision_by_epoch(MixTEA(preset="best", voters=STRUCTURE_VOTERS).fit(task).trace_, task)
    for name, rows in tables.items():
        last = max(row["epoch"] for row in rows)
        for row in rows:
            if row["epoch"] in (1, last):
                said = f"{row['agreeing']} agree: {row['votes']} votes, {row['precision']:.3f} right"
                print(f"{name} epoch {row['epoch']}, {said}")
    if args.rows:
        args.rows.write_text(json.dumps(tables))
    if args.out:
        draw(tables, args.out)


if __name__ == "__main__":
    main()
