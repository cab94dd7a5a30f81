"""Frames of zstd for packed.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mixtea.io.safe.decompress import DamagedError, NotPackedError, TooWideError

PIECE = 1 << 10  # of packed bytes at a time: a block of 4 bytes can hold 128 KiB, and all that comes of a piece is held
SAID = {"Unknown frame descriptor": NotPackedError, "Frame requires too much memory for decoding": TooWideError}


def zstd_frames() -> Callable[[], ZstdFrame]:
    """What makes the frames of a file: they share their unpacker, which takes longer to make than a small frame."""
    from zstandard import ZstdDecompressor

    unpacker = ZstdDecompressor()
    return lambda: ZstdFrame(unpacker)


class ZstdFrame:
    """A frame of a zstd file. zstandard alone takes a cut frame for the end of the file."""

    def __init__(self, unpacker: Any) -> None:
        self.unpacker, self.ended = unpacker.decompressobj(), False

    def unpack(self, packed: memoryview) -> tuple[bytes, memoryview]:
        from zstandard import ZstdError

        piece = packed[:PIECE]
        try:
            found = self.unpacker.decompress(piece)
        except ZstdError as error:
            said = str(error).rpartition("error: ")[2]
            raise SAID.get(said, DamagedError)(said) from None
        self.ended = self.unpacker.eof
        return found, packed[len(piece) - len(self.unpacker.unused_data) :]
