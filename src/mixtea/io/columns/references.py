"""Recognise columns that refer to rows of the same table or of another one of the same side, and IRIs of things."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mixtea.graph.literal_columns import id_form
from mixtea.graph.text_column import TextColumn
from mixtea.io.columns import words
from mixtea.io.columns.kinds import DATE
from mixtea.io.formats.cell_values import Column

MIN_TEXTS, MIN_NUMBERS = 0.5, 0.95  # share of the cells that must be ids of a table
MAX_BY_CHANCE = 0.5  # share of all numbers between the least and the greatest cell that are ids anyway
PICTURES = (".jpg", ".jpeg", ".png", ".gif", ".svg", ".pdf", ".mp3", ".mp4", ".html", ".htm")


@dataclass(frozen=True, eq=False)
class RowKey:
    """A column by whose `values` rows can be referred to, and the `ids` of these rows."""

    table: str
    column: str
    values: TextColumn
    ids: TextColumn

    @cached_property
    def by_value(self) -> dict[str, str]:
        """Return the row id of each value."""
        return dict(zip(self.values.tolist(), self.ids.tolist(), strict=True))


def unknown_key(table: str = "") -> RowKey:
    """Return what is referred to where nothing is known of it: ids of rows that need not be there."""
    none = TextColumn.from_texts(())
    return RowKey(table, "", none, none)


def key_referred_to(column: Column, kind: str, keys: Sequence[RowKey], ids: Column) -> RowKey | None:
    """Return the column, of this or another table, whose values a column holds; None if it holds literal values.

    Numbers are references only if the column name suggests it, or if more of them are ids than chance would yield;
    never if they are dates or measures. A column that repeats the `ids` of its own rows refers to nothing; one of IRIs
    refers to entities that need not have rows.
    """
    texts = column.coded
    if not len(texts):
        return None
    counts = np.bincount(texts.codes, minlength=texts.n_texts) / len(texts)
    among = [texts.is_among(key.values) for key in keys]
    shares = [float(counts[found].sum()) for found in among]
    place = max(
        range(len(keys)), key=lambda place: (shares[place], words.is_named_after(column.name, keys[place].table))
    )
    best, most = keys[place], shares[place]
    things = float(counts[among[place] | texts.contain("://")].sum())
    if max(most, things) < MIN_TEXTS or _repeats(column, ids):
        return None
    found = texts.texts()
    if any(id_form(text) == "number" for text in found):
        return best if most >= MIN_NUMBERS and _may_be_ids(column, kind, best) else None
    if most >= MIN_TEXTS and (len(found) == 1 or among[place].sum() > 1):
        return best  # one of several words that happens to be an id refers to nothing
    pages = float(counts[[text.casefold().endswith(PICTURES) for text in found]].sum())
    return unknown_key() if things - pages >= MIN_TEXTS and not words.is_page_word(column.name) else None


def _repeats(column: Column, ids: Column) -> bool:
    """Return whether a column has the ids of its own rows."""
    own = np.full(int(max(column.rows.max(), ids.rows.max(initial=0))) + 1, "", dtype=object)
    own[ids.rows] = ids.texts
    return bool((own[column.rows] == column.texts).mean() >= MIN_TEXTS)


def _may_be_ids(column: Column, kind: str, key: RowKey) -> bool:
    """Return whether numbers that are all ids refer to them: by what the column is called, or as chance is unlikely."""
    if words.is_reference_word(column.name) or words.is_named_after(column.name, key.table):
        return True
    if kind == DATE or words.is_measure_word(column.name):
        return False
    if not column.is_single:
        return True  # lists of measures are rare
    numbers, of_ids = _whole(column.coded.texts()), _whole(key.values.texts())
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    by_chance = ((of_ids >= low) & (of_ids <= high)).sum() / (high - low + 1)
    return len(numbers) > 0 and bool(by_chance <= MAX_BY_CHANCE)


def _whole(texts: Iterable[str]) -> np.ndarray:
    return np.array([int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 18], np.int64)
