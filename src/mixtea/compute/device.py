"""Choice of the device, deterministic algorithms and the number of threads."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from mixtea.compute import distributed
from mixtea.errors import ConfigError


def choose_device(name: str) -> torch.device:
    """Return the device of a name; auto is CUDA where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if not isinstance(name, str):
        raise ConfigError(f"A device is a word (auto, cpu, cuda, cuda:1), not {name!r}.")
    try:
        device = torch.device(distributed.local_device() if name == "cuda" else name)
        if device.type not in ("cpu", "cuda"):
            raise RuntimeError(f"{device.type} is not supported")
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        why = "there is no such kind" if "Expected one of" in str(error) else str(error).splitlines()[0]
        raise ConfigError(f"device {name!r} cannot be used here: {why}. Choose cpu or auto.") from None
    return device


def describe_device(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU ({platform.machine()})"


@contextmanager
def reproducible(wanted: bool, threads: int | None = None) -> Iterator[None]:
    """Use only deterministic algorithms, and so many threads (None: as many as now), while the block runs.

    The number of threads decides how products and sums round. Afterwards it is as before, whatever the block has set.
    """
    before, threads_before = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    try:
        set_threads(threads or threads_before)
        yield
    finally:
        set_threads(threads_before)
        torch.use_deterministic_algorithms(before)


def set_threads(n: int) -> None:
    if n != torch.get_num_threads():
        torch.set_num_threads(n)
