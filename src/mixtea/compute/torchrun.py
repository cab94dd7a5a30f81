"""The environment of the launcher of several processes: their number, and the rank of this one. No torch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


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
