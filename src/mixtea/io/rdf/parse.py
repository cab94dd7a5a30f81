"""Parse RDF files by pyoxigraph into statements: subject, predicate, object, graph."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, TypeVar

from mixtea.errors import Problems
from mixtea.io.head import head_of
from mixtea.io.rdf.columns import MIN_BLOCK_BYTES, StatementColumns
from mixtea.io.rdf.mend import NO_BASE, NOT_UTF_8, RELATIVE, WHERE, Mending, xml_prefixes
from mixtea.io.safe.limits import MIB, UnreadableError, current_limits, limit_exceeded
from mixtea.io.safe.lines import TOO_DEEP, Lines
from mixtea.io.safe.open import open_input
from mixtea.io.safe.sandbox import Process
from mixtea.io.safe.sandboxed.xml_scan import reveal
from mixtea.messages import visible

if TYPE_CHECKING:
    from pyoxigraph import Quad

Found = TypeVar("Found")
CUT_LINE = re.compile(r"line jumps|followed by a dot")
MAX_MESSAGE = 500
CORRECT = "Correct it, or give the file the ending of its format."
SAVE_AS_UTF_8 = "Save the file as UTF-8; if its first line names another encoding, let it name this one."
OTHER_XML = "Convert it to RDF, or to a table with the columns head, relation and tail."
NEEDS_A_BASE = (
    "Write the IRI in full, or give the file a base: `@base <http://...> .` as its first line, "
    'in RDF/XML xml:base="http://..." in its first element.'
)


REMOTE = re.compile(rb'"@context"\s*+:\s*+\[?\s*+"([^"\\]{1,300})"')
PUT_INTO_THE_FILE = "Write what is found there into the file in its place, or convert the file to .nt or .ttl."
FOR_SCHEMA_ORG = 'Write {"@vocab": "https://schema.org/"} in its place, or convert the file to .nt or .ttl.'
RELATIVE_IRI = f"<{NO_BASE}".encode()
SANDBOXED = {"Turtle": "TURTLE", "TriG": "TRIG", "RDF/XML": "RDF_XML", "JSON-LD": "JSON_LD"}
IN_PROCESS = {"N-Triples": "N_TRIPLES", "N-Quads": "N_QUADS"}


class MendableError(UnreadableError):
    """A file with an invalid statement after which others can be read."""


class Statements:
    """An iterable over the statements of a file; `prefixes` are complete at its end.

    Named blank nodes keep their names; others get a random one from the parser. With `by_line` the file is read line by
    line, which takes longer, and `line` is where the last statement ended. Relative IRIs are resolved by the file's own
    base, else by `base`, else they are an error. Invalid statements are an error, unless `mending` repairs them.

    N-Triples and N-Quads are parsed in this process. The parsers of other formats can be crashed by a file: another
    process turns these into N-Quads. The parser gets whole lines: of one in pieces it would read the beginning again
    with each piece.
    """

    def __init__(
        self, path: Path, kind: str, *, base: str | None = None, by_line: bool = False, mending: Mending | None = None
    ) -> None:
        self.path, self.kind, self.base, self.by_line, self.mending = path, kind, base, by_line, mending
        self.prefixes: dict[str, str] = {}
        self.line = 0
        self.collected: StatementColumns | None = None

    def columns(self) -> StatementColumns:
        """Read all statements into columns, without an object for each."""
        self.collected = StatementColumns()
        deque(self, maxlen=0)
        return self.collected

    def __iter__(self) -> Iterator[Quad]:
        with open_input(self.path) as file:
            yield from self._sandboxed(file) if self.kind in SANDBOXED else self._here(file)
        if self.mending:
            self.mending.end()

    def _here(self, file: IO[bytes]) -> Iterator[Quad]:
        lines = Lines(self.path, file.read, rdf=True)
        blocks = lines.whole(self._least)
        if self.mending:
            self.mending.whole = lines
        try:
            yield from self._quads(
                by_line(blocks) if self.by_line else blocks, IN_PROCESS[self.kind], base_iri=self.base
            )
        except SyntaxError as error:
            self._fail(error.msg, self.line + (error.lineno or 1) - 1, error.offset, mendable=True)

    def _sandboxed(self, file: IO[bytes]) -> Iterator[Quad]:
        base = self.base or (NO_BASE if self.kind == "JSON-LD" else None)
        mend = self.mending is not None
        with sandboxed(self.path, self.kind, base, self.by_line, mend).start(file, feed=True) as process:
            made = ProcessLines(self.path, process, numbered=self.by_line)
            blocks = numbered(made.whole()) if self.by_line else made.whole(self._least)
            if mend and self.kind == "RDF/XML":
                blocks = ((line, reveal(block)) for line, block in blocks)
            cut = None  # without mending, terms are checked already
            try:
                yield from self._quads(blocks, "N_QUADS", lenient=not mend)
            except SyntaxError as error:
                cut = error.msg
            except UnreadableError:
                if made.too_deep and not self.by_line:
                    self._read_by_line()  # the same again, with its line
                raise
            found = process.result()
        message = found.get("message") or found.get("what") or cut
        if "LoadDocumentCallback" in (message or ""):
            self._fail_remote()
        if message:
            line = found.get("line") or (self._line_of_error() if "message" in found else None)
            self._fail(message, line, found.get("column"), mendable=found.get("mendable", False))
        if self.mending:
            for what, (n, line, value) in found["ids"].items():
                self.mending.add(what, line, value, n)
        self.prefixes = xml_prefixes(head_of(self.path).data) if self.kind == "RDF/XML" else found["prefixes"]

    @property
    def _least(self) -> int:
        """Return how many bytes a block has at least: lines that go into columns are cut together."""
        return MIN_BLOCK_BYTES if self.collected else 1

    def _quads(self, blocks: Blocks, format_name: str, **options: Any) -> Iterator[Quad]:
        """Yield the statements of the blocks, or collect them in columns; those of a process are canonical already."""
        import pyoxigraph as ox

        options |= {"format": getattr(ox.RdfFormat, format_name), "rename_blank_nodes": False}
        read: Callable[..., Iterator[Quad]] = ox.parse
        counted = self.by_line or self.kind in IN_PROCESS
        is_canonical = self.kind in SANDBOXED and not self.mending
        for self.line, block in blocks:
            if self.mending:
                read = partial(self.mending.quads, self.line, counted=counted)
            has_no_base = self.kind == "JSON-LD" and RELATIVE_IRI in block
            if self.collected and is_canonical and not has_no_base:
                self.collected.add(block)
                continue
            quads = self._absolute(read(block, **options)) if has_no_base else read(block, **options)
            if self.collected:
                self.collected.add(ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b"")
            else:
                yield from quads

    def _absolute(self, quads: Iterator[Quad]) -> Iterator[Quad]:
        for quad in quads:
            if any(str(term).startswith(f"<{NO_BASE}") for term in quad.triple):
                what = "not JSON-LD: a relative IRI without a base"
                todo = 'Write the IRI in full, or give the file a base: "@base": "http://..." in its @context.'
                line, statement = self.line if self.by_line else None, str(quad.triple).replace(NO_BASE, "")
                if not self.mending:
                    raise MendableError(self.path, line, statement, what, todo)
                self.mending.add(RELATIVE, line, statement)
            yield quad

    def _fail_remote(self) -> NoReturn:
        """Raise an error for a context in another place, which is not fetched."""
        found = REMOTE.search(head_of(self.path).data)
        where = f"at {visible(found[1].decode('utf-8', 'replace'))}" if found else "elsewhere"
        what = f"its @context lies {where}, and nothing is fetched"
        todo = FOR_SCHEMA_ORG if found and b"schema.org" in found[1] else PUT_INTO_THE_FILE
        raise UnreadableError(self.path, None, "", what, todo)

    def _line_of_error(self) -> int | None:
        """Find the line of an error by reading one line at a time, where the parser does not count them."""
        if not self.by_line:
            try:
                self._read_by_line()
            except UnreadableError as error:
                return error.problem.line
        return None

    def _read_by_line(self) -> None:
        deque(Statements(self.path, self.kind, base=self.base, by_line=True, mending=self.anew()), maxlen=0)

    def anew(self) -> Mending | None:
        """Return a mending for reading the file again."""
        return Mending(self.path, self.kind, self.mending.error) if self.mending else None

    def _fail(self, message: str, line: int | None, offset: int | None, *, mendable: bool = False) -> NoReturn:
        """Raise the parser's error as ours."""
        place, message = WHERE.match(message), WHERE.sub("", message)
        if line and offset == 1 and CUT_LINE.search(message):  # it was noticed at the end of the line before
            line, place = max(line - 1, 1), None
        todo = CORRECT
        if "No scheme found" in message:
            message, todo = "a relative IRI without a base", NEEDS_A_BASE
        elif NOT_UTF_8.match(message):
            todo, mendable = SAVE_AS_UTF_8, False
        elif "namespaces are required" in message:
            message, todo = "XML of another kind", OTHER_XML
        column = f" (column {place[1]})" if place else ""
        error = MendableError if mendable and not self.mending else UnreadableError
        raise error(self.path, line, "", f"not {self.kind}: {visible(message, MAX_MESSAGE)}{column}", todo) from None


