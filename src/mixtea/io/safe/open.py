"""Open input files: regular ones, plain, gzip or zstd, that do not unpack to too much.

What is packed is unpacked as a stream, never more at a time than asked for, and a file that is cut is noticed.
"""

from __future__ import annotations

import io
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

from mixtea.io.safe.limits import FREE_BYTES, MIB, UnreadableError, current_limits, limit_exceeded

PACKED_BYTES = 1 << 14  # read at a time: what is left of it is copied at the end of each frame
UNPACKED_BYTES = 1 << 20
MAX_IDLE_BYTES = 1 << 23
ZSTD_PACKED_BYTES = 1 << 10  # likewise: 4 bytes can be a block of 128 KiB, and all that comes of a piece is held


class DamagedError(Exception):
    """Bytes that cannot be unpacked."""


class NotPackedError(DamagedError):
    """Bytes that are not compressed."""


class TrailingBytesError(DamagedError):
    """Bytes that are not compressed, after others that are."""


class WindowTooLargeError(DamagedError):
    """Bytes that need much memory to be unpacked."""


class GzipFrame:
    """A member of a gzip file, which may have several."""

    def __init__(self) -> None:
        self.unpacker, self.ended = zlib.decompressobj(31), False

    def unpack(self, packed: memoryview) -> tuple[bytes, memoryview]:
        """Return some unpacked bytes, and what is left of the packed ones."""
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

    def __init__(self, file: IO[bytes], new_frame: Callable[[], GzipFrame | ZstdFrame]) -> None:
        self.file, self.new_frame = file, new_frame
        self.frame: GzipFrame | ZstdFrame | None = None
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


BLOCK = 1 << 18
OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
FIRST_BYTES = {
    b"\x1f\x8b": ("compressed with gzip", "Add .gz to its name, or unpack it."),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "Add .zst to its name, or unpack it."),
}
UTF_16 = {
    b"\xff\xfe": ("UTF-16 text, which is not UTF-8", "Save the file as UTF-8."),
    b"\xfe\xff": ("UTF-16 text, which is not UTF-8", "Save the file as UTF-8."),
}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_kept: ContextVar[dict[Path, tuple[BufferedReader, Any]] | None] = ContextVar("mixtea_kept_open", default=None)
COPY_AGAIN = "Copy or download the file again."


@contextmanager
def open_input(path: Path, *, utf_16: bool = False) -> Iterator[BufferedReader]:
    """Open a file's bytes, unpacked and without a UTF-8 mark; every error is an UnreadableError.

    So is UTF-16, unless `utf_16`.
    """
    with _explained(path):
        kept = _take_kept(path)
        with kept or _opened(path) as file:
            _check_start(path, file, utf_16, has_mark=kept is None)
            yield file


def first_bytes(path: Path, n: int) -> bytes:
    """Return the beginning of a file, as `open_input` gives it; inside `keep_open` the file stays open."""
    with _explained(path), ExitStack() as stack:
        file = stack.enter_context(_opened(path))
        _check_start(path, file, utf_16=True)
        data = file.peek(n)[:n]
        if (kept := _kept.get()) is not None:
            stack.pop_all()
            before, _ = kept.pop(path, (file, None))
            if before is not file:
                before.close()
            kept[path] = file, file_status(path)
        return data


@contextmanager
def keep_open() -> Iterator[None]:
    """Hand files whose beginning was read inside the block to those who open them next: each is opened once."""
    token = _kept.set({}) if _kept.get() is None else None
    try:
        yield
    finally:
        if token is not None:
            for file, _ in (_kept.get() or {}).values():
                file.close()
            _kept.reset(token)


def _take_kept(path: Path) -> BufferedReader | None:
    """Return the file that was kept open, if the path still leads to it as it was."""
    file, then = (_kept.get() or {}).pop(path, (None, None))
    if file and then != file_status(path):
        file.close()
        return None
    return file


