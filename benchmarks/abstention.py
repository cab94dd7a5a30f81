"""Graphs in which many entities have no counterpart: precision, recall and F1 with "no counterpart" and without.

    python benchmarks/abstention.py DATA [--set max_epochs=50]

DATA holds DBP15K_ZH_EN, mapped in both directions, and GA16K, mapped from its side with 16,363 entities to the one with
6,208. Each source without a training link is mapped among all targets. *every*: each source gets its best target;
*one-to-one*: each target is given once; *abstaining*: also, a source has no counterpart where that is likelier. Links
of the benchmark are all there are, so a mapping of any other source is wrong. The calibration error is of all sources'
best targets, those without a counterpart included.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from common import header, row

from mixtea import MixTEA, Task, load_task
from mixtea.config import parse_setting
from mixtea.match.calibration import calibration_error
from mixtea.reproduce.experiments import structural_voters

WAYS: dict[str, dict[str, bool]] = {
    "every": {"one_to_many": True, "abstain": False},
    "one-to-one": {"abstain": False},
    "abstaining": {},
}


def turned(task: Task) -> Task:
    """The same task from target to source."""
    links = {name: getattr(task, name)[:, ::-1].copy() for name in ("train", "valid", "test")}
    return replace(task, name=f"{task.name}, turned", source=task.target, target=task.source, **links)


def all_sources_error(aligner: MixTEA) -> float:
    """The calibration error over every source without a given link."""
    task, alignment = aligner.task_, aligner.predict(1, decoder="one_to_one")
    asked = ~np.isin(alignment.source_index, task.valid[:, 0])
    m = task.target.n_entities
    found = alignment.source_index[asked] * m + alignment.target_index[asked, 0]
    return calibration_error(alignment.probability[asked, 0], np.isin(found, task.test[:, 0] * m + task.test[:, 1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--preset", default="best")
    parser.add_argument("--set", nargs="*", default=[], metavar="FIELD=VALUE", dest="settings")
    parser.add_argument("--only", nargs="*", default=["DBP15K_ZH_EN", "GA16K"])
    args = parser.parse_args()
    settings: dict[str, Any] = dict(parse_setting(text) for text in args.settings)
    tasks = [load_task(args.data / name) for name in args.only]
    tasks = [way for task in tasks for way in ((turned(task),) if task.name == "GA16K" else (task, turned(task)))]
    header("task", "mapping", "precision", "recall", "F1", "calibration error", "training s")
    for task in tasks:
        aligner = MixTEA(preset=args.preset, **({"voters": structural_voters(args.preset)} | settings)).fit(task)
        error = f"{all_sources_error(aligner):.3f}"
        for name, how in WAYS.items():
            found = aligner.score_mapping(complete=True, **how)
            row([task.name, name, *(f"{found[k]:.3f}" for k in ("precision", "recall", "f1")), error,
                 f"{aligner.seconds_:.0f}"])  # fmt: skip


if __name__ == "__main__":
    main()
