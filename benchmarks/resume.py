"""A training stopped after some epochs and resumed in a fresh process, against one that was never stopped.

    python benchmarks/resume.py --device cuda --epochs 30 --stops 1 7 15 29
    python benchmarks/resume.py DATA/D_W_15K_V1 --fold 1 --device cuda

Every training is a process of its own. Prints for each stop the greatest difference of the student's parameters and of
the opinions to the uninterrupted run, how many of its mappings are others, and what saving and resuming cost. A second
uninterrupted run says how much two runs differ anyway.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from common import header, row

from mixtea import MixTEA, load_task
from mixtea.callbacks import Callback
from mixtea.errors import StoppedError
from mixtea.example import load_example
from mixtea.experiments.reproduce.plan import structural_voters
from mixtea.runs.checkpoints import Checkpoints, StopSignals
from mixtea.runs.folder import read_run


class StopAfter(Callback):
    """Ask for the end of a training after an epoch."""

    def __init__(self, epoch: int | None) -> None:
        self.epoch, self.signals = epoch, StopSignals()

    def on_epoch(self, record: dict[str, Any]) -> None:
        self.signals.asked = 2 if record["epoch"] == self.epoch else self.signals.asked


def train(args: argparse.Namespace, settings: dict[str, Any], folder: Path, stop: int | None) -> None:
    """In a process of its own: a training into `folder`, stopped after an epoch, or to its end."""
    task = load_task(args.task, fold=args.fold) if args.task else load_example()
    stopping = StopAfter(stop)
    checkpoints = Checkpoints(folder / "state", every=1e9, stopping=stopping.signals)
    aligner = MixTEA(args.preset, **settings)
    try:
        aligner.fit(task, callbacks=stopping, checkpoints=checkpoints)
        aligner.save(folder / "run", overwrite=True)
    except StoppedError:
        print(f"  stopped after epoch {stop}; saving took {checkpoints.cost:.2f} s", file=sys.stderr)


def in_process(args: argparse.Namespace, settings: dict[str, Any], folder: Path, stop: int | None = None) -> float:
    started = time.perf_counter()
    process = get_context("spawn").Process(target=train, args=(args, settings, folder, stop))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"a training ended with {process.exitcode}")
    return time.perf_counter() - started


def difference(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> float:
    return max((float(np.abs(first[name] - second[name]).max(initial=0)) for name in first), default=0.0)


def compare(label: str, first: Path, second: Path, n_bytes: int = 0) -> bool:
    """A row of the table; whether all files of the two runs are equal byte for byte, but run.json."""
    files = [path.name for path in first.iterdir() if path.name != "run.json"]
    equal = [name for name in files if (first / name).read_bytes() == (second / name).read_bytes()]
    runs = [read_run(first), read_run(second)]
    weights = difference(*(dict(run.weights) for run in runs))
    mappings = [MixTEA.load(folder).predict(k=1).target_index[:, 0] for folder in (first, second)]
    changed = int((mappings[0] != mappings[1]).sum())
    row((label, f"{len(equal)} of {len(files)}", f"{weights:.1e}", f"{changed:,}", f"{n_bytes / 2**20:.0f}"))
    return len(equal) == len(files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", type=Path, nargs="?", help="a benchmark folder; else the bundled example")
    parser.add_argument("--fold", type=int)
    parser.add_argument("--preset", default="best")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--stops", type=int, nargs="*", default=[0, 1, 7, 15, 29])
    parser.add_argument("--set-deterministic", choices=("true", "false", "both"), default="both")
    args = parser.parse_args()
    wanted = {"true": [True], "false": [False], "both": [True, False]}[args.set_deterministic]
    failed = False
    for deterministic in wanted:
        chosen = dict(max_epochs=args.epochs, device=args.device, deterministic=deterministic)
        settings = chosen | {"voters": structural_voters(args.preset)}
        print(f"\n{args.task.name if args.task else 'the example'}, {args.preset}, deterministic={deterministic}\n")
        header("stopped after epoch", "equal files", "weights differ by", "mappings changed", "checkpoint MiB")
        with tempfile.TemporaryDirectory() as temporary:
            base = Path(temporary)
            for name in ("whole", "again"):
                in_process(args, settings, base / name)
            same = compare("never, run twice", base / "whole/run", base / "again/run")
            for stop in args.stops:
                here = base / str(stop)
                in_process(args, settings, here, stop)
                n_bytes = sum(path.stat().st_size for path in (here / "state").iterdir())
                in_process(args, settings, here)
                same &= compare(str(stop), base / "whole/run", here / "run", n_bytes)
        failed |= deterministic and not same
    sys.exit(failed)


if __name__ == "__main__":
    main()
