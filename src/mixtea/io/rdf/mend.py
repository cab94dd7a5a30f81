"""Repair RDF statements that are not quite valid as other tools read them, or leave them out one by one.

All formats arrive as lines of N-Triples or N-Quads. An invalid line is repaired where its meaning is certain, else it
is left out. All repairs are counted, and the first of each kind is kept as an example.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urljoin

from mixtea.errors import shorten
from mixtea.graph.prefixes import BUILT_IN
from mixtea.io.head import head_of
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.safe.lines import Lines
from mixtea.messages import visible

if TYPE_CHECKING:
    from pyoxigraph import Quad

NO_BASE = "http://relative.invalid/"  # of relative IRIs in a file that names nothing they could be relative to
WHERE = re.compile(r"^Parser error (?:at|between) line \d+ (?:column|between columns) (\d+)[^:]*: ")
NOT_UTF_8 = re.compile(r"Invalid UTF-8|cannot decode input using UTF-8|Only UTF-8 is supported")
# *+ and ++ take what they can and never give back, so that no line takes long
LITERAL = rb'"(?:[^"\\]++|\\.)*+"?+'
TOKEN = re.compile(rb"(" + LITERAL + rb")|<([^<>]*+)>", re.DOTALL)
TAGGED = re.compile(LITERAL + rb"(?=@)", re.DOTALL)
ABBREVIATED = re.compile(rb"(\s*+(?:<[^<>]*+>|_:[^\s<>]++)\s*+)a(?=[\s<_])")
RDF_TYPE = f"<{BUILT_IN['rdf']}type>".encode()
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+:")
TURTLE_PREFIX = re.compile(rb"@?prefix\s++(base|):\s*+<([^<>\s]++)>", re.IGNORECASE)
XML_PREFIX = re.compile(rb"""\sxmlns(?::([\w.-]+))?\s*=\s*["'](?:&([\w.-]+);)?([^"'&<]*)["']""")
XML_ENTITY = re.compile(rb"""<!ENTITY\s+([\w.-]+)\s+["']([^"'&<]{1,2000})["']""")
XML_ONTOLOGY = re.compile(rb"""<owl:Ontology\s++rdf:about\s*+=\s*+["']([^"'&<]++)["']""")
TURTLE_ONTOLOGY = re.compile(rb"<([^<>\s]++)>\s++(?:a|rdf:type)\s++owl:Ontology\b")
LEFT_OUT, TYPE, RELATIVE, TAG, INVALID, REPEATED = "left out", "a", "relative", "tag", "invalid", "repeated"
MAX_TERMS = 1000  # of a line that is looked at
MIN_LEFT_OUT = 1000  # statements, before as many are asked to be good
MAX_REASON = 200


class Mending:
    """A reader of lines that may be invalid; raises `error`, for which the file was refused, if most lines are.

    With `whole` lines of the file itself, one that has no end is an error: the rest of such a file is missing.
    """

    def __init__(self, path: Path, kind: str, error: UnreadableError) -> None:
        self.path, self.kind, self.error = path, kind, error
        self.whole: Lines | None = None
        self.n_read, self.counts = 0, Counter[str]()
        self.first: dict[str, tuple[int | None, str]] = {}

    @cached_property
    def base(self) -> str:
        """Return the base of relative IRIs."""
        return find_base(head_of(self.path).data, self.kind)

    @property
    def used_base(self) -> str:
        """Return the base, "" if there was no relative IRI."""
        return self.base if self.counts[RELATIVE] else ""

    def quads(self, line: int, block: bytes, *, counted: bool, **options: Any) -> Iterator[Quad]:
        """Yield the statements of whole lines; `line` is the first one's number in the file if `counted`."""
        import pyoxigraph as ox

        try:
            found = list(ox.parse(block, **options))
            self.n_read += len(found)
            yield from found
        except SyntaxError:
            for row, text in enumerate(block.split(b"\n")):
                found = self._mended(text, line + row, row, counted, options)
                self.n_read += len(found)
                yield from found

    def _mended(self, text: bytes, line: int, row: int, counted: bool, options: dict[str, Any]) -> list[Quad]:
        import pyoxigraph as ox

        try:
            return list(ox.parse(text, **options))
        except SyntaxError as error:
            wrong = error
        done: list[tuple[str, str]] = []
        for kind, mend in ((TYPE, self._typed), (RELATIVE, self._absolute), (TAG, self._untagged)):
            other, example = mend(text)
            if other == text:
                continue
            text = other
            done.append((kind, example))
            try:
                found = list(ox.parse(text, **options))
            except SyntaxError as error:
                wrong = error
            else:
                for what, such in done:
                    self.add(what, line if counted else None, such)
                return found
        self._leave_out(wrong, line, row, counted)
        return []

    def _leave_out(self, wrong: SyntaxError, line: int, row: int, counted: bool) -> None:
        message = WHERE.sub("", wrong.msg)
        if NOT_UTF_8.match(message) or (self.whole and line > self.whole.n):
            wrong.lineno = row + 1
            raise wrong
        self.add(LEFT_OUT, line if counted else None, visible(message, MAX_REASON))
        if self.counts[LEFT_OUT] > max(self.n_read, MIN_LEFT_OUT):
            self.refuse()

    def add(self, what: str, line: int | None, example: str, n: int = 1) -> None:
        self.counts[what] += n
        self.first.setdefault(what, (line, example))

    def end(self) -> None:
        """Raise the error if not even half of the file could be read."""
        if self.counts[LEFT_OUT] >= max(self.n_read, 1):
            self.refuse()

    def refuse(self) -> NoReturn:
        raise self.error from None

    def note(self) -> str:
        """Return the repairs in words."""
        parts = [self._part(what, one, several) for what, (one, several) in NOTES.items() if self.counts[what]]
        return f"not quite {self.kind}: {'; '.join(parts)}. With --strict it is an error."

    def _part(self, what: str, one: str, several: str) -> str:
        n, (line, example) = self.counts[what], self.first[what]
        facts = {"all": f"{self.n_read + self.counts[LEFT_OUT]:,}", "base": self.used_base}
        text = f"{n:,} {(one if n == 1 else several).format(**facts)}"
        shown = example if what == LEFT_OUT else shorten(example) if example else ""
        place = [*([] if line is None else [f"in line {line}"]), *([f"({shown})"] if shown else [])]
        first = "the first " if n > 1 else ""
        return f"{text}, {first}{' '.join(place)}" if place else text

    @staticmethod
    def _typed(text: bytes) -> tuple[bytes, str]:
        """Replace the `a` of Turtle by rdf:type."""
        found = ABBREVIATED.match(text)  # at the beginning alone: a search would take long in a line of spaces
        return (found[1] + RDF_TYPE + text[found.end() :] if found else text), ""

    def _absolute(self, text: bytes) -> tuple[bytes, str]:
        """Resolve relative IRIs."""
        relative: list[str] = []

        def absolute(found: re.Match[bytes]) -> bytes:
            iri = (found[2] or b"").decode("utf-8", "replace")
            if found[1] is not None or SCHEME.match(iri):
                return found[0]
            relative.append(iri)
            return b"<" + resolve_iri(iri, self.base).encode() + b">"

        text = TOKEN.sub(absolute, text, count=MAX_TERMS)
        return text, f"<{relative[0]}>" if relative else ""

    @staticmethod
    def _untagged(text: bytes) -> tuple[bytes, str]:
        """Remove the language tag of a text."""
        found = TAGGED.match(text, max(text.find(b'"'), 0))
        if not found:
            return text, ""
        end = text.find(b" <", found.end())
        end = end if end >= 0 else max(text.rfind(b"."), found.end())
        tag = text[found.end() : end].decode("utf-8", "replace").strip()
        return found[0].join((text[: found.start()], b" " + text[end:])), tag


