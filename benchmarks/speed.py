"""Speed and memory of training on one GPU: a 15K set, WordNet with 117K entities a side, a million entities a side.

    python benchmarks/speed.py DATA [--only D_W_15K_V1 WN30_WN31 million profile]

DATA holds OpenEA folders. The 15K set is also trained with the dense formulas of tests/oracle.py in the same run, the
ratio is printed; the larger ones do not fit densely. Memory is torch.cuda.max_memory_allocated over training. Products
are in tf32 (`fast_products`), everything is exact. `profile` says where the time of an epoch goes, and how far the
matrix products are from a plain product of the same kind.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from common import DenseTrainer, header, row, timed, train
from synthetic import synthetic_pair
from torch.profiler import ProfilerActivity, profile

from mixtea import Config, Task, load_task
from mixtea.compute.similarity import fast_products
from mixtea.training.trainer import Trainer

DIMENSIONS = 768  # of the concatenated vectors under the preset paper


def show(name: str, task: Task, n_epochs: int, of: int, device: torch.device) -> float:
    """Train n_epochs and print a row; `of` is the number that the seconds are extrapolated to."""
    seconds, memory = train(task, n_epochs, device)
    n, m = map(len, task.unlabelled())
    rate = 4 * 2 * n * m * DIMENSIONS * n_epochs / seconds / 1e12
    total = seconds / n_epochs * of
    row([name, f"{n:,} x {m:,}", n_epochs, f"{seconds:.2f}", of, f"{total:.1f}", f"{memory:.2f}", f"{rate:.0f}"])
    return seconds / n_epochs


def where_time_goes(task: Task, device: torch.device) -> None:
    """The kernels of one epoch by time, and the ceiling of a plain product."""
    trainer = Trainer(task, Config(), device)
    for epoch in (1, 2, 3):
        trainer.step(epoch)
    seconds = min(timed(lambda: trainer.step(4), device) for _ in range(3))
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
        trainer.step(5)
        torch.cuda.synchronize()
    busy: dict[str, float] = {}
    for event in found.key_averages():
        if event.self_device_time_total > 0 and not event.key.startswith(("aten::", "_", "autograd", "Optimizer")):
            kind = next((k for k, words in KINDS.items() if any(w in event.key for w in words)), "other")
            busy[kind] = busy.get(kind, 0.0) + event.self_device_time_total / 1e3
    n, m = map(len, task.unlabelled())
    with fast_products(True):
        a, b = (torch.randn(k, DIMENSIONS, device=device) for k in (8192, 65536))
        ceiling = 2 * 8192 * 65536 * DIMENSIONS / min(timed(lambda: a @ b.T, device) for _ in range(5)) / 1e12
    used = 4 * 2 * n * m * DIMENSIONS / (busy.get("matrix products", 0.0) / 1e3) / 1e12
    print(f"\n{task.name}: {seconds * 1e3:.1f} ms an epoch; kernels {sum(busy.values()):.1f} ms: ", end="")
    print(", ".join(f"{kind} {ms:.1f}" for kind, ms in sorted(busy.items(), key=lambda item: -item[1])))
    print(f"matrix products run at {used:.0f} TFLOP/s, one plain tf32 product at {ceiling:.0f}", flush=True)


KINDS = {
    "matrix products": ("gemm", "cutlass"),
    "sparse products": ("csrmm", "cusparse"),
    "reductions (max, sum, norms)": ("reduce", "Reduce", "segment"),
    "gathers and scatters": ("gather", "index", "scatter", "Index"),
    "element by element": ("elementwise", "vectorized"),
    "sorts": ("sort", "Sort", "unique", "Radix", "scan"),
    "copies": ("Memcpy", "Memset"),
    "optimiser": ("Adam", "adam", "multi_tensor"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="+", default=["D_W_15K_V1", "WN30_WN31", "million", "profile"])
    args = parser.parse_args()
    device = torch.device("cuda:0")
    print(f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}\n")
    header("task", "unlabelled", "epochs", "s", "extrapolated to", "s", "peak GiB", "TFLOP/s")
    if "D_W_15K_V1" in args.only:
        task = load_task(args.data / "D_W_15K_V1", fold=1)
        streamed = show("D_W_15K_V1", task, 100, 100, device)
        seconds, memory = train(task, 20, device, DenseTrainer)
        row(["D_W_15K_V1, dense twin", "", 20, f"{seconds:.2f}", 100, f"{seconds * 5:.1f}", f"{memory:.2f}", ""])
        print(f"dense / streamed: {seconds / 20 / streamed:.1f} in time", flush=True)
    if "WN30_WN31" in args.only:
        show("WN30_WN31", load_task(args.data / "WN30_WN31", fold=1), 60, 60, device)
    if "million" in args.only:
        show("synthetic, 1,000,000 a side", synthetic_pair(1_000_000, 3_000_000), 10, 60, device)
    if "profile" in args.only:
        for name in ("D_W_15K_V1", "WN30_WN31"):
            where_time_goes(load_task(args.data / name, fold=1), device)


if __name__ == "__main__":
    main()
