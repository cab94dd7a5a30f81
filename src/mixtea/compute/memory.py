"""Sizes of blocks, and what happens when memory is full.

When memory runs out, a sweep begins again with half the block; inside `remembered_sizes` the same function keeps to the
smaller size from then on.
"""

from __future__ import annotations

import ctypes
import itertools
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ContextDecorator, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

import torch

from mixtea.errors import FullMemoryError, is_full_memory

logger = logging.getLogger(__name__)
# A block is as small as keeps the products fast, and wide enough for some hundreds of rows of a wide problem.
MIN_BLOCK_MIB, MAX_BLOCK_MIB, BLOCK_ROWS = (
    {"cpu": 32, "cuda": 256},
    {"cpu": 256, "cuda": 4096},
    {"cpu": 256, "cuda": 1024},
)
ALIGNED_ROWS = 64  # of a product's sides on a GPU; with odd numbers it falls back to kernels several times slower
MIN_BLOCK_ROWS = 16  # products of fewer rows are rounded in another way, so a shorter rest joins the block before it
GATHERED_BYTES = {"cpu": 4 << 20, "cuda": 256 << 20}  # of rows gathered at a time
MEMORY_ADVICE = "Use a smaller entity_dim, or a machine with more memory."
FEWER_PAIRS = "Use fewer vote_candidates, or a machine with more memory."  # advice where pairs fill it
ResultT = TypeVar("ResultT")
_sizes: ContextVar[BlockSizes | None] = ContextVar("mixtea_block_sizes", default=None)


@dataclass(frozen=True)
class BlockSizes:
    """MiB that fitted where memory ran out once, by device and function; and those that a warning named."""

    fitted: dict[tuple[str, str], int] = field(default_factory=dict)
    warned: set[int] = field(default_factory=set)

    def halve(self, place: tuple[str, str], mib: int) -> None:
        """Keep to half of `mib` from now on, with one warning per size."""
        self.fitted[place] = mib // 2
        if mib // 2 not in self.warned:
            self.warned.add(mib // 2)
            logger.warning("memory is full: going on with blocks of %d MiB", mib // 2)


def block_mib(row_bytes: int, device: torch.device) -> int:
    """Return the size in MiB of a block whose rows take `row_bytes`: at most a quarter of what is free on a GPU."""
    kind = device.type
    wanted = min(max(BLOCK_ROWS[kind] * row_bytes >> 20, MIN_BLOCK_MIB[kind]), MAX_BLOCK_MIB[kind])
    if kind == "cuda":
        wanted = max(1, min(wanted, torch.cuda.mem_get_info(device)[0] >> 22))
    return wanted


def row_blocks(
    start: int, stop: int, row_bytes: int, device: torch.device, block_size: int | None = None, mib: int | None = None
) -> list[slice]:
    """Return slices that cover start..stop, of `block_size` rows or as many as fit into `mib` MiB (else a default)."""
    size = block_size or max(1, ((mib or block_mib(row_bytes, device)) << 20) // max(row_bytes, 1))
    if block_size is None and size > MIN_BLOCK_ROWS:
        size -= size % (ALIGNED_ROWS if size > ALIGNED_ROWS else MIN_BLOCK_ROWS)
    least = 1 if block_size or size < MIN_BLOCK_ROWS else MIN_BLOCK_ROWS
    starts = [*range(start, stop, size)]
    if len(starts) > 1 and stop - starts[-1] < least:
        starts.pop()
    return [slice(first, last) for first, last in itertools.pairwise([*starts, stop])]


def sweep(function: Callable[[int], ResultT], row_bytes: int, device: torch.device, mib: int | None) -> ResultT:
    """Return function(mib); when memory runs out, try again with half the block, down to one MiB.

    Inside `remembered_sizes` the size that fits is kept for this function.
    """
    place, sizes = (device.type, function.__qualname__), _sizes.get() or BlockSizes()
    while True:
        wanted = mib or block_mib(row_bytes, device)
        size = min(wanted, sizes.fitted.get(place, wanted))
        try:
            return function(size)
        except (RuntimeError, MemoryError) as error:
            if not is_full_memory(error):
                raise
            if size < 2:
                raise FullMemoryError(f"Memory is full even with the smallest blocks. {MEMORY_ADVICE}") from error
        sizes.halve(place, size)
        if device.type == "cuda":
            torch.cuda.empty_cache()


@contextmanager
def remembered_sizes() -> Iterator[None]:
    """Keep sizes of blocks that fit while the block runs, so that memory does not run out anew in every epoch."""
    token = _sizes.set(BlockSizes()) if _sizes.get() is None else None
    try:
        yield
    finally:
        if token is not None:
            _sizes.reset(token)


def release_free_memory() -> None:
    """Return free memory to the system, where the C library would keep it (glibc), for a lower peak."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


@dataclass(frozen=True)
class enough_memory(ContextDecorator, AbstractContextManager[None]):  # noqa: N801
    """Turn full memory into an error with advice, around code that cannot use smaller blocks."""

    way_out: str = MEMORY_ADVICE

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RuntimeError | MemoryError) and is_full_memory(error):
            raise FullMemoryError(f"Memory is full. {self.way_out}") from error
