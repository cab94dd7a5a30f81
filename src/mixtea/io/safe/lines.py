"""Read text in blocks of lines, in UTF-8 whatever its encoding: no line is held that is too long, or has no end."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mixtea.callbacks import report_step
from mixtea.io.safe.limits import MIB, UnreadableError, current_limits, limit_exceeded
from mixtea.io.safe.open import BLOCK, open_input

UTF_8, UTF_16_LE, UTF_16_BE, WINDOWS = "utf-8", "utf-16-le", "utf-16-be", "cp1252"
NAMES = {UTF_16_LE: "UTF-16", UTF_16_BE: "UTF-16", WINDOWS: "Windows-1252, as it is not UTF-8"}
UTF_16_MARKS = {codecs.BOM_UTF16_LE: UTF_16_LE, codecs.BOM_UTF16_BE: UTF_16_BE}
BOM = "\ufeff"
SNIFFED_BYTES = 1000  # bytes
MIN_NULS = 0.2  # the least share of them in UTF-16 of letters
SAVE_AS_UTF_8 = "Save the file as UTF-8."
ASCII, FIRST_OF_SEVERAL = 0x80, 0xC0  # bytes from here on are not ASCII, or begin a character of UTF-8
UNDEFINED = b"\x81\x8d\x8f\x90\x9d"  # in Windows-1252
CONTROLS = bytes(set(range(32)) - {*b"\t\n\r\f\v"}) + b"\x7f"  # in no text
LETTERS = bytes(set(range(0xC0, 0xFF)) - {0xD7, 0xDE, 0xF7, 0xFE}) + "ŠšŽžŒœŸ".encode(WINDOWS)
SIGNS = "€‚„…‰‹‘’“”•–—™›¡£§©ª«®°±²³´·º»¼½¾¿×".encode(WINDOWS)
MIN_USUAL = 0.5  # of the characters that are not ASCII must be such letters or signs
MAX_RUNS = 0.4  # of them may follow each other: in other alphabets, whole words do
MAX_UTF_8 = 0.1  # characters of UTF-8 for each byte that is none: else it is UTF-8 with mistakes


def encoding_of_start(start: bytes) -> str:
    """Return the encoding that the first bytes of a text show: UTF-16 by its mark or its many NULs, else UTF-8."""
    for mark, encoding in UTF_16_MARKS.items():
        if start.startswith(mark):
            return encoding
    start = start[:SNIFFED_BYTES]
    encoding = UTF_16_BE if start[::2].count(0) > start[1::2].count(0) else UTF_16_LE
    return encoding if is_like_utf_16(start) and _is_text(start, encoding) else UTF_8


def is_like_utf_16(start: bytes) -> bool:
    """Return whether mostly every other byte is NUL, as in UTF-16 of letters without a mark."""
    start = start[:SNIFFED_BYTES]
    halves = [half.count(0) for half in (start[::2], start[1::2])]
    return max(halves) > MIN_NULS * len(start) and min(halves) < max(halves) / 4


def _is_text(start: bytes, encoding: str) -> bool:
    """Return whether the beginning of a file, which may be cut, is text in this encoding."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError:
        return False
    return not any(ord(sign) in CONTROLS for sign in text if ord(sign) < ASCII)


def encoding_of(path: Path) -> str:
    """Return the encoding of a text file: all of it is looked at, unless its beginning shows that it is UTF-16."""
    seen = ByteCounts()
    with open_input(path, utf_16=True) as file:
        if (encoding := encoding_of_start(file.peek(SNIFFED_BYTES))) != UTF_8:
            return encoding
        while block := file.read(BLOCK) + file.readline(BLOCK):  # UTF-8 is not cut at the end of a line
            seen.add(block)
    return WINDOWS if seen.is_windows() else UTF_8


def encoding_notes(encoding: str) -> tuple[str, ...]:
    """Return a note on a file that is not UTF-8."""
    return () if encoding == UTF_8 else (f"read as {NAMES[encoding]}",)


class ByteCounts:
    """Counts of the non-ASCII bytes in a text that may be UTF-8 or Windows-1252."""

    def __init__(self) -> None:
        self.bytes, self.in_utf_8, self.in_runs = (np.zeros(256, dtype=np.int64) for _ in range(3))

    def add(self, block: bytes) -> None:
        """Count a block of whole lines."""
        raw = np.frombuffer(block, dtype=np.uint8)
        self.bytes += np.bincount(raw, minlength=256)
        if block.isascii():
            return
        valid = np.frombuffer(block.decode(errors="ignore").encode(), dtype=np.uint8)
        self.in_utf_8 += np.bincount(valid, minlength=256)
        high = raw >= ASCII
        beside = np.concatenate([[False], high[1:] & high[:-1], [False]])
        self.in_runs += np.bincount(raw[beside[1:] | beside[:-1]], minlength=256)

    def is_windows(self) -> bool:
        """Return whether the text is not UTF-8, and is like Western text in Windows-1252."""
        n, n_utf_8, n_runs = (int(counts[ASCII:].sum()) for counts in (self.bytes, self.in_utf_8, self.in_runs))
        if n == n_utf_8 or self.bytes[[*UNDEFINED, *CONTROLS]].any():
            return False
        is_text = self.bytes[[*LETTERS, *SIGNS]].sum() >= MIN_USUAL * n and n_runs <= MAX_RUNS * n
        return bool(is_text and self.in_utf_8[FIRST_OF_SEVERAL:].sum() <= MAX_UTF_8 * (n - n_utf_8))


