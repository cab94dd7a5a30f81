"""Texts as bytes and offsets: to Arrow and back, and fast tests on many texts at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

NO_BYTES = np.empty(0, dtype=np.uint8)
MAX_SKETCH_LENGTH = 63  # bytes: longer texts count as so long where texts are compared by their looks


def renumber_in_order(codes: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Renumber codes (below n) by their first occurrence; also return the old code of each new one."""
    rows = np.arange(len(codes), dtype=np.int32)
    first = np.full(n, -1, dtype=np.int32)
    first[codes[::-1]] = rows[::-1]  # the last that is written stays
    is_first = np.zeros(len(codes), dtype=bool)
    is_first[first[first >= 0]] = True
    number = np.cumsum(is_first, dtype=np.int32) - np.int32(1)
    return number[first][codes] if len(codes) else codes, codes[is_first]


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """Return the offsets of texts of these lengths."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def is_ascending(texts: pa.LargeBinaryArray) -> bool:
    """Return whether texts ascend strictly by length and then alphabetically, as ids often do.

    Then all are distinct, which is much faster to check than by hashing them.
    """
    import pyarrow.compute as pc

    begin, end = texts[: len(texts) - 1], texts[1:]
    lengths = pc.binary_length(texts).to_numpy()
    if (lengths[1:] < lengths[:-1]).any():
        return False
    greater = pc.greater(end, begin).to_numpy(zero_copy_only=False)
    return bool((greater | (lengths[1:] > lengths[:-1])).all())


def sketches_of(data: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return int32 [n]: a number per text, from its length, first and last byte; equal texts have the same."""
    lengths = np.minimum(np.diff(offsets), MAX_SKETCH_LENGTH).astype(np.int32)
    if not len(data):
        return lengths
    first, last = (data[np.minimum(places, len(data) - 1)] for places in (offsets[:-1], offsets[1:] - 1))
    looks: np.ndarray = (lengths << 16 | first.astype(np.int32) << 8 | last) * (lengths > 0)
    return looks


def sketch_set(looks: np.ndarray) -> np.ndarray:
    found = np.zeros((MAX_SKETCH_LENGTH + 1) << 16, dtype=bool)
    found[looks] = True
    return found


def are_in(texts: pa.LargeBinaryArray, known: pa.LargeBinaryArray) -> pa.BooleanArray:
    import pyarrow.compute as pc

    return pc.is_in(texts, value_set=known)


def to_arrow(data: np.ndarray, offsets: np.ndarray) -> pa.LargeBinaryArray:
    """Wrap the texts for Arrow, without a copy."""
    import pyarrow as pa

    buffers = [None, *(pa.py_buffer(np.require(array, requirements=["C", "A"])) for array in (offsets, data))]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def from_arrow(texts: pa.LargeBinaryArray) -> tuple[np.ndarray, np.ndarray]:
    """Copy bytes and offsets of an Arrow array into NumPy arrays."""
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, dtype=np.int64)[: len(texts) + 1] if len(texts) else np.zeros(1, dtype=np.int64)
    content = np.frombuffer(data, dtype=np.uint8) if data is not None else NO_BYTES
    return content[: places[-1]].copy(), places.copy()


def as_arrow(values: np.ndarray) -> pa.Array:
    import pyarrow as pa

    return pa.array(values)
