"""A column of texts in three arrays, without a Python object a row: every different text is stored once."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 4096  # texts that are Python objects while a column is built


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
        while block := list(islice(left, AT_ONCE)):
            builder.extend(block)
        return builder.column()

    @classmethod
    def coded(cls, texts: Sequence[str], numbers: np.ndarray) -> TextColumn:
        """A row for each of the numbers, which are places in `texts`; of these, some may be equal."""
        column = cls.from_texts(texts)
        return cls(column.data, column.offsets, column.codes[numbers])

    @classmethod
    def joined(cls, columns: Sequence[TextColumn]) -> TextColumn:
        """The rows of all columns, one column after the other."""
        if len(columns) == 1:
            return columns[0]
        data = np.concatenate([_NO_BYTES, *(column.data for column in columns)])
        lengths = np.concatenate([_NO_BYTES, *(np.diff(column.offsets) for column in columns)])
        texts, places = _distinct(data, _ends(lengths)), np.cumsum([0, *(column.n_texts for column in columns)])
        rows = [column.codes + start for column, start in zip(columns, places[:-1], strict=True)]
        codes = texts.codes[np.concatenate([np.empty(0, dtype=np.int64), *rows])]
        return cls(texts.data, texts.offsets, codes).compact()

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

    def tolist(self) -> list[str]:
        """The text of each row; equal ones are one object."""
        texts = self.texts()
        return [texts[code] for code in self.codes.tolist()]

    def take(self, rows: np.ndarray) -> TextColumn:
        """These rows, by number or as a mask. Texts that none of them has stay until `compact`."""
        return TextColumn(self.data, self.offsets, self.codes[rows])

    def compact(self) -> TextColumn:
        """The same rows with no text but theirs, in their order."""
        codes, used = pd.factorize(self.codes)
        if len(used) == self.n_texts and (used[:-1] < used[1:]).all():
            return self
        data, offsets = _arrays(_arrow(self.data, self.offsets).take(_numbers(used)))
        return TextColumn(data, offsets, codes.astype(np.int32))

    def ranks(self) -> np.ndarray:
        """int64 [n_texts]: the place of each text in the order of code points."""
        if not self.n_texts:
            return np.empty(0, dtype=np.int64)
        import pyarrow.compute as pc

        order = pc.array_sort_indices(_arrow(self.data, self.offsets)).to_numpy()
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
        if len(self.waiting) >= AT_ONCE:
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
        return _distinct(np.frombuffer(self.data, np.uint8), _ends(np.frombuffer(self.lengths, np.int64)))


_NO_BYTES = np.empty(0, dtype=np.uint8)


def is_distinct(data: np.ndarray, offsets: np.ndarray) -> bool:
    """Whether no two of the texts are the same."""
    return _distinct(data, offsets).n_texts == len(offsets) - 1


def _ends(lengths: np.ndarray) -> np.ndarray:
    """Offsets of texts of these lengths."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _distinct(data: np.ndarray, offsets: np.ndarray) -> TextColumn:
    """A row for each of the texts, the same code for the same text. Where there is none, Arrow is not needed."""
    if len(offsets) == 1:
        return TextColumn(_NO_BYTES, offsets, np.empty(0, dtype=np.int32))
    found = _arrow(data, offsets).dictionary_encode()
    return TextColumn(*_arrays(found.dictionary), np.array(found.indices.to_numpy(), dtype=np.int32))


def _arrow(data: np.ndarray, offsets: np.ndarray) -> pa.LargeBinaryArray:
    """The texts for Arrow, without a copy."""
    import pyarrow as pa

    buffers = [None, *(pa.py_buffer(np.require(array, requirements=["C", "A"])) for array in (offsets, data))]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def _arrays(texts: pa.LargeBinaryArray) -> tuple[np.ndarray, np.ndarray]:
    """The bytes and the offsets of what Arrow has made, as arrays of our own."""
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, dtype=np.int64)[: len(texts) + 1] if len(texts) else np.zeros(1, dtype=np.int64)
    content = np.frombuffer(data, dtype=np.uint8) if data is not None else _NO_BYTES
    return content[: places[-1]].copy(), places.copy()


def _numbers(values: np.ndarray) -> pa.Array:
    import pyarrow as pa

    return pa.array(values)
