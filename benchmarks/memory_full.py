"""The same training with plenty of memory and with less and less: what it does about it, and what it learns.

    python benchmarks/memory_full.py [--device cuda] [--entities 20000] [--epochs 5] [--preset best] [--shares 0.9 0.8]

Each training is a process of its own, on a synthetic pair. The first may take what it wants. The others may take a
share of what that took at most: on a GPU by a limit of torch's allocator, on a CPU by a limit of the address space.
Prints a Markdown table: the peak, what was said about blocks, the greatest difference of a number of the vectors from
those of the first, and how many mappings are the same. A training that cannot go on must say what to do. Ends with 1
if one ended in another way, or if none had to go on with smaller blocks.
"""

from __future__ import annotations

import argparse
import json
import logging
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import header, row
from safetensors.numpy import load_file, save_file
from synthetic import synthetic_pair

from mixtea import MixTEA
from mixtea.compute.memory import enough_memory
from mixtea.errors import TrainingError
from mixtea.experiments.reproduce.plan import structural_voters

MIB = 2**20


class Said(logging.Handler):
    """Keeps the warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def limit(mib: float, device: torch.device) -> None:
    """No more than so many MiB from now on."""
    if device.type == "cuda":
        whole = torch.cuda.get_device_properties(device).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, mib * MIB / whole), device.index or 0)
    else:
        resource.setrlimit(resource.RLIMIT_AS, (address_space() + round(mib * MIB), resource.RLIM_INFINITY))


def peak_mib(device: torch.device, before: float) -> float:
    """On a GPU what was allocated at most, on a CPU what the resident size grew at most."""
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device) / MIB
    return resident_mib("VmHWM") - before


def resident_mib(name: str) -> float:
    """VmRSS, what this process holds, or VmHWM, the most that it held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def fitted(args: argparse.Namespace, task: Any, **settings: Any) -> MixTEA:
    chosen: dict[str, Any] = dict(
        max_epochs=args.epochs, validate_every=args.epochs, entity_dim=args.dim, block_mib=args.block_mib
    )
    chosen["voters"] = structural_voters(args.preset)
    rounds = {"propagation_rounds": 1} if args.preset == "best" else {}
    return MixTEA(preset=args.preset, device=args.device, deterministic=True, **(chosen | rounds | settings)).fit(task)


def child(args: argparse.Namespace) -> dict[str, Any]:
    """One training, after a tiny one that loads libraries; its vectors and mappings go to a file."""
    device, said = torch.device(args.device), Said()
    logging.getLogger("mixtea").addHandler(said)
    fitted(args, synthetic_pair(200), max_epochs=1, block_mib=0).predict(k=1)
    task = synthetic_pair(args.ids)
    said.lines.clear()
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    before = resident_mib("VmRSS")
    if args.limit:
        limit(args.limit, device)
    started, error = time.perf_counter(), ""
    try:
        with enough_memory():
            aligner = fitted(args, task)
            vectors, best = aligner.vectors_.cpu().numpy(), aligner.predict(k=1).target_index[:, 0]
            save_file({"vectors": vectors, "best": np.ascontiguousarray(best)}, args.child)
    except TrainingError as problem:
        error = str(problem)
    said_blocks = [line for line in said.lines if "memory is full" in line]
    seconds = time.perf_counter() - started
    return {"peak": peak_mib(device, before), "seconds": seconds, "said": said_blocks, "error": error}


def in_own_process(args: argparse.Namespace, kept: Path, mib: float) -> dict[str, Any]:
    words = [f"--{name}={getattr(args, name)}" for name in ("device", "entities", "epochs", "dim", "preset")]
    words += [f"--block-mib={args.block_mib}", f"--limit={mib}", f"--child={kept}"]
    done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        return {"peak": 0.0, "seconds": 0.0, "said": [], "error": "", "died": f"{done.returncode} {last}"}
    return json.loads(done.stdout.splitlines()[-1])


def compared(kept: Path, first: Path) -> list[str]:
    """The greatest difference of the vectors, and how many mappings are the same."""
    found, wanted = load_file(kept), load_file(first)
    difference = np.abs(found["vectors"] - wanted["vectors"]).max()
    same = (found["best"] == wanted["best"]).mean()
    return [f"{difference:.1e} of {np.abs(wanted['vectors']).max():.2f}", f"{same:.2%}"]


def shown(share: str, found: dict[str, Any], kept: Path, first: Path) -> None:
    sizes = ", ".join(line.rpartition("of ")[2] for line in found["said"]) or "-"
    if kept.exists():
        outcome = [*compared(kept, first), "went on"]
    else:
        outcome = ["-", "-", found["error"] or f"DIED: {found.get('died')}"]
    row([share, f"{found['peak']:,.0f}", f"{found['seconds']:.1f}", sizes, *outcome])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--entities", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--block-mib", type=int, default=2048, help="of the blocks that are tried first")
    parser.add_argument("--shares", nargs="+", type=float, default=[0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.03])
    parser.add_argument("--limit", type=float, default=0.0, help=argparse.SUPPRESS)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(child(args)))
        return
    header("memory", "peak MiB", "s", "blocks went down to", "greatest difference", "same mappings", "outcome")
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "plenty.safetensors"
        plenty = in_own_process(args, first, 0)
        if not first.exists():
            sys.exit(f"with all the memory there is: {plenty}")
        shown("plenty", plenty, first, first)
        all_found = []
        for share in args.shares:
            kept = Path(folder) / f"{share}.safetensors"
            found = in_own_process(args, kept, share * plenty["peak"])
            shown(f"{share:.0%}: {share * plenty['peak']:,.0f} MiB", found, kept, first)
            all_found.append((found, kept.exists()))
    smaller = any(found["said"] and went_on for found, went_on in all_found)
    sys.exit(0 if smaller and not any("died" in found for found, _ in all_found) else 1)


if __name__ == "__main__":
    main()
