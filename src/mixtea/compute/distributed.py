"""Several processes on one run: each takes a share of the rows, and all know the whole result.

Started by PyTorch's own launcher (`torchrun --nproc-per-node 2 -m mixtea fit ...`). Every process holds the same
parameters and draws the same random numbers; what is quadratic in the entities is shared. In a single process each
function gives back what it was given.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import NoReturn

import torch
import torch.distributed as dist
from torch import Tensor

from mixtea.compute.torchrun import is_first as is_first
from mixtea.compute.torchrun import launched as launched
from mixtea.compute.torchrun import launched_as as launched_as
from mixtea.compute.torchrun import local_device as local_device
from mixtea.errors import ConfigError, ProcessLostError

logger = logging.getLogger(__name__)
PATIENCE = timedelta(minutes=30)  # for a process that is alive but slow


def _several() -> bool:
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


@contextmanager
def together(device: torch.device) -> Iterator[None]:
    """Meet the other processes that the launcher started, if there are any, and part at the end."""
    if launched() < 2 or dist.is_initialized():
        yield
        return
    try:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
    except (ValueError, RuntimeError) as error:
        raise ConfigError(f"The processes could not meet: {error}. Start them with torchrun.") from error
    before = signal.signal(signal.SIGTERM, lambda *_: _lost("the launcher asked this process to end"))
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
            signal.signal(signal.SIGTERM, before)
        dist.destroy_process_group()


def _lost(why: str) -> NoReturn:
    """End this process's part; the launcher's signal to end must not disturb what is still to be saved."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise ProcessLostError(
        f"Another process of this run has ended, so this one ends too ({why}). Look for its message, then start again."
    )


@contextmanager
def _explained() -> Iterator[None]:
    """A process that is gone shows as an error of the next exchange."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, ProcessLostError):
            raise
        logger.warning("exchange between processes failed: %s", str(error).splitlines()[0])
        _lost("contact to it was lost")


def share(n: int) -> slice:
    """The rows of n that are this process's."""
    if not _several():
        return slice(0, n)
    world, mine = dist.get_world_size(), dist.get_rank()
    return slice(mine * n // world, (mine + 1) * n // world)


def gather(rows: Tensor, n: int) -> Tensor:
    """[n, ...]: the shares of all processes one after the other."""
    if not _several():
        return rows
    world = dist.get_world_size()
    sizes = [(r + 1) * n // world - r * n // world for r in range(world)]
    padded = rows.new_zeros(max(sizes), *rows.shape[1:])
    padded[: len(rows)] = rows
    parts = [torch.empty_like(padded) for _ in sizes]
    with _explained():
        dist.all_gather(parts, padded)
    return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])


def gather_max(score: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """The greatest score of all processes at each place and its index; the first process wins a tie."""
    if not _several():
        return score, index
    n = len(score)
    world = dist.get_world_size()
    scores, indices = (gather(part[None], world).view(world, n) for part in (score, index))
    top, winner = scores.max(dim=0)
    return top, indices.gather(0, winner[None])[0]


def from_first(*parts: Tensor) -> None:
    """Replace each tensor by the first process's, so that rounding never leads them apart."""
    if _several():
        with _explained():
            for part in parts:
                dist.broadcast(part.detach(), src=0)


def copied(part: Tensor) -> Tensor:
    """The first process's tensor, of whatever length, so that all go on with the same."""
    if not _several():
        return part
    length = torch.tensor([len(part)], device=part.device)
    from_first(length)
    same = part if len(part) == int(length) else part.new_empty(int(length), *part.shape[1:])
    from_first(same)
    return same


def agreed(values: list[float], device: torch.device) -> list[float]:
    """The first process's numbers, so that all decide alike."""
    found = torch.tensor(values, dtype=torch.float64, device=device)
    from_first(found)
    return found.tolist()


def total(*parts: Tensor) -> None:
    """Replace each tensor by its sum over all processes."""
    if _several():
        with _explained():
            for part in parts:
                dist.all_reduce(part)
