"""Find the separator of a text table: the user's, a usual sign, or any sign that fits."""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from mixtea.errors import DataError
from mixtea.io.head import MAX_HEAD_LINES, Head
from mixtea.io.safe.problems import UnreadableError

USUAL_SEPARATORS = (",", ";", "\t", "|")
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars (|)", " ": "spaces"}
TAB = ("tab", "\\t")  # how a shell lets people write it
PREFERRED_SEPARATORS = "#%^~:"
SEPARATOR_CATEGORIES = frozenset(
    {"Po", "Sm", "So", "Sk", "Sc", "Cc"}
)  # no brackets, dashes, quotation marks, underscores
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
        if (rows := first_rows(head, sign)) and is_even(rows) and not (sign == ":" and _has_prefixes(rows)):
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


def is_even(rows: list[list[str]]) -> bool:
    """Return whether all rows have the same number of columns, two at least."""
    return len(rows) > 1 and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1


def _is_mostly_even(rows: list[list[str]]) -> bool:
    n = len(rows[0]) if rows else 0
    return n > 1 and sum(len(row) == n for row in rows) >= MIN_EVEN_ROWS * len(rows)


def _has_prefixes(rows: list[list[str]]) -> bool:
    """Return whether colons belong to IRIs, with a prefix or in full."""
    return any(cell.startswith("//") for row in rows for cell in row) or any(
        len(set(column)) == 1 for column in zip(*rows, strict=True)
    )