def sandboxed(path: Path, kind: str, base: str | None, by_line: bool, mend: bool = False) -> Process:
    import pyoxigraph

    wanted = {"format": SANDBOXED[kind], "base": base, "by_line": by_line, "mend": mend, "xml": xml_limits()}
    return Process(path, "rdf_child", kind, wanted, [Path(pyoxigraph.__file__).parent.parent])


def xml_limits() -> dict[str, int]:
    """Return the limits of a scan of XML, which is another process's."""
    limits = current_limits()
    found = {name: getattr(limits, name) for name in ("max_nesting", "max_columns", "max_expansion")}
    return found | {"max_token": limits.max_token_mib * MIB}


def read_mending(
    path: Path, kind: str, problems: Problems, read: Callable[[Statements], Found], *, by_line: bool = False
) -> tuple[Found, Mending | None]:
    """Return what `read` makes of the statements, and the repairs if there were any.

    The file is read strictly first, and again with repairs only if that fails, unless problems are strict.
    """
    try:
        return read(Statements(path, kind, by_line=by_line)), None
    except MendableError as error:
        if problems.strict:
            raise
        mending = Mending(path, kind, error)
    found = read(Statements(path, kind, by_line=by_line, mending=mending))
    if any(line is None for line, _ in mending.first.values()):
        mending.first = _first_lines(path, kind, mending)
    return found, mending


def _first_lines(path: Path, kind: str, mending: Mending) -> dict[str, tuple[int | None, str]]:
    """Return the first repair of each kind with its line, which takes reading by line."""
    again = Mending(path, kind, mending.error)
    for _ in Statements(path, kind, by_line=True, mending=again):
        if again.first.keys() >= mending.first.keys():
            break
    return mending.first | again.first


def find_line(path: Path, kind: str, wanted: Callable[[Quad], bool], mending: Mending | None = None) -> int | None:
    """Return the line of the first wanted statement."""
    statements = Statements(path, kind, by_line=True, mending=mending)
    return next((statements.line for quad in statements if wanted(quad)), None)


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
