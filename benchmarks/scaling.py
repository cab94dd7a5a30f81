"""Time and peak memory of one exact epoch against the number of entities, with fitted exponents and a picture.

    python benchmarks/scaling.py [--sizes 1000 3000 10000 30000 100000 300000 1000000] [--picture docs/scaling.png]

Synthetic pairs with three triples an entity, `paper` settings, on the GPU if there is one. Memory is
torch.cuda.max_memory_allocated, on a CPU the growth of the resident size. Exponents are fitted to the sizes of 10,000
and more (or the largest three), where fixed costs no longer matter.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from common import header, row, train
from memory import Peak
from synthetic import synthetic_pair


def measure(n: int, device: torch.device) -> tuple[float, float]:
    """(seconds an epoch, peak GiB)."""
    task = synthetic_pair(n)
    watch = Peak()
    watch.start()
    n_epochs = 5 if n < 50_000 else 1
    seconds, memory = train(task, n_epochs, device)
    watch.done.set()
    watch.join()
    return seconds / n_epochs, memory if device.type == "cuda" else (watch.peak_mib - watch.start_mib) / 1024


def exponent(sizes: list[int], values: list[float]) -> float:
    kept = [i for i, n in enumerate(sizes) if n >= 10_000]
    kept = kept if len(kept) >= 3 else list(range(len(sizes)))[-3:]
    return float(np.polyfit(np.log([sizes[i] for i in kept]), np.log([values[i] for i in kept]), 1)[0])


def draw(sizes: list[int], seconds: list[float], memory: list[float], powers: tuple[float, float], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    panels = zip(figure.subplots(1, 2), (seconds, memory), ("seconds an epoch", "peak GiB"), powers, strict=True)
    for axes, values, label, power in panels:
        axes.loglog(sizes, values, "o-", color="#1b4f72")
        axes.set(xlabel="entities a side", ylabel=label, title=f"grows with the power {power:.2f}")
        axes.grid(alpha=0.3, which="both")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 3000, 10000, 30000, 100000, 300000, 1000000])
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    header("entities a side", "s an epoch", "peak GiB")
    seconds, memory = [], []
    measure(1000, device)
    for n in args.sizes:
        s, gib = measure(n, device)
        seconds.append(s)
        memory.append(gib)
        row([f"{n:,}", f"{s:.3f}", f"{gib:.2f}"])
    powers = exponent(args.sizes, seconds), exponent(args.sizes, memory)
    print(f"\nexponents: time {powers[0]:.2f}, memory {powers[1]:.2f}")
    if args.picture:
        draw(args.sizes, seconds, memory, powers, args.picture)


if __name__ == "__main__":
    main()
