"""Training on a CPU: an exact epoch against plain products, the paper's accuracy in minutes, and 117K entities a side.

    python benchmarks/cpu.py DATA [--only epoch reach exact wordnet]

epoch    one exact epoch of D_W_15K_V1, encoder and optimiser included, against four products of the same shape
reach    D_W_15K_V1, fold 1, until test Hit@1 is known, with labelled approximations
exact    the same without approximations
wordnet  ten epochs of WN30_WN31 with labelled approximations; seconds and peak resident memory of the whole process
"""

from __future__ import annotations

import argparse
import resource
from pathlib import Path
from typing import Any

import torch
from common import timed

from mixtea import Callback, Config, MixTEA, load_task
from mixtea.training.trainer import Trainer

CPU = torch.device("cpu")
FAST: dict[str, Any] = {"normaliser": "moments", "votes_every": 2}
WIDE: dict[str, Any] = {"normaliser": "moments", "votes_every": 5, "search": "ivf"}


def epoch(data: Path) -> None:
    task = load_task(data / "D_W_15K_V1", fold=1)
    trainer = Trainer(task, Config(), CPU)
    trainer.step(1)
    n, m = map(len, task.unlabelled())
    source, target = torch.randn(n, 768), torch.randn(m, 768)
    ratios = []
    for step in (2, 3, 4):
        products = timed(lambda: [source @ target.T for _ in range(4)], CPU)
        seconds = timed(lambda step=step: trainer.step(step), CPU)  # type: ignore[misc]
        ratios.append(seconds / products)
        print(f"epoch {seconds:.2f} s, four products {products:.2f} s, ratio {ratios[-1]:.2f}", flush=True)
    print(f"median ratio {sorted(ratios)[1]:.2f}")


def reach(data: Path, settings: dict[str, Any]) -> None:
    task = load_task(data / "D_W_15K_V1", fold=1)
    aligner = MixTEA(preset="paper", device="cpu", **settings).fit(task)
    hit, name = aligner.score(task.test)["hits@1"], settings or "exact"
    per_epoch = aligner.seconds_ / aligner.n_epochs_
    print(f"{name}: Hit@1 {hit:.4f} after {aligner.n_epochs_} epochs, {aligner.seconds_:.0f} s, {per_epoch:.2f} s each")


class Print(Callback):
    def on_epoch(self, record: dict[str, Any]) -> None:
        print(record, flush=True)


def wordnet(data: Path) -> None:
    task = load_task(data / "WN30_WN31", fold=1)
    aligner = MixTEA(preset="paper", device="cpu", max_epochs=10, **WIDE).fit(task, callbacks=Print())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"WN30_WN31, ten epochs, {WIDE}: {aligner.seconds_:.0f} s, peak {peak:.1f} GiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="+", default=["epoch", "reach", "exact", "wordnet"])
    args = parser.parse_args()
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}")
    parts = {
        "epoch": lambda: epoch(args.data),
        "reach": lambda: reach(args.data, FAST),
        "exact": lambda: reach(args.data, {}),
        "wordnet": lambda: wordnet(args.data),
    }
    for name in args.only:
        parts[name]()


if __name__ == "__main__":
    main()
