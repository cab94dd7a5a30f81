"""Sets of words of many texts as sparse rows; each different word is looked at once. No torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from mixtea.compute.scored_pairs import distinct


class Rows(NamedTuple):
    """A set per text as a row of ones, and its size."""

    held: csr_matrix
    size: np.ndarray


class Numbered(NamedTuple):
    """Things by the number of each different one, -1 for "", and the different ones."""

    codes: np.ndarray
    names: list[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        number: dict[str, int] = {}
        codes = [number.setdefault(text, len(number)) if text else -1 for text in texts]
        return cls(np.array(codes, dtype=np.int64), list(number))


class SplitTexts:
    """The words of the texts of both sides: each different word is looked at once.

    `words` are the different ones, `codes` their numbers in the order of the texts and `row` the text of each, per
    side; `content` are the numbers of what a function makes of each word, -1 for "".
    """

    def __init__(self, texts: Sequence[Sequence[str]], content: Callable[[str], str]) -> None:
        self.n = [len(side) for side in texts]
        split = [[text.split() for text in side] for side in texts]
        flat = [[word for words in side for word in words] for side in split]
        codes, words = pd.factorize(np.array([*flat[0], *flat[1]], dtype=object))
        self.words: list[str] = list(words)
        self.codes = np.split(codes.astype(np.int64), [len(flat[0])])
        sizes = [np.fromiter(map(len, side), dtype=np.int64, count=len(side)) for side in split]
        self.row = [np.repeat(np.arange(len(size)), size) for size in sizes]
        self.content = Numbered.of(map(content, self.words))

    def sets(self, number: np.ndarray, n_items: int) -> tuple[Rows, Rows]:
        """Build the sets of each side, where the words have these numbers, -1 for none."""
        ours, theirs = (
            rows_of(row[kept], found[kept], n, n_items)
            for row, found, n in zip(self.row, (number[codes] for codes in self.codes), self.n, strict=True)
            for kept in [found >= 0]
        )
        return ours, theirs

    def sets_of(self, found: Callable[[str], Sequence[str]], number: dict[str, int] | None = None) -> tuple[Rows, Rows]:
        """Build the sets of what a function finds in each word, by their place in `number` if it is given."""
        number = {} if number is None else number
        items = [[number.setdefault(item, len(number)) for item in found(word)] for word in self.words]
        size = np.fromiter(map(len, items), dtype=np.int64, count=len(items))
        flat, start = np.array([item for own in items for item in own], dtype=np.int64), np.cumsum(size) - size
        sides = []
        for row, codes, n in zip(self.row, self.codes, self.n, strict=True):
            having = np.flatnonzero(size[codes])
            times = size[codes[having]]
            step = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
            columns = flat[np.repeat(start[codes[having]], times) + step]
            sides.append(rows_of(np.repeat(row[having], times), columns, n, len(number)))
        return sides[0], sides[1]

    def last(self, side: int) -> np.ndarray:
        """Return the number of the last word with content of each text, -1 where it has none."""
        found = self.content.codes[self.codes[side]]
        kept = found >= 0
        last = np.full(self.n[side], -1, dtype=np.int64)
        last[self.row[side][kept]] = found[kept]
        return last


def rows_of(row: np.ndarray, column: np.ndarray, n: int, n_items: int) -> Rows:
    """Build the sets of n texts, of which each `row` has the item `column`; each item of a text counts once."""
    m = max(n_items, 1)
    key = distinct(row * m + column)
    size = np.bincount(key // m, minlength=n)
    ones = np.ones(len(key), dtype=np.float32)
    held = csr_matrix((ones, (key % m).astype(np.int32), np.r_[0, np.cumsum(size)]), shape=(n, m))
    return Rows(held, size.astype(np.float32))


def numbered_sets(ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]]) -> tuple[Rows, Rows]:
    """Number the words of both sides alike; each word of a text counts once."""
    number: dict[str, int] = {}
    coded = [[[number.setdefault(word, len(number)) for word in words] for words in side] for side in (ours, theirs)]
    found = []
    for side in coded:
        row = np.repeat(np.arange(len(side)), np.fromiter(map(len, side), dtype=np.int64, count=len(side)))
        column = np.array([code for words in side for code in words], dtype=np.int64)
        found.append(rows_of(row, column, len(side), len(number)))
    return found[0], found[1]
