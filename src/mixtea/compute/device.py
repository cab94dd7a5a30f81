"""The device, the processes that share a run, deterministic algorithms and the number of threads.

Torch is imported where it is needed: what reports and writes asks for its rank without it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mixtea.errors import ConfigError

if TYPE_CHECKING:
    import torch


def process_rank() -> int:
    """Return the rank that the launcher gave this process; 0 without a launcher."""
    return int(os.environ.get("RANK", "0")) if n_processes() > 1 else 0


def n_processes() -> int:
    """Return the number of processes that the launcher has started."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@contextmanager
def with_other_processes() -> Iterator[None]:
    """Register with the other processes while the block runs, so that none waits for one that has ended.

    In a single process nothing happens. Around a function: `@with_other_processes()`.
    """
    if n_processes() < 2:
        yield
        return
    from mixtea.compute.distributed import connected

    with connected():
        yield


def is_first() -> bool:
    """Return whether this process reports and writes for all of them."""
    return process_rank() == 0


def local_device() -> str:
    """Return the GPU of this process among those of its machine."""
    return f"cuda:{int(os.environ.get('LOCAL_RANK', '0'))}"


def choose_device(name: str) -> torch.device:
    """Return the device of a name; auto is CUDA where there is one."""
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if not isinstance(name, str):
        raise ConfigError(f"A device is a word (auto, cpu, cuda, cuda:1), not {name!r}.")
    try:
        device = torch.device(local_device() if name == "cuda" else name)
        if device.type not in ("cpu", "cuda"):
            raise RuntimeError(f"{device.type} is not supported")
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        why = "there is no such kind" if "Expected one of" in str(error) else str(error).splitlines()[0]
        raise ConfigError(f"device {name!r} cannot be used here: {why}. Choose cpu or auto.") from None
    return device


def describe_device(device: torch.device) -> str:
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU ({platform.machine()})"


@contextmanager
def reproducible(wanted: bool, threads: int | None = None) -> Iterator[None]:
    """Use only deterministic algorithms, and so many threads (None: as many as now), while the block runs.

    The number of threads decides how products and sums round. Afterwards it is as before, whatever the block has set.
    """
    import torch

    before, threads_before = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    try:
        if threads and threads != threads_before:
            torch.set_num_threads(threads)
        yield
    finally:
        if torch.get_num_threads() != threads_before:
            torch.set_num_threads(threads_before)
        torch.use_deterministic_algorithms(before)
