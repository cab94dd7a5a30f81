"""Detect sparse files: a few bytes on disk whose reading takes as much memory as their size."""

from __future__ import annotations

import errno
import os
from typing import IO

MIN_SPARSE_BYTES = 4 << 20  # bytes; smaller files may have any
MAX_HOLES = 16  # at least one byte in so many was written


def is_sparse(file: IO[bytes]) -> bool:
    """Return whether an open file consists mostly of holes."""
    found = os.fstat(file.fileno())
    return (
        found.st_size >= MIN_SPARSE_BYTES
        and _on_disk(found) < found.st_size // MAX_HOLES
        and not _is_filled(file, found)
    )


def _on_disk(found: os.stat_result) -> int:
    """Return the bytes that a file takes on disk; its size where the system does not report them."""
    blocks: int | None = getattr(found, "st_blocks", None)
    return found.st_size if blocks is None else 512 * blocks


def _is_filled(file: IO[bytes], found: os.stat_result) -> bool:
    """Return whether enough of a file was written; also True where the system cannot report it.

    A file that takes little may be packed by the file system, or not be on the disk yet, and have no hole at all.
    """
    end = written = 0
    while hasattr(os, "SEEK_DATA") and written < found.st_size // MAX_HOLES:
        try:
            begin = os.lseek(file.fileno(), end, os.SEEK_DATA)
            end = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
        except OSError as error:
            return error.errno != errno.ENXIO  # nothing follows
        written += end - begin
    return True
