"""Read files of lines in blocks: no line is held that is too long, and none without an end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from mixtea.callbacks import report_step
from mixtea.io.safe.encoding import UTF_8, Transcoder
from mixtea.io.safe.limits import MIB, current_limits
from mixtea.io.safe.open import BLOCK, open_input
from mixtea.io.safe.problems import UnreadableError, limit_exceeded

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
