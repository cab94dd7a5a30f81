"""Files that consist of lines, a block at a time: no line is held that is too long, and none without an end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from mixtea.data.files import BLOCK, opened
from mixtea.data.limits import MIB, in_force
from mixtea.data.problems import UnreadableError, beyond

CHUNK = 8 * MIB  # of text that is taken apart at once
NESTS = b"<<("  # opens a triple inside a triple


class Lines:
    """Counts lines as they are read, and refuses those that are too long, too many or nested too deeply.

    Nesting is counted in a line, however it closes again. Where the lines are not those of the file but made from it,
    `what` says what they stand for.
    """

    def __init__(self, path: Path, read_on: Callable[[int], bytes], what: str = "line") -> None:
        self.path, self.read_on, self.what, self.limits = path, read_on, what, in_force()
        self.n, self.begun, self.depth = 0, 0, 0  # lines that have ended; bytes and triples in the one that has not
        self.given, self.place = b"", 0

    def read(self, size: int = -1) -> bytes:
        """At most so many bytes, as a parser asks for them."""
        if self.place == len(self.given):
            self.given, self.place = self.block(), 0
        end = min(self.place + size, len(self.given)) if size >= 0 else len(self.given)
        part, self.place = self.given[self.place : end], end
        return part

    def block(self) -> bytes:
        """The bytes that come next, none at the end."""
        block = self.read_on(BLOCK)
        first = block.find(b"\n")
        if self.begun + (first if first >= 0 else len(block)) > self.limits.max_token_mib * MIB:
            raise self._beyond(self.n + 1, f"more than {self.limits.max_token_mib} MiB long", "max_token_mib")
        if self.depth or NESTS in block:
            self._check_nesting(block)
        self.n += block.count(b"\n")
        self.begun = len(block) - 1 - block.rfind(b"\n") if first >= 0 else self.begun + len(block)
        if self.n > self.limits.max_rows:
            raise self._beyond(self.n, f"one of more than {self.limits.max_rows:,}", "max_rows")
        return block

    def _check_nesting(self, block: bytes) -> None:
        """Of lines that go on from the one that has begun."""
        for number, line in enumerate(block.split(b"\n")):
            self.depth = line.count(NESTS) + (0 if number else self.depth)
            if self.depth > self.limits.max_nesting:
                raise self._beyond(self.n + 1 + number, "triples in triples in triples", "max_nesting")

    def _beyond(self, number: int, what: str, limit: str) -> UnreadableError:
        if self.what == "line":
            return beyond(self.path, number, what, limit)
        return beyond(self.path, None, f"{self.what} {number:,} is {what}", limit)


def line_blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """(the number of its first line, whole lines) for each part of a file."""
    with opened(path) as file:
        lines = Lines(path, file.read)
        parts: list[bytes] = []
        start, size = 1, 0
        while block := lines.block():
            cut = block.rfind(b"\n") + 1
            size += len(block)
            if cut and size >= CHUNK:
                yield start, b"".join([*parts, block[:cut]])
                start, parts, size = lines.n + 1, [], 0
                block = block[cut:]
            parts.append(block)
        yield start, b"".join(parts)
