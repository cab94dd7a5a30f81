"""A whole `mixtea fit` on this machine's CPU, by the clock: the first answer, the last one, peak memory of the process.

    python benchmarks/laptop.py DATA [--tasks D_W_15K_V1] [--fold 1] [--seeds 1] [--all-voters] [-- ARGUMENTS OF FIT]

Seconds are counted from the start of the command to its end, reading, scoring, report and run folder included, and are
set in relation to four plain products of 12,000 x 12,000 x 768 numbers in the same run. The first answer is what
`--quick` ends with; how good it is says a run of its own with that option. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from common import header, row

STRUCTURE = "forward,backward,propagation,agreement"
PRODUCTS = """
import time, torch
left, right = (torch.randn(12000, 768) for _ in range(2))
left[:2000] @ right.T
started = time.perf_counter()
for _ in range(4):
    left @ right.T
print(time.perf_counter() - started)
"""


class Fitted(NamedTuple):
    seconds: float
    first: float  # seconds to the first answer
    mib: float
    hits: float
    said: str


def four_products() -> float:
    done = subprocess.run([sys.executable, "-c", PRODUCTS], capture_output=True, text=True, check=True)
    return float(done.stdout)


def fitted(arguments: list[str], out: Path) -> Fitted:
    """Run `mixtea fit`, watching when it says what."""
    command = [sys.executable, "-m", "mixtea", "fit", *arguments, "--out", str(out), "--overwrite", "--device", "cpu"]
    started, first, said = time.perf_counter(), float("nan"), ""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        first = time.perf_counter() - started if line.startswith("first answer") else first
        said = line.strip() if "stopped:" in line else said
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"mixtea fit failed: {' '.join(command)}")
    seconds = time.perf_counter() - started
    scores = [sys.executable, "-m", "mixtea", "score", str(out), "--json"]
    hits = json.loads(subprocess.run(scores, capture_output=True, text=True, check=True).stdout)["hits@1"]
    return Fitted(seconds, first, used.ru_maxrss / 1024, hits, re.sub(r".*stopped: ", "", said))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=["EN_FR_15K_V1", "EN_DE_15K_V1", "D_W_15K_V1", "D_Y_15K_V1"])
    parser.add_argument("--fold", default="1")
    parser.add_argument("--seeds", nargs="+", default=["1"])
    parser.add_argument("--all-voters", action="store_true", help="names and values too, not structure alone")
    parser.add_argument("more", nargs="*", help="further arguments of mixtea fit, after --")
    args = parser.parse_args()
    header(
        "task", "seed", "four products", "first answer", "ratio", "Hit@1", "whole fit", "ratio", "Hit@1", "MiB", "end"
    )
    with tempfile.TemporaryDirectory() as folder:
        for task in args.tasks:
            for seed in args.seeds:
                row(cells(args, task, seed, Path(folder) / "run"))


def cells(args: Any, task: str, seed: str, out: Path) -> list[str]:
    voters = [] if args.all_voters else ["--voters", STRUCTURE]
    asked = [str(args.data / task), "--fold", args.fold, "--seed", seed, *voters, *args.more]
    unit = four_products()
    whole, quick = fitted(asked, out), fitted([*asked, "--quick"], out)
    first = [f"{whole.first:.1f} s", f"{whole.first / unit:.1f}", f"{quick.hits:.3f}"]
    last = [f"{whole.seconds:.1f} s", f"{whole.seconds / unit:.1f}", f"{whole.hits:.3f}"]
    return [task, seed, f"{unit:.1f} s", *first, *last, f"{whole.mib:,.0f}", whole.said]


if __name__ == "__main__":
    main()
