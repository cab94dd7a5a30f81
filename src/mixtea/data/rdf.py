"""RDF files as statements: subject, predicate, object, graph. The parser is pyoxigraph's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from mixtea.data.files import UnreadableError, opened

if TYPE_CHECKING:
    from pyoxigraph import Quad

FIRST_KIB = 64 * 1024
XML_PREFIX = re.compile(rb"""\sxmlns(?::([\w.-]+))?\s*=\s*["']([^"'&<]+)["']""")
WHERE = re.compile(r"^Parser error (?:at|between) line \d+ (?:column|between columns) (\d+)[^:]*: ")
CUT_LINE = re.compile(r"line jumps|followed by a dot")
NEEDS_A_BASE = (
    "Write the IRI in full, or give the file a base: `@base <http://...> .` as its first line, "
    'in RDF/XML xml:base="http://..." in its first element.'
)


class Statements:
    """Iterates over the statements of a file; `prefixes` are those of the file once it is through.

    Blank nodes keep the names they have in the file; those without a name get a random one from the parser. With
    `by_line` the file is read line by line, which takes longer, and `line` is where the last statement ended.
    Relative IRIs are resolved by the file's own base, else by `base`, else they are an error.
    """

    def __init__(self, path: Path, kind: str, *, base: str | None = None, by_line: bool = False) -> None:
        self.path, self.kind, self.base, self.by_line = path, kind, base, by_line
        self.prefixes: dict[str, str] = {}
        self.lines: ByLine | None = None

    @property
    def line(self) -> int:
        return self.lines.n if self.lines else 0

    def __iter__(self) -> Iterator[Quad]:
        from pyoxigraph import parse

        with opened(self.path) as file:
            self.lines = ByLine(file) if self.by_line else None
            source: Any = self.lines or file
            parser = parse(source, format=rdf_format(self.kind), base_iri=self.base, rename_blank_nodes=False)
            try:
                yield from parser
            except SyntaxError as error:
                self._fail(error)
            self.prefixes = dict(parser.prefixes)
        if self.kind == "RDF/XML":
            self.prefixes = _xml_prefixes(self.path)

    def _fail(self, error: SyntaxError) -> NoReturn:
        """The parser's error as ours. It does not count the lines of RDF/XML, so those are counted here."""
        line = error.lineno or (self.line if self.by_line else find_line(self.path, self.kind, self.base))
        place, said = WHERE.match(error.msg), WHERE.sub("", error.msg)
        if line and error.offset == 1 and CUT_LINE.search(said):  # it was noticed at the end of the line before
            line, place = max(line - 1, 1), None
        todo = "Correct it, or let the file's ending say which format it has."
        if "No scheme found" in said:
            said, todo = "a relative IRI without a base", NEEDS_A_BASE
        column = f" (column {place[1]})" if place else ""
        raise UnreadableError(self.path, line, "", f"not {self.kind}: {said}{column}", todo) from None


def rdf_format(kind: str) -> Any:
    from pyoxigraph import RdfFormat

    names = {
        "N-Triples": RdfFormat.N_TRIPLES,
        "N-Quads": RdfFormat.N_QUADS,
        "Turtle": RdfFormat.TURTLE,
        "TriG": RdfFormat.TRIG,
        "RDF/XML": RdfFormat.RDF_XML,
    }
    return names[kind]


def find_line(
    path: Path, kind: str, base: str | None = None, wanted: Callable[[Quad], bool] = lambda _: False
) -> int | None:
    """The line of the first wanted statement or of the first error, whichever comes first."""
    statements = Statements(path, kind, base=base, by_line=True)
    try:
        for quad in statements:
            if wanted(quad):
                return statements.line
    except UnreadableError as error:
        return error.problem.line
    return None


class ByLine:
    """Hands out a file line by line, so that the parser has seen no more than it has counted."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.n = file, 0
        self.rest = b""

    def read(self, size: int = -1) -> bytes:
        if not self.rest:
            self.rest = self.file.readline()
            self.n += bool(self.rest)
        size = len(self.rest) if size < 0 else size
        given, self.rest = self.rest[:size], self.rest[size:]
        return given


def _xml_prefixes(path: Path) -> dict[str, str]:
    """Those that the beginning of the file declares; the parser does not tell."""
    with opened(path) as file:
        start = file.read(FIRST_KIB)
    found = {prefix.decode(): name.decode("utf-8", "replace") for prefix, name in XML_PREFIX.findall(start)}
    return {prefix: name for prefix, name in found.items() if prefix != "xml"}
