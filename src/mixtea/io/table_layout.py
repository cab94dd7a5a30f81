"""Find the layout of a text table: its separator, its header, and the requested columns."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mixtea.io.formats.headers import (
    EDGE_HEADERS,
    TRIPLE_HEADERS,
    Headers,
    find_header,
    normalise_header,
    repeated_name,
)
from mixtea.io.head import Head
from mixtea.io.safe.problems import UnreadableError
from mixtea.io.separators import possible_separators

RELATIONS = ("relation", "relationship")
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
    own, *_ = separators = possible_separators(kind, head)
    for separator in separators:
        for number, line in possible_headers(head):
            names = split_line(line.removeprefix("#"), separator)
            if places := find_header(names, headers):
                return _named(path, number, names, places, separator, links)
    n = len(headers[0])
    if headers is TRIPLE_HEADERS:
        _check_edges(path, head, separators)
    rows = {one: [split_line(line, one) for line in head.lines] for one in separators}
    separator = next((one for one in separators[1:] if _is_better(rows[one], rows[own], one, n)), own)
    if links and (more := _find_measures(rows[separator], n)) is not None:
        return Layout(separator, (0, 1, *more), len(rows[separator][0]))
    _check_width(path, {len(row) for row in rows[separator]}, n, links)
    return Layout(separator, tuple(range(n)), n)


def _named(
    path: Path, number: int, names: list[str], places: list[int], separator: str, links: bool
) -> Layout:  # fmt: skip
    check_names(path, number, names, places, separator)
    also = (
        [i for i, name in enumerate(names) if normalise_header(name) in RELATIONS and i not in places] if links else []
    )
    return Layout(separator, (*places, *also[:1]), len(names), number)


def _check_edges(path: Path, head: Head, separators: list[str]) -> None:
    """Say that a header names the ends of edges and no relation."""
    for number, line in possible_headers(head):
        for separator in separators:
            names = split_line(line.removeprefix("#"), separator)
            if len(names) > 2 and find_header(names, EDGE_HEADERS):
                raise no_relation_error(path, number, line)


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


def possible_headers(head: Head) -> list[tuple[int, str]]:
    """Return the comments at the beginning and the first line after them."""
    found = []
    for number, line in head.numbered:
        found.append((number, line))
        if not line.startswith("#"):
            break
    return found


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
