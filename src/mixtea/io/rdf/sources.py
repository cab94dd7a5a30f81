"""Read the input of the N-Quads parser: a file line by line, or the output of another process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from mixtea.io.safe.lines import TOO_DEEP, Lines
from mixtea.io.safe.problems import UnreadableError, limit_exceeded
from mixtea.io.safe.sandbox import Process

START_BYTES = 64 * 1024
XML_PREFIX = re.compile(rb"""\sxmlns(?::([\w.-]+))?\s*=\s*["'](?:&([\w.-]+);)?([^"'&<]*)["']""")
XML_ENTITY = re.compile(rb"""<!ENTITY\s+([\w.-]+)\s+["']([^"'&<]{1,2000})["']""")


Blocks = Iterator[tuple[int, bytes]]


def by_line(blocks: Blocks) -> Blocks:
    """Yield (number, line) of each line."""
    for first, block in blocks:
        yield from enumerate(block.split(b"\n"), first)


def numbered(blocks: Blocks) -> Blocks:
    """Yield (number, statement) of lines that begin with their line number in the original file."""
    for _, line in by_line(blocks):
        if line:
            number, _, statement = line.partition(b"\t")
            yield int(number), statement


class RecordedStart:
    """A file that records the beginning of what is read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.first = file, b""

    def read(self, size: int) -> bytes:
        block = self.file.read(size)
        if len(self.first) < START_BYTES:
            self.first = (self.first + block)[:START_BYTES]
        return block


class ProcessLines(Lines):
    """The statements that a process makes of a file, limited in proportion to it.

    With `numbered` each begins with the number of its line in the file.
    """

    def __init__(self, path: Path, process: Process, *, numbered: bool = False) -> None:
        super().__init__(path, process.out.read1, "statement", rdf=True)
        self.process, self.n_bytes, self.numbered, self.too_deep = process, 0, numbered, False

    def whole(self, least: int = 1) -> Blocks:
        """Yield whole statements; one without an end comes from a process that was stopped."""
        cut = ((first, block[: block.rfind(b"\n") + 1]) for first, block in super().whole(least))
        return ((first, block) for first, block in cut if block)

    def block(self) -> bytes:
        block = super().block()
        self.n_bytes += len(block)
        if self.n_bytes > self.limits.bytes_for(self.process.n_fed):
            what = f"{self.process.n_fed:,} bytes become {self.n_bytes:,} and more by their prefixes or entities"
            raise limit_exceeded(self.path, None, what, "max_expansion")
        return block

    def _too_deep(self, number: int) -> UnreadableError:
        self.too_deep = True
        if not self.numbered:
            return super()._too_deep(number)
        return limit_exceeded(self.path, int(self.nesting.start.partition(b"\t")[0]), TOO_DEEP, "max_nesting")


def xml_prefixes(start: bytes) -> dict[str, str]:
    """Return the prefixes that the beginning of the file declares; the parser does not report them."""
    entities = dict(XML_ENTITY.findall(start))
    found = {
        prefix.decode(): (entities.get(entity, b"") + rest).decode("utf-8", "replace")
        for prefix, entity, rest in XML_PREFIX.findall(start)
        if prefix != b"xml" and (not entity or entity in entities)
    }
    return {prefix: name for prefix, name in found.items() if name}
