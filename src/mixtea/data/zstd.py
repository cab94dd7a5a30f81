"""Frames of zstd for packed.py."""

from __future__ import annotations

from mixtea.data.packed import DamagedError, NotPackedError

PIECE = 1 << 10  # of packed bytes at a time: a block of 4 bytes can hold 128 KiB, and all that comes of a piece is held


class ZstdFrame:
    """A frame of a zstd file. zstandard alone takes a cut frame for the end of the file."""

    def __init__(self) -> None:
        from zstandard import ZstdDecompressor

        self.unpacker, self.ended = ZstdDecompressor().decompressobj(), False

    def unpack(self, packed: memoryview) -> tuple[bytes, memoryview]:
        from zstandard import ZstdError

        piece = packed[:PIECE]
        try:
            found = self.unpacker.decompress(piece)
        except ZstdError as error:
            said = str(error).rpartition("error: ")[2]
            raise (NotPackedError if said == "Unknown frame descriptor" else DamagedError)(said) from None
        self.ended = self.unpacker.eof
        return found, packed[len(piece) - len(self.unpacker.unused_data) :]