def file_status(path: Path) -> tuple[int, int, int] | None:
    """Return what changes with a file; None of one that is gone, which opening it reports."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # the latter of a path that cannot be
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    kind = COMPRESSED.get(path.suffix.lower(), "")
    try:
        yield
    except EOFError:
        raise UnreadableError(path, None, "", f"the {kind} data ends in the middle", COPY_AGAIN) from None
    except NotPackedError:
        raise UnreadableError(path, None, "", f"not {kind}, in spite of its ending", COPY_AGAIN) from None
    except TrailingBytesError:
        todo = "Remove them, or copy or download the file again."
        raise UnreadableError(path, None, "", f"other bytes after the {kind} data", todo) from None
    except WindowTooLargeError:
        todo = "Compress it again without --long and --ultra, or unpack it."
        raise UnreadableError(path, None, "", f"{kind} with a window that takes too much memory", todo) from None
    except DamagedError as error:
        raise UnreadableError(path, None, "", f"damaged {kind} ({error})", COPY_AGAIN) from None
    except OSError as error:
        raise open_error(path, error) from None


def _opened(path: Path) -> BufferedReader:
    reader = LimitedReader(path, open_regular(path), COMPRESSED.get(path.suffix.lower(), ""))
    return BufferedReader(reader, FREE_BYTES + 1 if reader.packed else BLOCK)


def _check_start(path: Path, file: BufferedReader, utf_16: bool, *, has_mark: bool = True) -> None:
    start = file.peek(4)
    for first, (what, todo) in (FIRST_BYTES if utf_16 else FIRST_BYTES | UTF_16).items():
        if start.startswith(first):
            raise UnreadableError(path, None, "", what, todo)
    if has_mark and start.startswith(BYTE_ORDER_MARK):
        file.read(len(BYTE_ORDER_MARK))


def open_regular(path: Path) -> IO[bytes]:
    """Open a regular file: a pipe may have no other end, and a device no end at all."""
    try:
        _check_regular(path, path.stat())
        file = open(path, "rb", buffering=0, opener=lambda name, _: os.open(name, OPEN_FLAGS))  # noqa: SIM115
    except UnreadableError:
        raise
    except (OSError, ValueError) as error:
        raise open_error(path, error) from None
    try:
        _check_regular(path, os.fstat(file.fileno()))  # it may have become another one since
    except UnreadableError:
        file.close()
        raise
    return file


def _check_regular(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise UnreadableError(path, None, "", "a folder, where a file is needed", "Name the file inside it.")
    if not stat.S_ISREG(found.st_mode):
        todo = "Write what comes out of it to a file and name that."
        raise UnreadableError(path, None, "", "a pipe, a device or a socket, where a file is needed", todo)
    if found.st_size > current_limits().max_gib * 1024 * MIB:
        raise limit_exceeded(path, None, f"{found.st_size / MIB / 1024:,.1f} GiB", "max_gib")


def open_error(path: Path, error: OSError | ValueError) -> UnreadableError:
    if isinstance(error, FileNotFoundError):
        return UnreadableError(path, None, "", "no such file", "Check the path.")
    why = getattr(error, "strerror", None) or str(error)
    return UnreadableError(path, None, "", f"cannot be read ({why})", "Check the path and its permissions.")


class LimitedReader(io.RawIOBase):
    """The unpacked bytes of a file, as long as they are not too many.

    A packed file is unpacked in blocks of the size that every file may have, so that one which is far larger is refused
    before any of it is used.
    """

    def __init__(self, path: Path, raw: IO[bytes], kind: str) -> None:
        self.path, self.raw, self.limits, self.n = path, raw, current_limits(), 0
        self.packed = kind != ""
        self.inner: Any = Unpacked(raw, GzipFrame if kind == "gzip" else zstd_frames()) if self.packed else raw

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        """Return the descriptor of the file on disk, packed or not."""
        return self.raw.fileno()

    def close(self) -> None:
        self.raw.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, if the file goes on for so long."""
        given = 0
        while given < len(buffer) and (n := self.inner.readinto(memoryview(buffer)[given:])):
            given += n
        self.n += given
        size = self.raw.tell() if self.packed else self.n
        if self.n > self.limits.bytes_for(size):
            name = "max_gib" if self.n > self.limits.max_gib * 1024 * MIB else "max_expansion"
            raise limit_exceeded(self.path, None, f"{size:,} bytes unpack to {self.n:,} and more", name)
        return given
