"""Parse an alignment in the OAEI's format from standard input, and write its cells as lines of JSON.

It is read as XML: what matchers write is seldom RDF, with attributes that have no namespace.
"""

from __future__ import annotations

import io
import json
import sys
from xml.parsers import expat

from .restrict import BLOCK, WrongError, restrict
from .xml_scan import XmlScan

TYPE_CHECKING = False  # importing typing would take a third of the time that starting takes
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

ENDS = ("entity1", "entity2")
TEXTS = ("relation", "measure")
NOTES = ("source_ids", "target_ids")  # elements with the namespaces of plain ids
NAMES = ("resource", "about")  # attributes that name an entity
EXPRESSIONS = ("and", "or", "not", "compose", "inverse")  # elements of complex alignments (EDOAL)
MAX_TEXT = 1000  # characters of a relation or a measure


class CellReader:
    """An XML handler that passes [line, entity1, entity2, relation, measure] of each cell to `found`."""

    def __init__(self, found: Callable[[list[Any]], object]) -> None:
        self.found, self.cell, self.inside = found, dict[str, str](), ""
        self.notes = dict[str, str]()
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = self.parser.ordered_attributes = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.EntityDeclHandler = self.declared

    def start(self, name: str, attributes: list[str]) -> None:
        name = name.rpartition(":")[2]
        if name == "Cell":
            self.cell = {}
        if name in ENDS:
            self.cell["line"] = str(self.parser.CurrentLineNumber)
        if name in ENDS or name in TEXTS or name in NOTES:
            self.inside = name
        if self.inside in ENDS and (name in EXPRESSIONS or name.endswith("Restriction")):
            self.cell["expression"] = "expression"
        if self.inside in ENDS:  # itself, or what is described inside of it
            for key, value in zip(attributes[::2], attributes[1::2]):  # noqa: B905 - an even number
                if key.rpartition(":")[2] in NAMES:
                    self.cell.setdefault(self.inside, value)

    def text(self, data: str) -> None:
        if self.inside in TEXTS and len(self.cell.get(self.inside, "")) < MAX_TEXT:
            self.cell[self.inside] = self.cell.get(self.inside, "") + data
        if self.inside in NOTES and len(self.notes.get(self.inside, "")) < MAX_TEXT:
            self.notes[self.inside] = self.notes.get(self.inside, "") + data

    def end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        if name == self.inside:
            self.inside = ""
        if name == "Cell":
            if all(end in self.cell for end in ENDS):
                texts = [self.cell.get(text, "").strip() for text in TEXTS]
                cell = [*(self.cell[end] for end in ENDS), self.cell.get("expression", texts[0]), texts[1]]
                self.found([int(self.cell["line"]), *cell])
            self.cell = {}

    def declared(self, name: str, is_parameter: bool, value: str | None, *about: Any) -> None:
        if value is None:
            line = self.parser.CurrentLineNumber
            raise WrongError("an entity that lies in another file, which is not read", line=line)


def parse(wanted: dict[str, Any], file: IO[bytes], out: IO[bytes], go_on: Callable[[int], None]) -> dict[str, Any]:
    """Write the cells, return the notes; the file is looked at for what hurts a parser before it is parsed."""
    scan = XmlScan(**wanted["xml"])
    cells = CellReader(lambda cell: out.write(json.dumps(cell).encode() + b"\n"))
    while block := file.read(BLOCK):
        go_on(len(block))
        checked = scan.checked(block)
        if scan.failed:
            raise scan.failed
        cells.parser.Parse(checked, False)
    scan.end_of_file()
    return {"notes": {name: text.strip() for name, text in cells.notes.items()}}


def work(wanted: dict[str, Any]) -> dict[str, Any]:
    go_on = restrict(wanted["mib"], wanted["seconds"])
    with io.BufferedWriter(io.FileIO(sys.stdout.fileno(), "wb", closefd=False), 1 << 16) as out:
        return parse(wanted, sys.stdin.buffer, out, go_on)
