"""Unpack gzip and zstd as a stream: never more at a time than asked for, and notice where a file is cut."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import IO, Any, Protocol

PACKED_BYTES = 1 << 14  # read at a time: what is left of it is copied at the end of each frame
UNPACKED_BYTES = 1 << 20
MAX_IDLE_BYTES = 1 << 23
ZSTD_PACKED_BYTES = (
    1 << 10
)  # of packed bytes at a time: a block of 4 bytes can hold 128 KiB, and all that comes of a piece is held


class DamagedError(Exception):
    """Bytes that cannot be unpacked."""


class NotPackedError(DamagedError):
    """Bytes that are not compressed."""


class TrailingBytesError(DamagedError):
    """Bytes that are not compressed, after others that are."""


class WindowTooLargeError(DamagedError):
    """Bytes that need much memory to be unpacked."""


class Frame(Protocol):
    """One compressed unit of a file; several may follow each other."""

    ended: bool

    def unpack(self, packed: memoryview) -> tuple[bytes, memoryview]:
        """(some unpacked bytes, what is left of the packed ones)."""
        ...


class GzipFrame:
    """A member of a gzip file."""

    def __init__(self) -> None:
        self.unpacker, self.ended = zlib.decompressobj(31), False

    def unpack(self, packed: memoryview) -> tuple[bytes, memoryview]:
        try:
            found = self.unpacker.decompress(packed, UNPACKED_BYTES)
        except zlib.error as error:
            message = str(error).rpartition(": ")[2]
            raise (NotPackedError if message == "incorrect header check" else DamagedError)(message) from None
        self.ended = self.unpacker.eof
        return found, memoryview(self.unpacker.unused_data or self.unpacker.unconsumed_tail)


class Unpacked(io.RawIOBase):
    """The unpacked bytes of a file; EOFError where the last frame is cut.

    Zeros between frames are padding. Packed bytes that unpack to nothing for long are refused: reading them would take
    long, and sparse files may be far larger than their disk.
    """

    def __init__(self, file: IO[bytes], new_frame: Callable[[], Frame]) -> None:
        self.file, self.new_frame = file, new_frame
        self.frame: Frame | None = None
        self.n_frames, self.idle = 0, 0
        self.packed, self.unpacked = memoryview(b""), memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.unpacked and self._more():
            pass
        n = min(len(buffer), len(self.unpacked))
        buffer[:n], self.unpacked = self.unpacked[:n], self.unpacked[n:]
        return n

    def _more(self) -> bool:
        """Unpack what comes next; False at the end of the file."""
        before = len(self.packed)
        if not before:
            self.packed = memoryview(self.file.read(PACKED_BYTES))
            before = len(self.packed)
            self.idle += before
        if self.frame is None:
            self._next_frame()
            if self.frame is None:
                return bool(before) and self._not_idle()
        try:
            found, self.packed = self.frame.unpack(self.packed)
        except NotPackedError as error:
            raise TrailingBytesError(str(error)) if self.n_frames > 1 else error from None
        if not (before or found or self.frame.ended):
            raise EOFError
        self.unpacked = memoryview(found)
        if self.frame.ended:
            self.frame = None
        return self._not_idle()

    def _next_frame(self) -> None:
        if self.n_frames:
            self.packed = memoryview(bytes(self.packed).lstrip(b"\0"))
        if self.packed:
            self.frame, self.n_frames = self.new_frame(), self.n_frames + 1

    def _not_idle(self) -> bool:
        self.idle = 0 if self.unpacked else self.idle
        if self.idle > MAX_IDLE_BYTES:
            raise DamagedError(f"{MAX_IDLE_BYTES >> 20} MiB of it hold nothing")
        return True

    def close(self) -> None:
        self.file.close()
        super().close()


ZSTD_ERRORS = {
    "Unknown frame descriptor": NotPackedError,
    "Frame requires too much memory for decoding": WindowTooLargeError,
}


def zstd_frames() -> Callable[[], ZstdFrame]:
    """Return a function that makes the frames of a file, which share one unpacker for speed."""
    from zstandard import ZstdDecompressor

    unpacker = ZstdDecompressor()
    return lambda: ZstdFrame(unpacker)


class ZstdFrame:
    """A frame of a zstd file; zstandard alone would take a truncated frame for the end of the file."""

    def __init__(self, unpacker: Any) -> None:
        self.unpacker, self.ended = unpacker.decompressobj(), False

    def unpack(self, packed: memoryview) -> tuple[bytes, memoryview]:
        from zstandard import ZstdError

        piece = packed[:ZSTD_PACKED_BYTES]
        try:
            found = self.unpacker.decompress(piece)
        except ZstdError as error:
            message = str(error).rpartition("error: ")[2]
            raise ZSTD_ERRORS.get(message, DamagedError)(message) from None
        self.ended = self.unpacker.eof
        return found, packed[len(piece) - len(self.unpacker.unused_data) :]
