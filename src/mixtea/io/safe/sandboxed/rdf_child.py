"""Parse Turtle, TriG, RDF/XML and JSON-LD from standard input, and write N-Quads."""

from __future__ import annotations

import io
import sys

from .restrict import BLOCK, WrongError, restrict
from .xml_scan import IdHider, XmlScan

TYPE_CHECKING = False  # importing typing would take a third of the time that starting takes
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO, Any

UNTERMINATED = ("Line jumps are not allowed", "Unexpected end of file")
MAX_PREFIXES, MAX_PREFIX = 10_000, 2_000


class Reader:
    """The parser's input, line by line if requested, with the number of the current line."""

    def __init__(
        self,
        file: IO[bytes],
        by_line: bool,
        scan: XmlScan | None,
        go_on: Callable[[int], None],
        ids: IdHider | None = None,
    ) -> None:
        self.file, self.by_line, self.scan, self.go_on, self.ids = file, by_line, scan, go_on, ids
        self.block, self.place = b"", 0
        self.line, self.line_ended = 0, True

    def read(self, size: int = -1) -> bytes:
        if self.place == len(self.block):
            self.block, self.place = self.next_block(), 0
        end = min(self.place + size, len(self.block)) if size >= 0 else len(self.block)
        if self.by_line:
            end = self.block.find(b"\n", self.place, end) + 1 or end
        given, self.place = self.block[self.place : end], end
        if given:
            self.line += self.line_ended + given.count(b"\n", 0, -1)
            self.line_ended = given.endswith(b"\n")
        return given

    def next_block(self) -> bytes:
        """Return the next bytes, none at the end."""
        while block := self.file.read(BLOCK):
            self.go_on(len(block))
            checked = self.scan.checked(block) if self.scan else block
            if given := self.ids.hidden(checked) if self.ids else checked:
                return given
        if self.scan:
            self.scan.end_of_file()
            self.scan.checked(b"")
        return self.ids.hidden(b"") if self.ids else b""


class CountingWriter(io.FileIO):
    """A file that reports how many bytes are written: a few of the input can become long statements."""

    def __init__(self, descriptor: int, go_on: Callable[[int], None]) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.go_on = go_on

    def write(self, data: Any) -> int:
        n = super().write(data)
        self.go_on(n)
        return n


def parse(wanted: dict[str, Any], file: IO[bytes], out: IO[bytes], go_on: Callable[[int], None]) -> dict[str, Any]:
    """Write the statements, with the line before each if wanted; the prefixes of the file come back."""
    import pyoxigraph as ox

    is_xml = wanted["format"] == "RDF_XML"
    ids = IdHider() if is_xml and wanted["mend"] else None
    scan = XmlScan(**wanted["xml"], ids=ids) if is_xml else None
    reader = Reader(file, wanted["by_line"], scan, go_on, ids)
    source: Any = reader
    lenient = wanted["mend"] and wanted["format"] != "JSON_LD"
    options: dict[str, Any] = dict(base_iri=wanted["base"], rename_blank_nodes=False, lenient=lenient)
    quads = ox.parse(source, format=getattr(ox.RdfFormat, wanted["format"]), **options)
    try:
        if wanted["by_line"]:
            for quad in quads:
                statement = str(quad).replace("\n", " ")  # which only an IRI or a language that is wrong can have
                out.write(b"%d\t" % reader.line + statement.encode() + b" .\n")
        else:
            ox.serialize(quads, out, format=ox.RdfFormat.N_QUADS)
    except SyntaxError as error:
        line = error.lineno or (reader.line if wanted["by_line"] else None)  # in RDF/XML its parser does not count
        mendable = is_xml or has_whole_texts(quads, error)
        raise WrongError("syntax", message=error.msg, line=line, column=error.offset, mendable=mendable) from None
    except MemoryError:
        raise WrongError("a token of more than 16 MiB", limit="max_token_mib", line=reader.line) from None
    return {"prefixes": dict(short_prefixes(quads.prefixes)), "ids": ids.found if ids else {}}


def has_whole_texts(quads: Iterator[Any], error: SyntaxError) -> bool:
    """Return whether every text of the file has its end: a lenient parser would not notice a missing one."""
    while not any(sign in error.msg for sign in UNTERMINATED):
        try:
            for _ in quads:
                pass
            return True
        except SyntaxError as another:
            error = another
    return False


def short_prefixes(prefixes: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the short prefixes, sorted; none if there are too many."""
    if len(prefixes) <= MAX_PREFIXES:
        yield from ((name, iri) for name, iri in sorted(prefixes.items()) if len(name) + len(iri) <= MAX_PREFIX)


def work(wanted: dict[str, Any]) -> dict[str, Any]:
    import pyoxigraph  # noqa: F401 - before memory is counted

    go_on = restrict(wanted["mib"], wanted["seconds"])
    with io.BufferedWriter(CountingWriter(sys.stdout.fileno(), go_on), 1 << 16) as out:
        return parse(wanted, sys.stdin.buffer, out, go_on)
