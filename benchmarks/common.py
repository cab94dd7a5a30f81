"""What the benchmarks share: epochs timed, peak memory read, tables printed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import oracle

from mixtea import Config, Task
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.training.trainer import Trainer
from mixtea.voters.votes import make_votes


class DenseTrainer(Trainer):
    """The same loop with n x m matrices: the votes and the loss as the paper writes them."""

    def __init__(self, task: Task, config: Config, device: torch.device) -> None:
        super().__init__(task, config.replace(rectify=False), device)  # which the dense formulas do themselves
        self.council.cast = self.dense_votes  # type: ignore[method-assign]

    def dense_votes(self, vectors: Tensor, epoch: int) -> list[ScoredPairs]:
        source, target = (vectors[rows] for rows in self.entities.rows)
        dense = oracle.rectified(oracle.bidirectional(source, target, *self.council.direction_weights))
        rows, columns = dense.nonzero(as_tuple=True)
        votes = make_votes(rows, columns, dense[rows, columns], (len(source), len(target)))
        return [votes, make_votes(rows[:0], columns[:0], votes.confidence[:0], votes.shape)]

    def pseudo_loss(self, vectors: Tensor) -> Tensor:
        assert self.votes is not None
        source, target = (vectors[rows] for rows in self.entities.rows)
        return oracle.pseudo_mapping_loss(source, target, self.votes.to_dense(), self.config.temperature, "votes")


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(work: Callable[[], Any], device: torch.device) -> float:
    """Seconds that the work takes, the device's queue included."""
    synchronise(device)
    started = time.perf_counter()
    work()
    synchronise(device)
    return time.perf_counter() - started


def train(
    task: Task, n_epochs: int, device: torch.device, trainer: type[Trainer] = Trainer, **settings: Any
) -> tuple[float, float]:
    """(seconds, peak GiB on a GPU, nan on a CPU) of n_epochs after one that warms up."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.init()
        torch.cuda.reset_peak_memory_stats(device)
    running = trainer(task, Config(**settings), device)
    running.step(1)

    def epochs() -> None:
        for epoch in range(2, n_epochs + 2):
            running.step(epoch)

    seconds = timed(epochs, device)
    return seconds, torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else float("nan")


def header(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |\n|{'---|' * len(cells)}", flush=True)


def row(cells: Sequence[Any]) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
