"""Columns of texts in three arrays, without a Python object per row: every distinct text is stored once."""

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
    """A column of texts: `codes` (int32 [n]) index the distinct texts, in the order of their first occurrence.

    Text k is `data[offsets[k] : offsets[k + 1]]`, in UTF-8; a lone surrogate is encoded like any other character.

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
        """Make a row per text, in UTF-8, of an Arrow array."""
        return _coded(texts)

    @classmethod
    def coded(cls, texts: Sequence[str], numbers: np.ndarray) -> TextColumn:
        """Make a row per number, an index into `texts`, some of which may be equal."""
        column = cls.from_texts(texts)
        return cls(column.data, column.offsets, column.codes[numbers])

    @classmethod
    def concat(cls, columns: Sequence[TextColumn], *, are_compact: bool = False) -> TextColumn:
        """Concatenate the rows of columns; `are_compact` if `compact` would not change any of them."""
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
        """Return the distinct text of a code."""
        return self.data[self.offsets[code] : self.offsets[code + 1]].tobytes().decode("utf-8", "surrogatepass")

    @property
    def n_texts(self) -> int:
        """Return the number of distinct texts."""
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + self.offsets.nbytes + self.codes.nbytes

    def texts(self) -> list[str]:
        """Return the distinct texts, in the order of `codes`."""
        whole, places = self.data.tobytes(), self.offsets.tolist()
        return [whole[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(places)]

    def objects(self) -> np.ndarray:
        """Return the distinct texts as an array of str."""
        found = np.empty(self.n_texts, dtype=object)
        if self.n_texts:
            try:
                found[:] = to_arrow(self.data, self.offsets).cast("large_string").to_numpy(zero_copy_only=False)
            except ValueError:  # half a character
                found[:] = self.texts()
        return found

    def array(self) -> np.ndarray:
        """Return the text per row as an array of str; equal ones are one object."""
        found: np.ndarray = self.objects()[self.codes]
        return found

    def tolist(self) -> list[str]:
        """Return the text per row; equal ones are one object."""
        if len(self) < self.n_texts:
            return [self.text(code) for code in self.codes.tolist()]
        texts = self.texts()
        return [texts[code] for code in self.codes.tolist()]

    def take(self, rows: np.ndarray) -> TextColumn:
        """Select rows, by index or as a mask; unused texts remain until `compact`."""
        return TextColumn(self.data, self.offsets, self.codes[rows])

    def rows_with(self, words: Collection[str]) -> np.ndarray:
        """Return the indices of the rows that hold one of the words."""
        found = np.array([text in words for text in self.texts()], dtype=bool)
        return np.flatnonzero(found[self.codes]) if found.any() else np.empty(0, dtype=np.int64)

    def compact(self) -> TextColumn:
        """Drop unused texts, and order the others by first occurrence."""
        if self.n_texts == 1 and len(self):
            return self
        codes, used = renumber_in_order(self.codes, self.n_texts)
        if len(used) == self.n_texts and (used[:-1] < used[1:]).all():
            return self
        data, offsets = from_arrow(to_arrow(self.data, self.offsets).take(as_arrow(used)))
        return TextColumn(data, offsets, codes)

    def is_among(self, others: TextColumn) -> np.ndarray:
        """Return bool [n_texts]: the texts that `others` has too."""
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
        """Return bool [n_texts]: the texts that are empty or white space."""
        lengths = np.diff(self.offsets)
        found = lengths == 0
        first = np.zeros(self.n_texts, dtype=np.uint8)
        first[~found] = self.data[self.offsets[:-1][~found]]
        for code in np.flatnonzero(MAY_BE_SPACE[first] & ~found).tolist():
            found[code] = not self.text(code).strip()
        return found

    def contain(self, part: str) -> np.ndarray:
        """Return bool [n_texts]: the texts that contain `part`."""
        import pyarrow.compute as pc

        return pc.match_substring(to_arrow(self.data, self.offsets), part).to_numpy(zero_copy_only=False)

    def ranks(self) -> np.ndarray:
        """Return int64 [n_texts]: the rank of each text in the order of code points."""
        if not self.n_texts:
            return np.empty(0, dtype=np.int64)
        import pyarrow.compute as pc

        order = pc.array_sort_indices(to_arrow(self.data, self.offsets)).to_numpy()
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        return ranks


class TextBuilder:
    """A column under construction, text by text, with few Python objects at a time."""

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
        """Return the column; the builder cannot be used again."""
        self._encode_waiting()
        return _distinct(np.frombuffer(self.data, np.uint8), offsets_of(np.frombuffer(self.lengths, np.int64)))


def is_distinct(data: np.ndarray, offsets: np.ndarray) -> bool:
    """Return whether all texts differ."""
    return _distinct(data, offsets).n_texts == len(offsets) - 1


def _distinct(data: np.ndarray, offsets: np.ndarray) -> TextColumn:
    """Make a row per text, with equal codes for equal texts; without texts Arrow is not needed."""
    if len(offsets) == 1:
        return TextColumn(NO_BYTES, offsets, np.empty(0, dtype=np.int32))
    return _coded(to_arrow(data, offsets))


def _coded(texts: pa.LargeBinaryArray) -> TextColumn:
    if is_ascending(texts):
        return TextColumn(*from_arrow(texts), np.arange(len(texts), dtype=np.int32))
    found = texts.dictionary_encode()
    return TextColumn(*from_arrow(found.dictionary), np.array(found.indices.to_numpy(), dtype=np.int32))


def _distinct_among(data: np.ndarray, offsets: np.ndarray, sizes: np.ndarray) -> TextColumn:
    """Do so for groups of these sizes, distinct within each; only texts with a sketch in common are compared."""
    groups = np.split(sketches_of(data, offsets), np.cumsum(sizes)[:-1])
    once, again = sketch_set(NO_BYTES), sketch_set(NO_BYTES)  # 4 MiB each, of which few pages are touched
    for looks in groups:
        again[looks[once[looks]]] = True
        once[looks] = True
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
