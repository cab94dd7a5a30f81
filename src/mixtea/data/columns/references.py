"""Recognise columns that refer to rows of the same table or of another one of the same side, and IRIs of things."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mixtea.data.columns import words
from mixtea.data.columns.kinds import DATE
from mixtea.data.formats.cell_values import Column
from mixtea.data.literals import form

MIN_TEXTS, MIN_NUMBERS = 0.5, 0.95  # share of the cells that must be ids of a table
MAX_BY_CHANCE = 0.5  # share of all numbers between the least and the greatest cell that are ids anyway
PICTURES = (".jpg", ".jpeg", ".png", ".gif", ".svg", ".pdf", ".mp3", ".mp4", ".html", ".htm")


class RowKey(NamedTuple):
    """A column of a table by whose values rows can be referred to: `ids` are the ids of the rows by these."""

    table: str
    column: str
    ids: Mapping[str, str]


THINGS = RowKey("", "", {})


def key_referred_to(column: Column, kind: str, keys: Sequence[RowKey], ids: np.ndarray) -> RowKey | None:
    """Return the column of another table, or of the same, whose values a column holds; None if it holds values.

    Numbers are references only if the column is called so, or if more of them are ids than chance would have it; never
    if they are dates or called as measures are. A column with the ids [n] of its own rows refers to nothing, and one
    of IRIs to things that need not have rows (THINGS).
    """
    codes, unique = column.distinct
    if not len(unique) or (ids[column.rows] == column.texts).mean() >= MIN_TEXTS:
        return None
    counts, texts = np.bincount(codes), unique.tolist()

    def share(found: Iterable[bool]) -> float:
        return float(counts[np.fromiter(found, bool, len(texts))].sum() / len(codes))

    shares = [share(map(key.ids.__contains__, texts)) for key in keys]
    place = max(range(len(keys)), key=lambda place: (shares[place], words.is_called(column.name, keys[place].table)))
    best, most = keys[place], shares[place]
    if any(form(text) == "number" for text in texts):
        return best if most >= MIN_NUMBERS and _may_be_ids(column, kind, best) else None
    if most >= MIN_TEXTS and (len(texts) == 1 or sum(map(best.ids.__contains__, texts)) > 1):
        return best  # one of several words that happens to be an id refers to nothing
    things = share(_is_thing(text) or text in best.ids for text in texts)
    return THINGS if things >= MIN_TEXTS and not words.leads_to_pages(column.name) else None


def _may_be_ids(column: Column, kind: str, key: RowKey) -> bool:
    """Return whether numbers that are all ids refer to them: by what the column is called, or as chance is unlikely."""
    if words.refers(column.name) or words.is_called(column.name, key.table):
        return True
    if kind == DATE or words.measures(column.name):
        return False
    if not column.is_single:
        return True  # lists of measures are rare
    numbers, of_ids = _whole(column.distinct[1].tolist()), _whole(key.ids)
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    by_chance = ((of_ids >= low) & (of_ids <= high)).sum() / (high - low + 1)
    return len(numbers) > 0 and bool(by_chance <= MAX_BY_CHANCE)


def _whole(texts: Iterable[str]) -> np.ndarray:
    return np.array([int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 18], np.int64)


def _is_thing(text: str) -> bool:
    return "://" in text and not text.casefold().endswith(PICTURES)
