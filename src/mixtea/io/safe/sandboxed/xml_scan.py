"""Scan RDF/XML before it is parsed.

The parser's time is quadratic in the depth of elements and in the number of attributes, it looks for each name among
all namespaces, and it expands every entity at its declaration, whatever its length.
"""

from __future__ import annotations

import re
from xml.parsers import expat

from .restrict import WrongError
from .xml_ids import IdHider

TYPE_CHECKING = False  # importing typing would take a third of the time that starting takes
if TYPE_CHECKING:
    from typing import Any

ENTITY = re.compile(r"&([^;&\s]+);")
ONLY_UTF_8 = "Only UTF-8 is supported by the RDF/XML parser"
EXPAT_AMPLIFICATION = "amplification"  # how expat calls entities that grow
MAX_SHOWN = 100  # characters of a name shown
ENTITY_SHARE = 10  # a tenth of the growth that is allowed: they hold namespaces, and come with other text
COLUMNS = 10_000  # fewer that are allowed do not lessen the work that attributes and namespaces may make
STEPS, STEPS_PER_BYTE = 50_000, 0.01  # of this work for each column: with the default a second, and far more than usual
BYTES_AFTER_ERROR = 4096  # bytes after an error that the parser gets, for its own message


class XmlScan:
    """A scanner of blocks; a WrongError names the limit that the file exceeds. `ids` gets all attributes."""

    def __init__(
        self, *, max_nesting: int, max_columns: int, max_token: int, max_expansion: int, ids: IdHider | None = None
    ) -> None:
        self.ids = ids
        self.max_nesting, self.max_columns = max_nesting, max_columns
        self.max_token, self.max_expansion = max_token, max_expansion
        self.depth, self.n = 0, 0
        self.n_bound, self.bound = 0, list[tuple[int, int]]()  # namespaces in scope; the depths that declare them
        self.steps, self.most_steps = 0, 0.0
        self.sizes, self.declared_size, self.used_size = dict[str, int](), 0, 0
        self.failed: WrongError | None = None
        self.parser = expat.ParserCreate()
        self.parser.ordered_attributes = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.EntityDeclHandler = self.declared

    def checked(self, block: bytes) -> bytes:
        """Return the block; of one that is not XML the valid beginning and a little more."""
        if self.failed:
            raise self.failed
        self.most_steps = max(self.max_columns, COLUMNS) * (STEPS + STEPS_PER_BYTE * (self.n + len(block)))
        try:
            self.parser.Parse(block, False)
        except (LookupError, ValueError):  # Python's error about an unknown encoding
            raise WrongError(ONLY_UTF_8, line=1) from None
        except expat.ExpatError as error:
            message = expat.ErrorString(error.code)
            if EXPAT_AMPLIFICATION in message:
                raise self.limit_exceeded("entities that grow by being written out", "max_token_mib") from None
            self.failed = WrongError(f"not well-formed XML ({message})", line=error.lineno)
            block = block[: max(self.parser.ErrorByteIndex - self.n, 0) + BYTES_AFTER_ERROR]
        self.n += len(block)
        if not self.failed and self.n - self.parser.CurrentByteIndex > self.max_token:
            raise self.limit_exceeded("a tag, a comment or the like that does not end", "max_token_mib")
        return block

    def end_of_file(self) -> None:
        """Refuse a file that was cut between two tags, which a parser of RDF may take for whole."""
        if self.depth and not self.failed:
            raise WrongError(
                f"not well-formed XML (the file ends in the middle, {self.depth} deep)",
                line=self.parser.CurrentLineNumber,
            )

    def start(self, name: str, attributes: list[str]) -> None:
        self.depth += 1
        if self.depth > self.max_nesting:
            raise self.limit_exceeded(f"elements nested {self.depth:,} deep", "max_nesting")
        n = len(attributes) // 2
        if n > self.max_columns:
            raise self.limit_exceeded(f"an element with {n:,} attributes", "max_columns")
        if self.ids:
            self.ids.add(attributes, self.parser.CurrentLineNumber)
        before = self.n_bound
        for attribute in attributes[::2]:
            if attribute[:5] == "xmlns":
                self.n_bound += 1
        if self.n_bound > before:
            self.bound.append((self.depth, self.n_bound - before))
        self.steps += (1 + n) * (n + self.n_bound)
        if self.steps > self.most_steps:
            what = f"elements that take long, the last with {n:,} attributes and {self.n_bound:,} namespaces in scope"
            raise self.limit_exceeded(what, "max_columns")

    def end(self, name: str) -> None:
        if self.bound and self.bound[-1][0] == self.depth:
            self.n_bound -= self.bound.pop()[1]
        self.depth -= 1

    def declared(self, name: str, is_parameter: bool, value: str | None, *about: Any) -> None:
        """Add up how long the entity is, written out; a second declaration of one does not count."""
        self.parser.DefaultHandler = self.other  # which also keeps entities in the text from being written out
        inside = (self.sizes.get(inner, 0) for inner in ENTITY.findall(value or ""))
        self.sizes[name] = len(value or "") + sum(inside)
        self.declared_size += self.sizes[name]
        if self.declared_size > self.max_token:
            raise self.limit_exceeded(
                f"the entity {name[:MAX_SHOWN]!r} and those before it, written out", "max_token_mib"
            )
        if len(self.sizes) > self.max_columns:
            raise self.limit_exceeded(f"{len(self.sizes):,} entities", "max_columns")

    def other(self, data: str) -> None:
        """Add up what the entities in the text come to; those in tags are watched by expat."""
        if data.startswith("&"):
            self.used_size += self.sizes.get(data[1:-1], 0)
            if self.used_size > max(self.max_token, self.max_expansion * self.parser.CurrentByteIndex // ENTITY_SHARE):
                raise self.limit_exceeded("entities that take the most of the file, written out", "max_expansion")

    def limit_exceeded(self, what: str, limit: str) -> WrongError:
        return WrongError(what, limit=limit, line=self.parser.CurrentLineNumber)
