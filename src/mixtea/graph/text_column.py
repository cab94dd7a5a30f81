"""A column of texts in three arrays, without a Python object a row: every different text is stored once."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from mixtea.graph.text_arrays import (
    NO_BYTES,
    are_in,
    as_arrow,
    from_arrow,
    is_ascending,
    offsets_of,
    renumber_in_order,
    sketch_set,
    sketches_of,
    to_arrow,
)

if TYPE_CHECKING:
    import pyarrow as pa

TEXTS_PER_BLOCK = 4096  # texts that are Python objects while a column is built
COMPARE_ALL_SHARE = 0.5  # of the texts look like another one: then all are compared
MAY_BE_SPACE = np.isin(np.arange(256), [*b" \t\n\r\f\v\x1c\x1d\x1e\x1f", 0xC2, 0xE1, 0xE2, 0xE3])  # first bytes


@dataclass(frozen=True, eq=False)
class TextColumn:
    """`codes` (int32 [n]) say which text each row has; text k is `data[offsets[k] : offsets[k + 1]]`, in UTF-8.

    The texts are in the order in which the rows bring them. A lone surrogate is encoded like any other character.

    >>> column = TextColumn.from_texts(["NA", "1e5", "NA"])
    >>> column[2], column.texts(), column.codes.tolist()
    ('NA', ['NA', '1e5'], [0, 1, 0])
    """

    data: np.ndarray
    offsets: np.ndarray
    codes: np.ndarray

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> TextColumn:
        builder, left = TextBuilder(), iter(texts)
        while block := list(islice(left, TEXTS_PER_BLOCK)):
            builder.extend(block)
        return builder.column()

    @classmethod
    def of_arrow(cls, texts: pa.LargeBinaryArray) -> TextColumn:
        """Return a row for each of the texts, in UTF-8, that Arrow has read."""
        return _coded(texts)

    @classmethod
    def coded(cls, texts: Sequence[str], numbers: np.ndarray) -> TextColumn:
        """A row for each of the numbers, which are places in `texts`; of these, some may be equal."""
        column = cls.from_texts(texts)
        return cls(column.data, column.offsets, column.codes[numbers])

    @classmethod
    def concat(cls, columns: Sequence[TextColumn], *, are_compact: bool = False) -> TextColumn:
        """The rows of all columns, one column after the other; `are_compact` if each is as `compact` gives it."""
        if len(columns) == 1:
            return columns[0]
        columns = columns if are_compact else [column.compact() for column in columns]
        data = np.concatenate([NO_BYTES, *(column.data for column in columns)])
        lengths = np.concatenate([NO_BYTES, *(np.diff(column.offsets) for column in columns)])
        places = np.cumsum([0, *(column.n_texts for column in columns)])
        texts = _distinct_among(data, offsets_of(lengths), np.diff(places))
        rows = [column.codes + np.int32(start) for column, start in zip(columns, places[:-1], strict=True)]
        codes = np.concatenate([np.empty(0, dtype=np.int32), *rows])
        if texts.n_texts == places[-1]:  # no text of two columns
            return cls(texts.data, texts.offsets, codes)
        return cls(texts.data, texts.offsets, texts.codes[codes]).compact()

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str:
        return self.text(self.codes[row])

    def text(self, code: int) -> str:
        """Return the text of a number among the different ones."""
        return self.data[self.offsets[code] : self.offsets[code + 1]].tobytes().decode("utf-8", "surrogatepass")

    @property
    def n_texts(self) -> int:
        """How many different texts there are."""
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + self.offsets.nbytes + self.codes.nbytes

    def texts(self) -> list[str]:
        """The different texts, as `codes` number them."""
        whole, places = self.data.tobytes(), self.offsets.tolist()
        return [whole[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(places)]

    def objects(self) -> np.ndarray:
        """The different texts as an array of str."""
        found = np.empty(self.n_texts, dtype=object)
        if self.n_texts:
            try:
                found[:] = to_arrow(self.data, self.offsets).cast("large_string").to_numpy(zero_copy_only=False)
            except ValueError:  # half a character
                found[:] = self.texts()
        return found

    def array(self) -> np.ndarray:
        """The text of each row as an array of str; equal ones are one object."""
        found: np.ndarray = self.objects()[self.codes]
        return found

    def tolist(self) -> list[str]:
        """The text of each row; equal ones are one object."""
        if len(self) < self.n_texts:
            return [self.text(code) for code in self.codes.tolist()]
        texts = self.texts()
        return [texts[code] for code in self.codes.tolist()]

    def take(self, rows: np.ndarray) -> TextColumn:
        """These rows, by number or as a mask. Texts that none of them has stay until `compact`."""
        return TextColumn(self.data, self.offsets, self.codes[rows])

    def rows_with(self, words: Collection[str]) -> np.ndarray:
        """The numbers of the rows that hold one of the words."""
        found = np.array([text in words for text in self.texts()], dtype=bool)
        return np.flatnonzero(found[self.codes]) if found.any() else np.empty(0, dtype=np.int64)

    def compact(self) -> TextColumn:
        """The same rows with no text but theirs, in their order."""
        if self.n_texts == 1 and len(self):
            return self
        codes, used = renumber_in_order(self.codes, self.n_texts)
        if len(used) == self.n_texts and (used[:-1] < used[1:]).all():
            return self
        data, offsets = from_arrow(to_arrow(self.data, self.offsets).take(as_arrow(used)))
        return TextColumn(data, offsets, codes)

    def is_among(self, others: TextColumn) -> np.ndarray:
        """bool [n_texts]: which texts are one of the others'."""
        theirs = sketches_of(others.data, others.offsets)
        found: np.ndarray = sketch_set(theirs)[sketches_of(self.data, self.offsets)]
        if found.any():
            texts = to_arrow(self.data, self.offsets).filter(as_arrow(found))
            known = to_arrow(others.data, others.offsets)
            if len(texts) < len(known):  # the smaller of the two becomes a table
                known = known.filter(are_in(known, texts))
            found[found] = are_in(texts, known).to_numpy(zero_copy_only=False)
        return found

    def are_blank(self) -> np.ndarray:
        """bool [n_texts]: which texts are empty, or nothing but spaces."""
        lengths = np.diff(self.offsets)
        found = lengths == 0
        first = np.zeros(self.n_texts, dtype=np.uint8)
        first[~found] = self.data[self.offsets[:-1][~found]]
        for code in np.flatnonzero(MAY_BE_SPACE[first] & ~found).tolist():
            found[code] = not self.text(code).strip()
        return found

    def contain(self, part: str) -> np.ndarray:
        """bool [n_texts]: which texts have this in them."""
        import pyarrow.compute as pc

        return pc.match_substring(to_arrow(self.data, self.offsets), part).to_numpy(zero_copy_only=False)

    def ranks(self) -> np.ndarray:
        """int64 [n_texts]: the place of each text in the order of code points."""
        if not self.n_texts:
            return np.empty(0, dtype=np.int64)
        import pyarrow.compute as pc

        order = pc.array_sort_indices(to_arrow(self.data, self.offsets)).to_numpy()
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        return ranks


