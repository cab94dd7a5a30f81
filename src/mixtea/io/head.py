"""Read the beginning of a file, by which its format and table layout are recognised."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mixtea.io.safe.lines import BOM, UTF_8, encoding_of, encoding_of_start
from mixtea.io.safe.open import file_status, first_bytes, keep_open

HEAD_BYTES = 1 << 16  # bytes
MAX_HEAD_LINES = 50
_heads: ContextVar[dict[tuple[Path, tuple[int, int, int]], Head] | None] = ContextVar("mixtea_heads", default=None)


@dataclass(frozen=True)
class Head:
    """The first bytes of a file, unpacked; `whole` if there are no more."""

    data: bytes
    whole: bool
    encoding: str = UTF_8

    @cached_property
    def text(self) -> str:
        return self.data.decode(self.encoding, "replace").removeprefix(BOM)

    @cached_property
    def numbered(self) -> list[tuple[int, str]]:
        """Return (number, line) of the first whole lines that are not blank."""
        lines = self.text.replace("\r\n", "\n").split("\n")
        whole = lines if self.whole else lines[:-1]
        return [(number, line) for number, line in enumerate(whole[:MAX_HEAD_LINES], 1) if line.strip()]

    @cached_property
    def lines(self) -> list[str]:
        """Return these lines without comments and numbers."""
        return [line for _, line in self.numbered if not line.lstrip().startswith("#")]


@contextmanager
def remembered_heads() -> Iterator[None]:
    """Read the beginning of each file once while the block runs, unless it changes, and keep it open for its reader."""
    token = _heads.set({}) if _heads.get() is None else None
    try:
        with keep_open():
            yield
    finally:
        if token is not None:
            _heads.reset(token)


def head_of(path: Path) -> Head:
    """Read the beginning of a file; an UnreadableError if it cannot be opened."""
    heads, status = _heads.get(), file_status(path)
    if heads is None or status is None:
        return _read_head(path)
    if (path, status) not in heads:
        heads[path, status] = _read_head(path)
    return heads[path, status]


def text_encoding(path: Path) -> str:
    """Return the encoding of a text file, all of which is looked at."""
    head = head_of(path)
    return head.encoding if head.whole else encoding_of(path)


def _read_head(path: Path) -> Head:
    data = first_bytes(path, HEAD_BYTES + 1)
    encoding = encoding_of_start(data)
    if encoding == UTF_8 and b"\0" not in data and not _is_utf_8(data):
        encoding = encoding_of(path)
    return Head(data[:HEAD_BYTES], len(data) <= HEAD_BYTES, encoding)


def _is_utf_8(start: bytes) -> bool:
    """Return whether the beginning of a file, whose last character may be cut, is UTF-8."""
    try:
        codecs.getincrementaldecoder(UTF_8)().decode(start)
    except UnicodeDecodeError:
        return False
    return True
