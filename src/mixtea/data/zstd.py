"""Unpacking zstd as a stream that notices where a file is cut."""

from __future__ import annotations

import io
from typing import IO, Any


class DamagedZstdError(Exception):
    """Bytes that zstd cannot unpack."""


class ZstdStream(io.RawIOBase):
    """The unpacked bytes of all frames of a file; EOFError where the last one is cut, which zstandard alone accepts."""

    def __init__(self, file: IO[bytes]) -> None:
        from zstandard import ZstdDecompressor

        self.file = file
        self.decompressor = ZstdDecompressor()
        self.frame: Any = None
        self.packed, self.unpacked = b"", memoryview(b"")

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
        from zstandard import ZstdError

        self.packed = self.packed or self.file.read(1 << 17)
        if not self.packed:
            if self.frame is not None:
                raise EOFError
            return False
        self.frame = self.frame or self.decompressor.decompressobj()
        try:
            self.unpacked = memoryview(self.frame.decompress(self.packed))
        except ZstdError as error:
            raise DamagedZstdError(str(error).rpartition("error: ")[2]) from None
        self.packed = b""
        if self.frame.eof:
            self.packed, self.frame = self.frame.unused_data, None
        return True

    def close(self) -> None:
        self.file.close()
        super().close()
