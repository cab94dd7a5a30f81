"""Peak memory of one training epoch against the number of entities, streamed and with the dense formulas.

    python benchmarks/memory.py [--preset paper] [--sizes 3000 6000 12000 24000 48000] [--dense-up-to 12000]

Each size runs in a process of its own on the CPU: a synthetic pair, one epoch; for the preset `best` also a round of
propagation before it and a vote of the whole council after it. Memory is what the
resident size grows from before the trainer exists to its peak; the C library is told to hand freed memory back at
once, so that this is memory in use. The dense twin takes the votes and the loss from tests/oracle.py. Prints a Markdown
table; a doubling of the entities should cost a factor of about 2.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import torch
from common import DenseTrainer, header, row
from synthetic import synthetic_pair

from mixtea import Config
from mixtea.experiments.reproduce.plan import structural_voters
from mixtea.training.trainer import Trainer


class Peak(threading.Thread):
    """Watches the resident size of this process."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.start_mib = self.peak_mib = resident_mib()
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.002):
            self.peak_mib = max(self.peak_mib, resident_mib())


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(n: int, dense: bool, preset: str) -> dict[str, float]:
    """One epoch after a first tiny one that loads libraries."""
    device = torch.device("cpu")
    config = Config.preset(
        preset, voters=structural_voters(preset), **({"propagation_rounds": 1} if preset == "best" else {})
    )
    Trainer(synthetic_pair(100), config, device).step(1)
    task = synthetic_pair(n)
    watch = Peak()
    watch.start()
    trainer = (DenseTrainer if dense else Trainer)(task, config, device)
    started = time.perf_counter()
    if trainer.forms_belief:
        trainer.council.prepare()
    trainer.step(1)
    if trainer.forms_belief:
        trainer.council.cast(trainer.teacher_vectors(), 2)
    seconds = time.perf_counter() - started
    watch.done.set()
    watch.join()
    return {"mib": watch.peak_mib - watch.start_mib, "seconds": seconds}


def in_own_process(n: int, dense: bool, preset: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--preset", preset, "--child", str(n), *(["--dense"] if dense else [])]
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 18)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--sizes", nargs="+", type=int, default=[3000, 6000, 12000, 24000, 48000])
    parser.add_argument("--dense-up-to", type=int, default=12000)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--dense", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(args.child, args.dense, args.preset)))
        return
    header("entities a side", "streamed MiB", "growth", "s", "dense MiB", "growth", "s", "dense / streamed")
    before: dict[bool, float] = {}
    for n in args.sizes:
        cells = [f"{n:,}"]
        found = {}
        for dense in (False, True):
            if dense and n > args.dense_up_to:
                cells += ["-", "-", "-", "-"]
                continue
            found[dense] = in_own_process(n, dense, args.preset)
            growth = f"{found[dense]['mib'] / before[dense]:.2f}" if dense in before else "-"
            before[dense] = found[dense]["mib"]
            cells += [f"{found[dense]['mib']:,.0f}", growth, f"{found[dense]['seconds']:.1f}"]
        if True in found:
            cells.append(f"{found[True]['mib'] / found[False]['mib']:.1f}")
        row(cells)


if __name__ == "__main__":
    main()
