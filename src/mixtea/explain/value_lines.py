"""Values side by side for people: truncated, with what the other side lacks marked, and how they compare. No torch.

Whole words are marked, or letters where no word is shared.
"""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

from mixtea.explain.side_by_side import ALIKE, DIFFERS, LEFT, PENDING, RIGHT, SAME, Row, ShownValue, SideBySide
from mixtea.graph.graph import Graph
from mixtea.messages import visible

Marked = list[tuple[str, bool]]  # parts of a text, and whether the other side does not have them
MAX_COMPARED = 300  # letters of texts that share no word
MIN_SHARED_LETTERS = 0.4  # of two such texts, below which each is marked as a whole
_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+")
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


def mark_differences(left: str, right: str) -> tuple[Marked, Marked]:
    """Split both texts into parts, marked where the other has something else; unlike ones as wholes.

    >>> mark_differences("Sony TV 42", "sony 40 TV")
    ([('Sony TV ', False), ('42', True)], [('sony ', False), ('40', True), (' TV', False)])
    >>> mark_differences("Rome", "Roma")
    ([('Rom', False), ('e', True)], [('Rom', False), ('a', True)])
    """
    ours, theirs = ({_plain(word) for word in _WORD.findall(text)} for text in (left, right))
    if ours & theirs:
        return _by_words(left, theirs), _by_words(right, ours)
    return ([(left, False)], [(right, False)]) if left == right else _by_letters(left, right)


def truncate(parts: Marked, longest: int) -> Marked:
    """Truncate a marked text, with … where something is left out.

    >>> truncate([("Rom", False), ("ania", True)], 5), truncate([("Rome", False)], 5)
    ([('Rom', False), ('an…', True)], [('Rome', False)])
    """
    found: Marked = []
    for text, differs in parts:
        if len(text) > longest:
            return [*found, (f"{text[:longest]}…", differs)]
        found.append((text, differs))
        longest -= len(text)
    return found


def _plain(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def _by_words(text: str, others: set[str]) -> Marked:
    """Mark the words that the other text lacks, and what is between two of them."""
    parts: Marked = []
    end, before = 0, False
    for found in _WORD.finditer(text):
        differs = _plain(found[0]) not in others
        parts += [(text[end : found.start()], before and differs), (found[0], differs)]
        end, before = found.end(), differs
    parts.append((text[end:], False))
    return [
        ("".join(part for part, _ in group), differs)
        for differs, group in groupby([part for part in parts if part[0]], key=lambda part: part[1])
    ]


def _by_letters(left: str, right: str) -> tuple[Marked, Marked]:
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    too_long = max(len(left), len(right)) > MAX_COMPARED + 1
    if not left or not right or too_long or matcher.quick_ratio() < MIN_SHARED_LETTERS:
        return [(left, True)] if left else [], [(right, True)] if right else []
    ours: Marked = []
    theirs: Marked = []
    for kind, a, b, c, d in matcher.get_opcodes():
        ours += [(left[a:b], kind != "equal")] if b > a else []
        theirs += [(right[c:d], kind != "equal")] if d > c else []
    return ours, theirs
