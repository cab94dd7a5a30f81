"""Find the layout of a table: the requested columns by their names and, in text, the header and the separator.

A separator is the user's, a usual sign, or any sign that fits.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from mixtea.errors import DataError
from mixtea.io.head import MAX_HEAD_LINES, Head
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.safe.sandboxed.table_child import RELATIONS, find_header, normalise_header

Headers = Sequence[tuple[str, ...]]
TRIPLE_HEADERS: Headers = (
    ("head", "relation", "tail"),
    ("subject", "predicate", "object"),
    ("source", "relation", "target"),
    ("subject", "relation", "object"),
    ("head", "predicate", "tail"),
    ("h", "r", "t"),
    ("s", "p", "o"),
    ("subject", "property", "object"),
    *((start, word, end) for start, end in (("source", "target"), ("from", "to"), ("start", "end"))
      for word in ("relation", "type", "label")),
    (":startid", ":type", ":endid"),
)  # fmt: skip
EDGE_HEADERS: Headers = [row[::2] for row in TRIPLE_HEADERS if len(row[0]) > 1]
LINK_HEADERS: Headers = (
    ("source", "target"),
    ("subject", "object"),
    ("head", "tail"),
    ("left", "right"),
    ("from", "to"),
    *((f"{one}{what}", f"{other}{what}") for one, other in (
        ("source", "target"), ("subject", "object"), ("src", "tgt"), ("left", "right"), ("ltable", "rtable"),
    ) for what in ("id", "uri", "iri", "entity")),
    *((f"{what}1", f"{what}2") for what in ("entity", "uri", "iri", "id", "source", "kg", "e", "ent")),
)  # fmt: skip
NAME_HEADERS: Headers = (
    ("id", "text"),
    ("id", "name"),
    ("id", "label"),
    ("entity", "text"),
    ("entity", "name"),
    ("entity", "label"),
    ("id", "translation"),
    ("entity", "translation"),
)
WORD_HEADERS: Headers = (("word", "translation"), ("source", "target"), ("from", "to"))

ID_WORDS = ("item", "entity", "subject", "node", "concept", "term", "code", "identifier", "key", "resource", "url")
ID_NAME = re.compile(
    r":?(?:[\w -]*[a-z_ -])?(?:ID|URI|IRI|Id|Uri|Iri)|(?:[\w -]*[_ -])?(?:id|uri|iri)|geonameid"
)  # not Madrid
ID_WORDS_ANYWHERE = ("id", "uri", "iri", "identifier")  # in a column that is not the first one
RELATION_WORDS = ("relation", "predicate", "property", "relationship", "edge", "type", "rel", "p", "r")


def repeated_name(names: Sequence[str], places: Sequence[int]) -> str:
    """Return the first requested column whose name another column has too; "" if there is none."""
    found = [normalise_header(name) for name in names]
    counts = Counter(found)
    return next((names[place].strip() for place in places if counts[found[place]] > 1), "")


def too_few_columns(path: Path, names: Sequence[str], headers: Headers) -> UnreadableError:
    """Make the error of a table with fewer columns than these headers need."""
    shown = f"{len(names)} column{'s' * (len(names) != 1)}"
    todo = f"It needs {len(headers[0])}: {' or '.join(', '.join(header) for header in headers[:2])}."
    return UnreadableError(path, None, ", ".join(names), shown, todo)


def is_id_name(name: str) -> bool:
    """Return whether a first column of this name holds ids."""
    return normalise_header(name) in ID_WORDS or ID_NAME.fullmatch(name) is not None


def find_id_column(names: Sequence[str], *, certain: bool = True) -> int | None:
    """Return the position of the column of ids; None without one, or where the columns are those of triples.

    A first column without a name holds them unless another has the name of one: pandas writes the index there. Where it
    is not `certain` that these are names, a first line of three words may be a triple.
    """
    if is_triple_header(names) or len(names) < 2 or not all(names[1:]):
        return None
    if is_id_name(names[0]):
        return 0
    if find_header(names, EDGE_HEADERS) or not (certain or len(names) > 3 or not names[0]):
        return None
    place = next((place for place, name in enumerate(names) if normalise_header(name) in ID_WORDS_ANYWHERE), None)
    return 0 if place is None and not names[0] else place


def is_triple_header(names: Sequence[str]) -> bool:
    """Return whether columns so called hold triples."""
    return bool(find_header(names, TRIPLE_HEADERS)) or (
        len(names) == 3 and normalise_header(names[1]) in RELATION_WORDS
    )


USUAL_SEPARATORS = (",", ";", "\t", "|")
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars (|)", " ": "spaces"}
TAB = ("tab", "\\t")  # how a shell lets people write it
PREFERRED_SEPARATORS = "#%^~:"
SEPARATOR_CATEGORIES = frozenset({"Po", "Sm", "So", "Sk", "Sc", "Cc"})  # no brackets, dashes and quotation marks
NO_SEPARATORS = frozenset("./@'\"`<>\r\n\v\f\0")  # of words, numbers, IRIs and addresses
MIN_EVEN_ROWS = 0.9  # of the rows are as wide as the first: the others are mistakes
_given: ContextVar[str] = ContextVar("separator", default="")


@contextmanager
def use_separator(separator: str | None) -> Iterator[None]:
    """Use this separator for text tables inside the block; with None it is detected."""
    token = _given.set(_parse_separator(separator) if separator is not None else _given.get())
    try:
        yield
    finally:
        _given.reset(token)


def current_separator() -> str:
    """Return the separator that a user has named; "" without one."""
    return _given.get()


def _parse_separator(separator: str) -> str:
    sign = "\t" if separator in TAB else separator
    if not isinstance(sign, str) or len(sign) != 1 or sign in '"\r\n':
        raise DataError(f"separator is {separator!r:.100}. Give one character, or tab (--separator).")
    return sign


def possible_separators(kind: str, head: Head) -> list[str]:
    """Return what may stand between the columns: one sign that is sure, else the usual ones, the likeliest first."""
    if given := current_separator():
        return [given]
    if kind == "TSV":
        return ["\t"]
    odd = odd_separator(head)
    return [odd] if odd else [*USUAL_SEPARATORS]


def check_separator(path: Path, head: Head) -> None:
    """Raise an error if a separator is named that does not divide the first row."""
    separator = current_separator()
    if separator and head.lines and separator not in head.lines[0]:
        line = next(number for number, line in head.numbered if line == head.lines[0])
        what, todo = (
            f"no {separator_name(separator)} in",
            "Name what separates the columns (--separator), or leave it out.",
        )
        raise UnreadableError(path, line, head.lines[0], what, todo)


def separator_name(separator: str) -> str:
    """Return the separator in words.

    >>> separator_name(","), separator_name("#"), separator_name(chr(31))
    ('commas', '#', 'U+001F')
    """
    return NAMES.get(separator) or (separator if separator.isprintable() else f"U+{ord(separator):04X}")


def separator_note(separator: str, kind: str) -> tuple[str, ...]:
    """Return a note on a separator that the ending of the file does not imply."""
    usual = "\t" if kind == "TSV" else ","
    return () if separator in (usual, current_separator()) else (f"separated by {separator_name(separator)}",)


def odd_separator(head: Head) -> str | None:
    """Return the sign that divides all first rows evenly where no usual separator does; None without one.

    Where several do, one that is used as separator elsewhere comes first, then the one that makes most columns.
    """
    if len(head.lines) < 2 or head.text.lstrip().startswith(("{", "[", "<")):
        return None
    if any(_is_mostly_even(first_rows(head, one)) for one in USUAL_SEPARATORS):
        return None
    found = []
    for sign in sorted(filter(_may_separate, {*head.lines[0]})):
        rows = first_rows(head, sign)
        is_even = len(rows) > 1 and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
        if is_even and not (sign == ":" and _has_prefixes(rows)):
            place = PREFERRED_SEPARATORS.find(sign) % (len(PREFERRED_SEPARATORS) + 1)
            found.append((place, -len(rows[0]), sign))
    return min(found)[-1] if found else None


def _may_separate(sign: str) -> bool:
    """Return whether a sign may be a separator: letters, digits, spaces and parts of words may not.

    >>> "".join(filter(_may_separate, "#|;:%^~$ a1.-_/@'(é"))
    '#|;:%^~$'
    """
    return sign not in NO_SEPARATORS and unicodedata.category(sign) in SEPARATOR_CATEGORIES


def first_rows(head: Head, separator: str) -> list[list[str]]:
    """Return the rows at the beginning of a file that are not cut."""
    try:
        rows = list(csv.reader((f"{line}\n" for line in head.lines), delimiter=separator))
    except csv.Error:
        return []
    return rows if head.whole and len(head.numbered) < MAX_HEAD_LINES else rows[:-1]


def _is_mostly_even(rows: list[list[str]]) -> bool:
    n = len(rows[0]) if rows else 0
    return n > 1 and sum(len(row) == n for row in rows) >= MIN_EVEN_ROWS * len(rows)


def _has_prefixes(rows: list[list[str]]) -> bool:
    """Return whether colons belong to IRIs, with a prefix or in full."""
    return any(cell.startswith("//") for row in rows for cell in row) or any(
        len(set(column)) == 1 for column in zip(*rows, strict=True)
    )


SIGNS = frozenset({"=", "<", ">", "%", "?", "==", "≡", "⊑", "⊒"})


@dataclass(frozen=True)
class Layout:
    """The requested columns, `places` among `width`; lines up to `header_line` (0: none) are not rows.

    A relation between the ends of links, where there is one, is the last of the places.
    """

    separator: str
    places: tuple[int, ...]
    width: int
    header_line: int = 0


def find_layout(path: Path, head: Head, kind: str, headers: Headers, *, links: bool = False) -> Layout:
    """Find the layout by a known header; else all columns, of which links may have more if these are measures."""
    for separator, number, names in possible_headers(kind, head):
        if places := find_header(names, headers):
            check_names(path, number, names, places, separator)
            of_links = enumerate(map(normalise_header, names)) if links else ()
            also = [place for place, name in of_links if name in RELATIONS and place not in places]
            return Layout(separator, (*places, *also[:1]), len(names), number)
    for separator, number, names in possible_headers(kind, head) if headers is TRIPLE_HEADERS else ():
        if len(names) > 2 and find_header(names, EDGE_HEADERS):
            raise no_relation_error(path, number, separator.join(names))
    n, (own, *_) = len(headers[0]), (separators := possible_separators(kind, head))
    rows = {one: [split_line(line, one) for line in head.lines] for one in separators}
    separator = next((one for one in separators[1:] if _is_better(rows[one], rows[own], one, n)), own)
    if links and (more := _find_measures(rows[separator], n)) is not None:
        return Layout(separator, (0, 1, *more), len(rows[separator][0]))
    _check_width(path, {len(row) for row in rows[separator]}, n, links)
    return Layout(separator, tuple(range(n)), n)


def no_relation_error(path: Path, line: int | None, header: str) -> UnreadableError:
    todo = "Name that column relation, or add one with the same word in each row."
    return UnreadableError(path, line, header, "no column gives the relation:", todo)


def check_names(path: Path, line: int | None, names: Sequence[str], places: Sequence[int], separator: str) -> None:
    """Raise an error unless each requested column has a name of its own."""
    if name := repeated_name(names, places):
        raise UnreadableError(path, line, separator.join(names), f"two columns named {name}:", "Name each column once.")


def _check_width(path: Path, widths: set[int], n: int, links: bool) -> None:
    """Say once that all rows are as wide as another kind of table."""
    if links and n > 2:
        raise UnreadableError(path, None, "", "no measures", "Name their column: confidence.")
    if links and len(widths) == 1 and max(widths) > n:
        as_graph = ", as a graph has," if widths == {3} else ""
        what = f"{max(widths)} columns{as_graph} and no header that says which two are the links"
        todo = "Name them in a first line, source and target; or name the file of links."
        raise UnreadableError(path, None, "", what, todo)
    if n == 3 and widths == {2}:
        todo = "Name a file of head, relation and tail; if each row is an entity, name the column of its ids id."
        raise UnreadableError(path, None, "", "2 columns, as links have, where a graph needs 3", todo)


def possible_headers(kind: str, head: Head) -> Iterator[tuple[str, int, list[str]]]:
    """Yield (separator, line, names) of the comments at the beginning and the first line after them."""
    for separator in possible_separators(kind, head):
        for number, line in head.numbered:
            yield separator, number, split_line(line.removeprefix("#"), separator)
            if not line.startswith("#"):
                break


def split_line(line: str, separator: str) -> list[str]:
    """Return the cells of a line; the line as it is if its quotes are broken."""
    if separator == "\t":
        return line.split("\t")
    try:
        return next(csv.reader([line], delimiter=separator), [line])
    except csv.Error:
        return [line]


def _is_better(rows: list[list[str]], own: list[list[str]], separator: str, n: int) -> bool:
    """Return whether this separator makes equal rows, whose first cells the usual one does not divide."""
    widths = {len(row) for row in rows}
    return len(widths) == 1 and max(widths) >= n and all(separator in row[0] for row in own)


def _find_measures(rows: list[list[str]], n: int) -> list[int] | None:
    """Return [] or the position of the relation, if all columns after the second hold measures, relations or kinds.

    Where three columns are requested (n), return the position of the measure.
    """
    widths = {len(row) for row in rows}
    if len(widths) != 1 or max(widths) <= 2:
        return None
    columns = list(zip(*rows, strict=True))[2:]
    signs = [i for i, column in enumerate(columns, 2) if set(column) <= SIGNS]
    numbers = [i for i, column in enumerate(columns, 2) if all(map(_is_number, column))]
    if n > 2:
        return numbers[:1] or None
    return signs[:1] if signs or 2 in numbers else None


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
