"""Hide values of rdf:ID that are not XML names from a parser of RDF/XML, and restore them afterwards.

A character that such a name cannot have is replaced by an unassigned one, and restored in the statements:
`rdf:ID="a:b"` becomes the IRI that ends with `#a:b`. What no IRI can have is percent-encoded.
"""

from __future__ import annotations

import re

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
MAX_SHOWN = 100  # characters of an id shown


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
