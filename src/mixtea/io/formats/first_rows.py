"""Recognise a header of unknown words: the first row of a link table, where it differs from all others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mixtea.errors import shorten
from mixtea.io.formats.headers import ID_NAME
from mixtea.io.formats.link_tables import LinkTable

TABLE_FORMATS = ("TSV", "CSV")  # formats whose first row may be a header
ID_FIRST = re.compile(r"(?:id|ID|Id)[A-Z_ -][\w -]*")  # idAbt
NUMBERED = re.compile(r"(\D+)(\d)")  # D1
ONE_WORD = re.compile(r"[^\W\d]*")


def can_have_header(table: LinkTable, kind: str) -> bool:
    """Return whether the first line of the file is among the links, and is not the only one."""
    return kind in TABLE_FORMATS and len(table) > 1 and int(table.lines[0]) == 1


def drop_header_link(table: LinkTable) -> LinkTable:
    """Return the links without the first row, and a warning that it is read as a header."""
    words = ", ".join(str(column[0]) for column in table.columns)
    warning = f"{table.path}: line {table.lines[0]}, {shorten(words)}, is read as a header, not as a link"
    return replace(table.where(np.arange(len(table)) > 0), warnings=(*table.warnings, warning))


def is_header(columns: Sequence[np.ndarray]) -> bool:
    """Return whether the first row names columns: its words are plain, in no other row, and different in form.

    They differ where all other cells of a column are numbers or IRIs, where both are called ids and others are more
    than one word, and where they number the sides.

    >>> rows = np.array([["D1", "D2"], ["ab", "cd"]], dtype=object)
    >>> is_header(rows.T), is_header(rows[1:].T)
    (True, False)
    """
    if len(columns[0]) < 2:
        return False
    first, others = [str(column[0]) for column in columns], [column[1:].astype(str) for column in columns]
    if any(_is_plain_id(word) for word in first) or any((column == word).any() for word in first for column in others):
        return False
    if any(all(map(_is_plain_id, column)) for column in others):
        return True
    if all(ID_NAME.fullmatch(word) or ID_FIRST.fullmatch(word) for word in first):
        return any(not ONE_WORD.fullmatch(word) for column in others for word in column)
    return _number_sides(first, others)


def _is_plain_id(word: str) -> bool:
    """Return whether a word is a number or an IRI, with a prefix or in full, and so not a column name."""
    return ":" in word or bool(re.fullmatch(r"-?\d+(?:\.0)?", word.strip()))


def _number_sides(first: Sequence[str], others: Sequence[np.ndarray]) -> bool:
    """Return whether the words are one word with 1 and 2, and no other id begins so."""
    found = [NUMBERED.fullmatch(word) for word in first]
    if not all(found) or [one[2] for one in found if one] != ["1", "2"]:
        return False
    words = {one[1] for one in found if one}
    called = re.compile(re.escape(next(iter(words))) + r"\d")
    return len(words) == 1 and not any(called.match(word) for column in others for word in column)