NOTES = {  # of one and of several
    LEFT_OUT: ("of {all} statements is left out", "of {all} statements are left out"),
    TAG: ("language tag is left out, its text kept", "language tags are left out, their texts kept"),
    RELATIVE: (
        "statement has relative IRIs, taken as relative to {base}",
        "statements have relative IRIs, taken as relative to {base}",
    ),
    TYPE: ("statement has `a`, taken as rdf:type", "statements have `a`, taken as rdf:type"),
    INVALID: ("rdf:ID is not an XML name, and kept", "times rdf:ID is not an XML name, and kept"),
    REPEATED: ("rdf:ID comes again, taken as the same entity", "times rdf:ID comes again, taken as the same entity"),
}


def resolve_iri(iri: str, base: str) -> str:
    """Return the absolute form of a relative IRI; one that cannot be resolved stays as it is.

    >>> resolve_iri("#a", "http://e.org/o#"), resolve_iri("a", "http://e.org/o#"), resolve_iri("#a", "urn:x:o")
    ('http://e.org/o#a', 'http://e.org/a', 'urn:x:o#a')
    """
    if not iri or iri.startswith("#"):
        return base.partition("#")[0] + iri
    try:
        return urljoin(base, iri)
    except ValueError:  # half an address
        return iri


def find_base(first: bytes, kind: str) -> str:
    """Return the namespace that the beginning of a file declares as its own, else its ontology IRI, else `NO_BASE`.

    It depends on the file's text alone, not on its path.
    """
    if kind == "RDF/XML":
        found, ontology = xml_prefixes(first), XML_ONTOLOGY.search(first)
    else:
        declared = TURTLE_PREFIX.findall(first) if kind in ("Turtle", "TriG") else []
        found = {prefix.decode().lower(): name.decode("utf-8", "replace") for prefix, name in declared}
        ontology = TURTLE_ONTOLOGY.search(first)
    named = [found.get("base"), found.get(""), ontology and ontology[1].decode("utf-8", "replace")]
    own = (name for name in named if name and SCHEME.match(name) and name not in BUILT_IN.values())
    return next(own, NO_BASE)


def xml_prefixes(start: bytes) -> dict[str, str]:
    """Return the prefixes that the beginning of the file declares; the parser does not report them."""
    entities = dict(XML_ENTITY.findall(start))
    found = {
        prefix.decode(): (entities.get(entity, b"") + rest).decode("utf-8", "replace")
        for prefix, entity, rest in XML_PREFIX.findall(start)
        if prefix != b"xml" and (not entity or entity in entities)
    }
    return {prefix: name for prefix, name in found.items() if name}
