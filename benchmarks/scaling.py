"""Time and peak memory against the number of entities, with fitted exponents and a picture.

    python benchmarks/scaling.py [--sizes 1000 3000 10000 30000 100000 300000 1000000] [--best 300000 1000000]
        [--known best:1000000:110.9:42.2 ...] [--picture docs/scaling.png]

Synthetic pairs with three triples an entity, on the GPU if there is one: one exact epoch of `paper`, and a whole
training of `best` of the sizes after --best. Points that were measured before (`paper` or `best`, entities a side,
seconds, GiB) join the picture and the fit by --known. Memory is torch.cuda.max_memory_allocated, on a CPU the growth of
the resident size. Exponents are fitted to the sizes of 10,000 and more (or the largest three), where fixed costs no
longer matter.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from common import header, row, timed, train
from memory import Peak
from synthetic import synthetic_pair

from mixtea import MixTEA, Task
from mixtea.experiments.reproduce.plan import structural_voters

Series = dict[str, tuple[list[int], list[float], list[float]]]  # by label: sizes, seconds, GiB


def measure(n: int, device: torch.device, best: bool = False) -> tuple[float, float]:
    """(seconds, peak GiB) of an epoch of `paper`, or of a whole training of `best`."""
    task = synthetic_pair(n)
    watch = Peak()
    watch.start()
    n_epochs = 1 if best or n >= 50_000 else 5
    if best:
        seconds, memory = whole(MixTEA("best", voters=structural_voters("best"), device=str(device)), task, device)
    else:
        seconds, memory = train(task, n_epochs, device)
    watch.done.set()
    watch.join()
    return seconds / n_epochs, memory if device.type == "cuda" else (watch.peak_mib - watch.start_mib) / 1024


def whole(aligner: MixTEA, task: Task, device: torch.device) -> tuple[float, float]:
    """(seconds, peak GiB on a GPU, nan on a CPU) of a training."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    seconds = timed(lambda: aligner.fit(task), device)
    return seconds, torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else float("nan")


def exponent(sizes: list[int], values: list[float]) -> float:
    kept = [i for i, n in enumerate(sizes) if n >= 10_000]
    kept = kept if len(kept) >= 3 else list(range(len(sizes)))[-3:]
    return float(np.polyfit(np.log([sizes[i] for i in kept]), np.log([values[i] for i in kept]), 1)[0])


def with_known(series: Series, texts: list[str]) -> Series:
    """The series with points that were measured before, by size."""
    joined: Series = {}
    for label, found in series.items():
        points = list(zip(*found, strict=True))
        for preset, n, seconds, gib in (text.split(":") for text in texts):
            if label.startswith(preset):
                points.append((int(n), float(seconds), float(gib)))
        points.sort()
        joined[label] = [n for n, _, _ in points], [s for _, s, _ in points], [gib for _, _, gib in points]
    return joined


def draw(series: Series, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    for axes, place, label in zip(figure.subplots(1, 2), (1, 2), ("seconds", "peak GiB"), strict=True):
        for (name, found), colour in zip(series.items(), ("#1b4f72", "#d35400"), strict=False):
            axes.loglog(found[0], found[place], "o-", color=colour, label=name)
        axes.set(xlabel="entities a side", ylabel=label)
        axes.grid(alpha=0.3, which="both")
        axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="*", type=int, default=[1000, 3000, 10000, 30000, 100000, 300000, 1000000])
    parser.add_argument("--best", nargs="*", type=int, default=[])
    parser.add_argument("--known", nargs="*", default=[], metavar="PRESET:N:S:GIB")
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    series: Series = {"paper, an epoch": (args.sizes, [], []), "best, a training": (args.best, [], [])}
    for label, (sizes, seconds, memory) in series.items():
        best = label.startswith("best")
        if sizes:
            measure(1000, device, best)
            header("entities a side", f"s ({label})", "peak GiB")
        for n in sizes:
            s, gib = measure(n, device, best)
            seconds.append(s)
            memory.append(gib)
            row([f"{n:,}", f"{s:.3f}", f"{gib:.2f}"])
    series = with_known(series, args.known)
    for label, (sizes, seconds, memory) in series.items():
        if len(sizes) > 2:
            print(f"\nexponents ({label}): time {exponent(sizes, seconds):.2f}, memory {exponent(sizes, memory):.2f}")
    if args.picture:
        draw({label: found for label, found in series.items() if found[0]}, args.picture)


if __name__ == "__main__":
    main()
