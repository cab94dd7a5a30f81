"""Values side by side for people: truncated, with one-sided parts marked, and how they compare. No torch."""

from __future__ import annotations

from typing import NamedTuple

from mixtea.explain.marking import Marked, mark_differences, truncate
from mixtea.explain.side_by_side import ALIKE, DIFFERS, LEFT, PENDING, RIGHT, SAME, Row, ShownValue, SideBySide
from mixtea.graph.graph import Graph
from mixtea.messages import visible

SIGNS = {SAME: "=", ALIKE: "≈", DIFFERS: "≠", LEFT: "←", RIGHT: "→", PENDING: "·"}
WORDS = {
    SAME: "equal", ALIKE: "similar", DIFFERS: "different", LEFT: "only source", RIGHT: "only target",
    PENDING: "not compared",
}  # fmt: skip
MAX_COLUMN = 80  # characters of the name of a column
MAX_SHOWN, MAX_TEXT = 200, 20_000  # characters of a value: at first, and when all of it is asked for


class Line(NamedTuple):
    """Two values side by side: how they compare, their columns, and the texts with differences marked.

    `percent` is how similar they are, 0 unless that is what they are; `left_all` and `right_all` are texts that were
    cut, else nothing.
    """

    state: str
    left_by: str
    left: Marked
    right_by: str
    right: Marked
    percent: int = 0
    left_all: Marked = []  # noqa: RUF012
    right_all: Marked = []  # noqa: RUF012

    @property
    def columns(self) -> list[str]:
        """Return the names of both columns, once where they are the same."""
        return [*dict.fromkeys(name for name in (self.left_by, self.right_by) if name)]


def value_lines(compare: SideBySide, source: int, target: int, most: int) -> tuple[list[Line], int]:
    """Return the first values of a pair, and how many there are."""
    rows, n = compare(source, target, most)
    return [line_of(row, compare.task.source, compare.task.target) for row in rows], n


def line_of(row: Row, source: Graph, target: Graph) -> Line:
    """Mark differences where values are similar: of others either all differs, or nothing."""
    left, right = (visible(value.text, MAX_TEXT) if value else "" for value in (row.left, row.right))
    whole = (
        mark_differences(left, right)
        if row.state == ALIKE
        else tuple([(text, False)] if text else [] for text in (left, right))
    )
    short = [truncate(parts, MAX_SHOWN) for parts in whole]
    ours, theirs = (parts if is_cut != parts else [] for parts, is_cut in zip(whole, short, strict=True))
    percent = max(1, min(99, round(100 * row.likeness))) if row.state == ALIKE else 0
    return Line(
        row.state, _column(row.left, source), short[0], _column(row.right, target), short[1], percent, ours, theirs
    )


def _column(value: ShownValue | None, graph: Graph) -> str:
    if value is None:
        return ""
    return visible(graph.shorten(value.column) + (f" @{value.language}" if value.language else ""), MAX_COLUMN)
