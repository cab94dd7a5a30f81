"""What `mixtea inspect` promises against what then happens: memory and seconds of an epoch, exact and approximate.

    python benchmarks/estimates.py [--sizes 1000 6000 24000] [--data DATA --tasks D_W_15K_V1] [--best]

With --best, the whole of `mixtea fit` with the preset `best` instead, on the tasks and on synthetic ones of the sizes:
seconds by the clock, and the peak of the process. Each row runs in a process of its own, on the GPU if there is one.
Both ratios should lie between 0.5 and 2.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from common import header, row, train
from death_trials import write_task
from laptop import STRUCTURE, fitted
from memory import Peak
from synthetic import synthetic_pair

from mixtea import Config, load_task
from mixtea.evaluation.estimate import estimate

APPROXIMATE: dict[str, Any] = {"normaliser": "moments", "votes_every": 2}


def measure(name: str, settings: dict[str, Any]) -> dict[str, float]:
    """Two epochs of a task: the promise and the facts."""
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    task = synthetic_pair(int(name)) if name.isdigit() else load_task(name, fold=1)
    train(synthetic_pair(100), 1, device)
    promised = estimate(task, Config(**settings), device)
    watch = Peak()
    watch.start()
    seconds, memory = train(task, 2, device, **settings)
    watch.done.set()
    watch.join()
    mib = memory * 1024 if device.type == "cuda" else watch.peak_mib
    return {"s": promised.seconds_per_epoch, "mib": promised.mib, "found_s": seconds / 2, "found_mib": mib}


def whole(name: str, folder: Path) -> dict[str, float]:
    """A whole `mixtea fit` by structure, and what `inspect` said of it."""
    task = name if not name.isdigit() else str(write_task(synthetic_pair(int(name)), folder / name))
    said = subprocess.run([sys.executable, "-m", "mixtea", "inspect", task, "--json"], capture_output=True, text=True)
    promised = json.loads(said.stdout)["estimates"]["best"]
    found = fitted([task, "--voters", STRUCTURE, "--seed", "1"], folder / "run")
    return {"s": promised["seconds"], "mib": promised["mib"], "found_s": found.seconds, "found_mib": found.mib}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 6000, 24000])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tasks", nargs="*", default=["D_W_15K_V1"])
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(args.child[0], json.loads(args.child[1]))))
        return
    header("task", "settings", "promised s", "found s", "ratio", "promised MiB", "found MiB", "ratio")
    names = [str(n) for n in args.sizes] + [str(args.data / t) for t in args.tasks if args.data]
    if args.best:
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                show(name, "best", whole(name, Path(folder)))
        return
    for name in names:
        for settings in ({}, APPROXIMATE):
            command = [sys.executable, __file__, "--child", name, json.dumps(settings)]
            environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 18)}
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            show(name, "approximate" if settings else "exact", json.loads(done.stdout))


def show(name: str, settings: str, found: dict[str, float]) -> None:
    """A row: promised, found, and the ratio of the two."""
    cells = []
    for kind, form in (("s", "{:,.2f}"), ("mib", "{:,.0f}")):
        promised, was = found[kind], found[f"found_{kind}"]
        cells += [form.format(promised), form.format(was), f"{promised / was:.2f}"]
    row([Path(name).name, settings, *cells])


if __name__ == "__main__":
    main()
