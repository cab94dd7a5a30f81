"""What the parser of N-Quads reads from: a file line by line, or what another process makes of a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO

from mixtea.data.safe.lines import TOO_DEEP, Lines
from mixtea.data.safe.problems import UnreadableError, beyond
from mixtea.data.safe.sandbox import Process

FIRST_KIB = 64 * 1024
XML_PREFIX = re.compile(rb"""\sxmlns(?::([\w.-]+))?\s*=\s*["']([^"'&<]+)["']""")


class ByLine:
    """Hands out a file line by line, so that the parser has seen no more than it has counted."""

    def __init__(self, lines: Lines) -> None:
        self.lines, self.n = lines, 0
        self.block, self.place, self.ended = b"", 0, True

    def read(self, size: int = -1) -> bytes:
        if self.place == len(self.block):
            self.block, self.place = self._next(), 0
        end = self.block.find(b"\n", self.place) + 1 or len(self.block)
        end = min(end, self.place + size) if size >= 0 else end
        given, self.place = self.block[self.place : end], end
        if given:
            self._count()
            self.ended = given.endswith(b"\n")
        return given

    def _next(self) -> bytes:
        return self.lines.block()

    def _count(self) -> None:
        self.n += self.ended


class Numbered(ByLine):
    """The same for lines that begin with the number of the line in the file that they were made from."""

    rest = b""

    def _next(self) -> bytes:
        """One whole line without its number; a line without an end is the work of a process that was stopped."""
        parts = []
        while b"\n" not in self.rest:
            parts.append(self.rest)
            self.rest = self.lines.block()
            if not self.rest:
                return b""
        end, _, self.rest = self.rest.partition(b"\n")
        number, _, line = b"".join([*parts, end]).partition(b"\t")
        self.n = int(number)
        return line + b"\n"

    def _count(self) -> None:
        pass


class Start:
    """Remembers the beginning of what is read from a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.first = file, b""

    def read(self, size: int) -> bytes:
        block = self.file.read(size)
        if len(self.first) < FIRST_KIB:
            self.first = (self.first + block)[:FIRST_KIB]
        return block


class Made(Lines):
    """The statements that a process makes of a file, as long as they are not out of all proportion to it.

    With `numbered` each begins with the number of its line in the file.
    """

    def __init__(self, path: Path, process: Process, *, numbered: bool = False) -> None:
        super().__init__(path, process.out.read1, "statement", rdf=True)
        self.process, self.n_bytes, self.numbered, self.too_deep = process, 0, numbered, False

    def block(self) -> bytes:
        block = super().block()
        self.n_bytes += len(block)
        if self.n_bytes > self.limits.bytes_for(self.process.n_fed):
            what = f"{self.process.n_fed:,} bytes become {self.n_bytes:,} and more by their prefixes or entities"
            raise beyond(self.path, None, what, "max_expansion")
        return block

    def _too_deep(self, number: int) -> UnreadableError:
        self.too_deep = True
        if not self.numbered:
            return super()._too_deep(number)
        return beyond(self.path, int(self.nesting.start.partition(b"\t")[0]), TOO_DEEP, "max_nesting")


def xml_prefixes(start: bytes) -> dict[str, str]:
    """Those that the beginning of the file declares; the parser does not tell."""
    found = {prefix.decode(): name.decode("utf-8", "replace") for prefix, name in XML_PREFIX.findall(start)}
    return {prefix: name for prefix, name in found.items() if prefix != "xml"}
