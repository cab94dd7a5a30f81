"""Scan RDF/XML before it is parsed, and hide values of rdf:ID that its parser would refuse.

The parser's time is quadratic in the depth of elements and in the number of attributes, it looks for each name among
all namespaces, and it expands every entity at its declaration, whatever its length.

In an rdf:ID, a character that an XML name cannot have is replaced by an unassigned one, and restored in the statements:
`rdf:ID="a:b"` becomes the IRI that ends with `#a:b`. What no IRI can have is percent-encoded.
"""

from __future__ import annotations

import re
from xml.parsers import expat

from .restrict import WrongError

TYPE_CHECKING = False  # importing typing would take a third of the time that starting takes
if TYPE_CHECKING:
    from typing import Any

TAG = re.compile(rb"<[^<>!?/][^<>]*+>")
ID = re.compile(rb"""([\s"'])([^\s"'=<>:]++:ID)(\s*+=\s*+)(?:"([^"]*+)"|'([^']*+)')""")
DECLARED, RDF = "xmlns:", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
FIRST = "A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
FIRST += "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
NAME = re.compile(f"[{FIRST}][{FIRST}.0-9\xb7\u0300-\u036f\u203f\u2040-]*+")
NOT_IN_NAMES = re.compile(f"^[.0-9\xb7\u0300-\u036f\u203f\u2040-]|[^{FIRST}.0-9\xb7\u0300-\u036f\u203f\u2040-]")
NOT_IN_IRIS = re.compile(r'[\x00-\x20"#<>\\^`{|}\x7f-\x9f\ue000-\uf8ff\ufdd0-\ufdef]|%(?![0-9A-Fa-f]{2})')
HIDDEN = 0xE1000  # in front of the number of a character that is hidden; nothing up to 0xEEFFF is assigned
HIDDEN_BYTES = re.compile(rb"\xf3[\xa1-\xae][\x80-\xbf]{2}")
ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&"))
ENTITY = re.compile(r"&([^;&\s]+);")
ONLY_UTF_8 = "Only UTF-8 is supported by the RDF/XML parser"
EXPAT_AMPLIFICATION = "amplification"  # how expat calls entities that grow
MAX_SHOWN = 100  # characters of a name or an id shown
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


class IdHider:
    """A filter that hides invalid ids, and counts invalid and repeated ones with the first of each."""

    def __init__(self) -> None:
        self.names, self.seen = set[str](), set[str]()  # what rdf:ID is called here; its values
        self.found: dict[str, list[Any]] = {}
        self.rest = b""

    def add(self, attributes: list[str], line: int) -> None:
        """Look at the attributes of an element: names and values in turn."""
        pairs = list(zip(attributes[::2], attributes[1::2], strict=True))
        self.names.update(f"{name[len(DECLARED) :]}:ID" for name, value in pairs if value == RDF and DECLARED in name)
        for name, value in pairs:
            if name in self.names:
                if not NAME.fullmatch(value):
                    self.found.setdefault("invalid", [0, line, value[:MAX_SHOWN]])[0] += 1
                if value in self.seen:
                    self.found.setdefault("repeated", [0, line, value[:MAX_SHOWN]])[0] += 1
                self.seen.add(value)

    def hidden(self, block: bytes) -> bytes:
        """Return the next block with hidden ids as far as its tags are whole; an empty block ends the file."""
        data = self.rest + block
        cut = data.rfind(b">") + 1 if block else len(data)
        self.rest = data[cut:]
        return TAG.sub(lambda tag: ID.sub(self._hide, tag[0]) if b":ID" in tag[0] else tag[0], data[:cut])

    def _hide(self, found: re.Match[bytes]) -> bytes:
        return hide_id(found) if found[2].decode("utf-8", "replace") in self.names else found[0]


def hide_id(found: re.Match[bytes]) -> bytes:
    """Return the attribute with a value that is a name."""
    value = (found[4] or found[5] or b"").decode("utf-8", "replace")
    for written, meant in ESCAPES:
        value = value.replace(written, meant)
    if not value or NAME.fullmatch(value):
        return found[0]
    value = NOT_IN_IRIS.sub(lambda one: "".join(f"%{byte:02X}" for byte in one[0].encode()), value)
    value = NOT_IN_NAMES.sub(lambda one: chr(HIDDEN + ord(one[0])), value)
    return b'%b%b%b"%b"' % (*found.group(1, 2, 3), value.encode())


def reveal(statements: bytes) -> bytes:
    """Restore what was hidden, except what could end an IRI or a text."""
    return HIDDEN_BYTES.sub(_show, statements)


def _show(found: re.Match[bytes]) -> bytes:
    character = chr(ord(found[0].decode()) - HIDDEN)
    return found[0] if NOT_IN_IRIS.match(character) and character != "%" else character.encode()