class TextBuilder:
    """A column that grows by one text after the other; few of them are Python objects at a time."""

    def __init__(self) -> None:
        self.data, self.lengths = bytearray(), array("q")
        self.waiting: list[str] = []

    def append(self, text: str) -> None:
        self.waiting.append(text)
        if len(self.waiting) >= TEXTS_PER_BLOCK:
            self._encode_waiting()

    def extend(self, texts: Iterable[str]) -> None:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        self.data += b"".join(encoded)
        self.lengths.extend(map(len, encoded))

    def _encode_waiting(self) -> None:
        self.extend(self.waiting)
        self.waiting.clear()

    def column(self) -> TextColumn:
        """What has been appended; the builder is of no use after that."""
        self._encode_waiting()
        return _distinct(np.frombuffer(self.data, np.uint8), offsets_of(np.frombuffer(self.lengths, np.int64)))


def is_distinct(data: np.ndarray, offsets: np.ndarray) -> bool:
    """Whether no two of the texts are the same."""
    return _distinct(data, offsets).n_texts == len(offsets) - 1


def _distinct(data: np.ndarray, offsets: np.ndarray) -> TextColumn:
    """A row for each of the texts, the same code for the same text. Where there is none, Arrow is not needed."""
    if len(offsets) == 1:
        return TextColumn(NO_BYTES, offsets, np.empty(0, dtype=np.int32))
    return _coded(to_arrow(data, offsets))


def _coded(texts: pa.LargeBinaryArray) -> TextColumn:
    if is_ascending(texts):
        return TextColumn(*from_arrow(texts), np.arange(len(texts), dtype=np.int32))
    found = texts.dictionary_encode()
    return TextColumn(*from_arrow(found.dictionary), np.array(found.indices.to_numpy(), dtype=np.int32))


def _distinct_among(data: np.ndarray, offsets: np.ndarray, sizes: np.ndarray) -> TextColumn:
    """The same of groups of so many texts, distinct in each; only those that look like some of another are compared."""
    groups = np.split(sketches_of(data, offsets), np.cumsum(sizes)[:-1])
    once, again = sketch_set(NO_BYTES), sketch_set(NO_BYTES)
    for looks in groups:
        here = sketch_set(looks)
        again |= once & here
        once |= here
    alike = np.concatenate([again[looks] for looks in groups])
    if not alike.any():
        return TextColumn(data, offsets, np.arange(len(alike), dtype=np.int32))
    return _distinct(data, offsets) if alike.mean() > COMPARE_ALL_SHARE else _without_repeated(data, offsets, alike)


def _without_repeated(data: np.ndarray, offsets: np.ndarray, alike: np.ndarray) -> TextColumn:
    texts, rows = to_arrow(data, offsets), np.flatnonzero(alike)
    among = texts.take(as_arrow(rows)).dictionary_encode().indices.to_numpy()
    _, first = np.unique(among, return_index=True)
    same = np.arange(len(alike))
    same[rows] = rows[first][among]
    is_first = same == np.arange(len(alike))
    codes = (np.cumsum(is_first) - 1)[same]
    return TextColumn(*from_arrow(texts.filter(as_arrow(is_first))), codes.astype(np.int32))