@dataclass
class Transcoder:
    """A reader of text in another encoding as UTF-8, without its mark."""

    path: Path
    read_on: Callable[[int], bytes]
    encoding: str

    def __post_init__(self) -> None:
        self.decoder, self.begun = codecs.getincrementaldecoder(self.encoding)(), False

    def read(self, size: int) -> bytes:
        """Return the bytes that come next, in UTF-8; none at the end."""
        text = ""
        while not text:
            block = self.read_on(size)
            try:
                text = self.decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                what = f"not {NAMES[self.encoding]} throughout ({error.reason})"
                raise UnreadableError(self.path, None, "", what, SAVE_AS_UTF_8) from None
            text, self.begun = text if self.begun else text.removeprefix(BOM), self.begun or bool(text)
            if not block:
                break
        return text.encode()


CHUNK_BYTES = 8 * MIB  # of text that is taken apart at once
TOO_DEEP = "triples in triples in triples"
NESTS = b"<<("  # opens a triple inside a triple
MAX_START = 30  # bytes of a line that is nested, by which it may be known
NESTING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?P<escape>\\?)(?P<end>"?)|<<\(|\)>>', re.DOTALL)


class Nesting:
    """The depth of triples in triples in one line of N-Triples or N-Quads, which may come in pieces."""

    def __init__(self) -> None:
        self.depth, self.deepest, self.literal, self.start = 0, 0, b"", b""

    def add(self, piece: bytes) -> None:
        self.start = self.start or piece[:MAX_START]
        piece, self.literal = self.literal + piece, b""  # a literal goes on as it had begun
        for found in NESTING.finditer(piece):
            if found[0] == NESTS:
                self.depth += 1
                self.deepest = max(self.deepest, self.depth)
            elif found[0] == b")>>":
                self.depth = max(self.depth - 1, 0)
            elif not found["end"]:
                self.literal = b'"' + found["escape"]


class Lines:
    """A reader that counts lines, and refuses those that are too long, too many or nested too deeply.

    Where lines are made from the file, `what` is their name in messages. `rdf` lines are N-Triples or N-Quads, whose
    nested triples are counted; a line is parsed for that only if it has enough nesting signs to be too deep.
    """

    def __init__(self, path: Path, read_on: Callable[[int], bytes], what: str = "line", *, rdf: bool = False) -> None:
        self.path, self.read_on, self.what, self.rdf, self.limits = path, read_on, what, rdf, current_limits()
        self.n, self.begun = 0, 0  # lines that have ended; bytes of the one that has not
        self.signs, self.pieces, self.nesting = 0, list[bytes](), Nesting()  # of the line that has not ended

    def whole(self, least: int = BLOCK) -> Iterator[tuple[int, bytes]]:
        """Yield (first line number, whole lines) of at least so many bytes; the last line may lack its end."""
        parts: list[bytes] = []
        first, size = 1, 0
        while block := self.block():
            cut = block.rfind(b"\n") + 1
            size += len(block)
            if cut and size >= least:
                yield first, b"".join([*parts, block[:cut]])
                first, parts, size = self.n + 1, [], 0
                block = block[cut:]
            parts.append(block)
        yield first, b"".join(parts)

    def block(self) -> bytes:
        """Return the next bytes, none at the end."""
        block = self.read_on(BLOCK)
        first = block.find(b"\n")
        if self.begun + (first if first >= 0 else len(block)) > self.limits.max_token_mib * MIB:
            raise self._limit_exceeded(self.n + 1, f"more than {self.limits.max_token_mib} MiB long", "max_token_mib")
        if self.rdf:
            self._check_nesting(block)
        self.n += block.count(b"\n")
        report_step(f"reading {self.path}, {self.n:,} lines")
        self.begun = len(block) - 1 - block.rfind(b"\n") if first >= 0 else self.begun + len(block)
        if self.n > self.limits.max_rows:
            raise self._limit_exceeded(self.n, f"one of more than {self.limits.max_rows:,}", "max_rows")
        return block

    def _check_nesting(self, block: bytes) -> None:
        """Check lines from the one that has begun; of lines without a nesting sign only the last matters."""
        if not self.signs and NESTS not in block:
            end = block.rfind(b"\n") + 1
            self.pieces = [*([] if end else self.pieces), block[end:]]
            return
        for number, line in enumerate(block.split(b"\n")):
            if number:
                self.signs, self.pieces, self.nesting = 0, [], Nesting()
            self.signs += line.count(NESTS)
            self.pieces.append(line)
            if self.signs > self.limits.max_nesting:
                self.nesting.add(b"".join(self.pieces))
                self.pieces = []
            if self.nesting.deepest > self.limits.max_nesting:
                raise self._too_deep(self.n + 1 + number)

    def _too_deep(self, number: int) -> UnreadableError:
        return self._limit_exceeded(number, TOO_DEEP, "max_nesting")

    def _limit_exceeded(self, number: int, what: str, limit: str) -> UnreadableError:
        if self.what == "line":
            return limit_exceeded(self.path, number, what, limit)
        return limit_exceeded(self.path, None, f"{self.what} {number:,} is {what}", limit)


def line_blocks(path: Path, encoding: str = UTF_8) -> Iterator[tuple[int, bytes]]:
    """Yield (first line number, whole lines) for each block of a file, in UTF-8 whatever its encoding."""
    with open_input(path, utf_16=encoding != UTF_8) as file:
        read_on = file.read if encoding == UTF_8 else Transcoder(path, file.read, encoding).read
        yield from Lines(path, read_on).whole(CHUNK_BYTES)
