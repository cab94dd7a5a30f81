"""Recognise what a column of a table is: an id, a name, a number, a date, a category, a list, or other text.

Columns that refer to rows of a table of the same side depend on its ids too, and IRIs refer to things.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mixtea.graph.literal_columns import id_form
from mixtea.graph.text_column import TextColumn
from mixtea.io.columns import cells
from mixtea.io.columns.cells import MEASURES, is_called, is_named_after, is_number
from mixtea.io.formats.cell_values import Column
from mixtea.text.name_looks import is_not_called_as_names, kind_of_name, share_readable

ID, NAME, TEXT, NUMBER, DATE, CATEGORY, REFERENCE, LIST = COLUMN_KINDS = (
    "id", "name", "text", "number", "date", "category", "reference", "list",
)  # fmt: skip
MAX_SAMPLE = 500  # cells that are looked at
MIN_ALIKE = 0.9  # of the cells must look like dates or numbers
MIN_LISTS, MIN_LISTS_BY_WORD = 0.5, 0.15  # share of cells with several values, also where the name is a plural
MIN_DISTINCT_ID, MIN_DISTINCT_NAME = 0.95, 0.5
MIN_REPEATS, FEW_VALUES = 4.0, 8  # of a category: cells per value; values that need to repeat only once on average
FEW_CELLS, FEW_CLASSES = 100, 20  # as few cells need to repeat only once; classes that have numbers
MAX_CATEGORY_WORDS = 4  # of the median text, unless cells per value are as many as:
MANY_REPEATS = 20
MAX_UNITS = 5
MIN_CODES, MAX_CODE_LENGTH = 10, 4  # of words of one length
MIN_NAMES_BY_LOOK = 0.8  # share filled, distinct and readable of a column of names that is not called so
MAX_NAME_WORDS = 12


@dataclass(frozen=True, eq=False)
class ColumnStats:
    """Statistics of the cells of one column: `n` rows, of which `column` has some."""

    column: Column
    n: int

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def n_distinct(self) -> int:
        return self.column.coded.n_texts

    @property
    def filled(self) -> float:
        """Share of the rows that have a cell."""
        rows = self.column.rows
        return int((np.diff(rows, prepend=-1) > 0).sum()) / self.n if self.n else 0.0

    @property
    def distinct(self) -> float:
        """Share of the cells that are different; 1 where all are."""
        return self.n_distinct / max(len(self.column.rows), 1)

    @cached_property
    def sample(self) -> list[str]:
        """Return cells that are evenly spread over the column."""
        texts = self.column.coded
        return [text.strip() for text in texts.take(np.arange(0, len(texts), len(texts) // MAX_SAMPLE + 1)).tolist()]

    @cached_property
    def median_words(self) -> float:
        return float(np.median([len(text.split()) for text in self.sample]))

    @cached_property
    def readable(self) -> float:
        """Share of the cells that can be names."""
        return share_readable(self.sample) if self.sample else 0.0

    def share(self, check: Callable[[str], object]) -> float:
        """Share of the cells that a function holds for."""
        return sum(map(bool, map(check, self.sample))) / len(self.sample)


def column_kinds(columns: Sequence[Column], n: int, id_place: int | None) -> list[str]:
    """Return the kind of each column of a table with n rows; `id_place` is the column that holds the ids of the rows.

    Where no column is called as names are, one that looks so is the name.
    """
    looks = [ColumnStats(column, n) for column in columns]
    kinds = [ID if place == id_place else column_kind(look) for place, look in enumerate(looks)]
    if NAME not in kinds:
        rest = [place for place, kind in enumerate(kinds) if kind == TEXT and _looks_like_names(looks[place])]
        for place in sorted(rest, key=lambda place: (looks[place].median_words, place))[:1]:
            kinds[place] = NAME
    return kinds


def column_kind(look: ColumnStats) -> str:
    """Return what a column is, by its cells and by what it is called."""
    if not look.sample:
        return TEXT
    if _is_list(look):
        return LIST
    if _is_date(look):
        return DATE
    if _is_id(look):
        return ID
    if look.share(lambda text: text.casefold() in cells.FLAGS) == 1 and not is_called(look.name, MEASURES):
        return CATEGORY
    if _is_number(look):
        return NUMBER
    if cells.is_person_name_word(look.name):
        return NAME
    if _is_category(look):
        return CATEGORY
    is_name = kind_of_name(look.name) is not None and not is_called(look.name, cells.TEXTS)
    return NAME if is_name and look.distinct >= MIN_DISTINCT_NAME and look.readable >= MIN_DISTINCT_NAME else TEXT


def _is_list(look: ColumnStats) -> bool:
    if not look.column.is_single or look.share(cells.is_list) >= MIN_LISTS:
        return True
    least = MIN_LISTS_BY_WORD if cells.is_plural(look.name) else MIN_LISTS
    return cells.list_separator(look.sample, least, trusted=cells.is_plural(look.name)) is not None


def _is_date(look: ColumnStats) -> bool:
    if look.share(cells.is_date) >= MIN_ALIKE:
        return True
    called_so = is_called(look.name, cells.DATES)
    if look.share(cells.is_year) >= MIN_ALIKE:
        are_recent = look.share(lambda text: cells.is_year(text) and text >= cells.EARLIEST_YEAR) == 1
        return called_so or (are_recent and not is_called(look.name, MEASURES))
    forms = (cells.PACKED_DATE.fullmatch, lambda text: cells.is_date(text) or cells.is_year(text), is_number)
    return called_so and any(look.share(form) >= MIN_ALIKE for form in forms)


def _is_id(look: ColumnStats) -> bool:
    """Return whether cells are distinct, and are IRIs, codes, or called ids."""
    if look.distinct < MIN_DISTINCT_ID:
        return False
    if look.share(cells.is_iri) >= MIN_ALIKE:
        return True
    if cells.is_id_word(look.name):
        return look.median_words <= 1 and not look.share(lambda text: is_number(text) and "." in text)
    return (look.share(cells.is_code) >= MIN_ALIKE or _have_one_length(look)) and not is_called(look.name, MEASURES)


def _is_number(look: ColumnStats) -> bool:
    """Return whether cells measure or count: not few classes, nor houses or phones that have numbers."""
    has_few_units = len({cells.unit_of(text) for text in look.sample}) <= MAX_UNITS
    if look.share(lambda text: is_number(text) or cells.SEVERAL_UNITS.fullmatch(text)) < MIN_ALIKE or not has_few_units:
        return False
    plain = look.share(lambda text: is_number(text) and not cells.unit_of(text)) >= MIN_ALIKE
    few = _is_category(look) and look.n_distinct <= FEW_CLASSES
    is_class = few and (is_called(look.name, cells.CLASSES) or not plain)
    return not is_class and not is_called(look.name, cells.NO_MEASURES)


def _have_one_length(look: ColumnStats) -> bool:
    """Return whether all cells are one short word of the same length, as the codes of countries are."""
    lengths = {len(text) for text in look.sample}
    one_word = look.median_words <= 1 and not look.share(str.isdigit)
    return one_word and len(lengths) == 1 and max(lengths) <= MAX_CODE_LENGTH and len(look.sample) >= MIN_CODES


def _is_category(look: ColumnStats) -> bool:
    """Return whether few different values repeat, long ones often."""
    n = len(look.column.rows)
    is_small, repeats = look.n_distinct <= FEW_VALUES or n < FEW_CELLS, n / look.n_distinct
    enough = repeats >= (2 if is_small else MIN_REPEATS)
    return repeats >= MANY_REPEATS or (enough and look.median_words <= MAX_CATEGORY_WORDS)


def _looks_like_names(look: ColumnStats) -> bool:
    return (
        min(look.filled, look.distinct, look.readable) >= MIN_NAMES_BY_LOOK
        and look.median_words <= MAX_NAME_WORDS
        and not is_not_called_as_names(look.name)
    )


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
    place = max(range(len(keys)), key=lambda place: (shares[place], is_named_after(column.name, keys[place].table)))
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
    return unknown_key() if things - pages >= MIN_TEXTS and not is_called(column.name, cells.PAGES) else None


def _repeats(column: Column, ids: Column) -> bool:
    """Return whether a column has the ids of its own rows."""
    own = np.full(int(max(column.rows.max(), ids.rows.max(initial=0))) + 1, "", dtype=object)
    own[ids.rows] = ids.texts
    return bool((own[column.rows] == column.texts).mean() >= MIN_TEXTS)


def _may_be_ids(column: Column, kind: str, key: RowKey) -> bool:
    """Return whether numbers that are all ids refer to them: by what the column is called, or as chance is unlikely."""
    if cells.is_reference_word(column.name) or is_named_after(column.name, key.table):
        return True
    if kind == DATE or is_called(column.name, MEASURES):
        return False
    if not column.is_single:
        return True  # lists of measures are rare
    numbers, of_ids = _whole(column.coded.texts()), _whole(key.values.texts())
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    by_chance = ((of_ids >= low) & (of_ids <= high)).sum() / (high - low + 1)
    return len(numbers) > 0 and bool(by_chance <= MAX_BY_CHANCE)


def _whole(texts: Iterable[str]) -> np.ndarray:
    return np.array([int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 18], np.int64)
