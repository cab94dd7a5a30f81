"""What the launcher of several processes says: how many there are, and which this one is. No torch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


def process_rank() -> int:
    """The number that the launcher gave this process; 0 without a launcher."""
    return int(os.environ.get("RANK", "0")) if n_processes() > 1 else 0


def n_processes() -> int:
    """How many processes the launcher has started."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@contextmanager
def with_other_processes() -> Iterator[None]:
    """Be known to the other processes while the block runs, so that none waits for one that has ended.

    In a single process nothing happens. Around a function: `@with_other_processes()`.
    """
    if n_processes() < 2:
        yield
        return
    from mixtea.compute.distributed import connected

    with connected():
        yield


def is_first() -> bool:
    """Whether this process speaks and writes for all of them."""
    return process_rank() == 0


def local_device() -> str:
    """The GPU of this process among those of its machine."""
    return f"cuda:{int(os.environ.get('LOCAL_RANK', '0'))}"
