"""Texts as sparse rows of character n-grams and words. No torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, diags

NGRAM_LENGTHS = (2, 3, 4)  # of n-grams
_MIX = tuple(np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0xD6E8FEB86659FD93))


def ngram_counts(*sides: Sequence[str], lengths: Sequence[int] = NGRAM_LENGTHS) -> list[csr_matrix]:
    """Count n-grams and words per text: a matrix per side, with the same columns.

    A text is padded with a space at both ends, so that beginnings and ends count. Columns are hashes of 64 bits.
    """
    return _counted(sides, lengths)[0]


def _counted(sides: Sequence[Sequence[str]], lengths: Sequence[int]) -> tuple[list[csr_matrix], np.ndarray]:
    """Return (a matrix per side, the key of each column, ascending)."""
    parts = [_grams([f" {text} " for text in texts], lengths) for texts in sides]
    column, known = pd.factorize(np.concatenate([keys for _, keys in parts]), sort=True)
    found, begin = [], 0
    for texts, (rows, keys) in zip(sides, parts, strict=True):
        end = begin + len(keys)
        ones = np.ones(len(keys), dtype=np.float32)
        found.append(csr_matrix((ones, (rows, column[begin:end])), shape=(len(texts), len(known))))
        begin = end
    return found, known


def _grams(texts: Sequence[str], lengths: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return (text number, key) of every n-gram and every word."""
    letters = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    row = np.repeat(np.arange(len(texts), dtype=np.int32), sizes)
    left = np.cumsum(sizes)[row] - np.arange(len(letters))
    parts = [_words(letters, row)]
    for n in lengths:
        size = max(len(letters) - n + 1, 0)
        key: np.ndarray = np.full(size, n, dtype=np.uint64)
        for shift in range(n):
            key = mixed(key + letters[shift : shift + size] * _MIX[1])
        inside = left[:size] >= n
        parts.append((row[:size][inside], key[inside]))
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([keys for _, keys in parts])


def _words(letters: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (text number, key) of every word; texts begin and end with a space."""
    space = letters == ord(" ")
    word, start = np.cumsum(space), np.flatnonzero(space)
    place = (np.arange(len(letters)) - start[word - 1]).astype(np.uint64) if len(start) else word.astype(np.uint64)
    hashed = mixed(letters * _MIX[0] + place * _MIX[2])[~space]
    owner = word[~space]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    return row[~space][first], mixed(np.add.reduceat(hashed, first) if len(first) else hashed)


def mixed(key: np.ndarray) -> np.ndarray:
    """Return a hash of each of the numbers [n], uint64."""
    key = (key ^ (key >> np.uint64(30))) * _MIX[1]
    return (key ^ (key >> np.uint64(27))) * _MIX[0]


def tfidf(*sides: csr_matrix) -> list[csr_matrix]:
    """Return TF-IDF rows of length 1: (1 + log count) log(rows / rows with it), frequencies over all sides together."""
    rarity = _rarity(sides)
    return [_by_rarity(side, rarity) for side in sides]


def _rarity(sides: Sequence[csr_matrix]) -> np.ndarray:
    """Return [columns]: log(rows / rows with it), over all sides together."""
    n = sum(side.shape[0] for side in sides)
    held = sum(np.bincount(side.indices, minlength=side.shape[1]) for side in sides)
    return np.log(n / np.maximum(held, 1)).astype(np.float32)


def _by_rarity(rows: csr_matrix, rarity: np.ndarray) -> csr_matrix:
    data = (1 + np.log(rows.data)) * rarity[rows.indices]
    return sparse_unit_rows(csr_matrix((data, rows.indices, rows.indptr), rows.shape))


class NgramSpace:
    """The n-grams of known texts and their rarity, to turn further texts into rows of the same columns.

    `rows` are the weighted rows of each side. The last column is that of all unknown n-grams: it counts for a row's
    length alone.
    """

    def __init__(self, *sides: Sequence[str], lengths: Sequence[int] = NGRAM_LENGTHS) -> None:
        counted, self.keys = _counted(sides, lengths)
        self.lengths, self.rarity = lengths, _rarity(counted)
        self.unknown = np.float32(np.log(max(sum(map(len, sides)), 1)))  # the rarity of what one text has
        self.rows = [self._with_unknown(_by_rarity(rows, self.rarity)) for rows in counted]

    def _with_unknown(self, rows: csr_matrix) -> csr_matrix:
        return csr_matrix((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], len(self.keys) + 1))

    def rows_of(self, texts: Sequence[str]) -> csr_matrix:
        """Compute the row of each text as if it were one of the known ones: [texts, known n-grams + 1]."""
        (counted,), keys = _counted([texts], self.lengths)
        place = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        is_known = self.keys[place] == keys if len(self.keys) else np.zeros(len(keys), dtype=bool)
        rarity = np.append(self.rarity, self.unknown)[np.where(is_known, place, len(self.keys))]
        found = _by_rarity(counted, rarity)
        columns = np.where(is_known, place, len(self.keys))[found.indices]
        beyond = columns == len(self.keys)
        row = np.repeat(np.arange(len(texts)), np.diff(found.indptr))
        length = np.sqrt(np.bincount(row[beyond], found.data[beyond] ** 2, minlength=len(texts))).astype(np.float32)
        has = np.flatnonzero(length)
        data, rows = np.r_[found.data[~beyond], length[has]], np.r_[row[~beyond], has]
        ends = np.r_[columns[~beyond], np.full(len(has), len(self.keys))]
        return csr_matrix((data, (rows, ends)), shape=(len(texts), len(self.keys) + 1))


def sparse_unit_rows(rows: csr_matrix) -> csr_matrix:
    """Divide each row by its length."""
    return csr_matrix(diags(1 / np.maximum(row_lengths(rows), 1e-12)) @ rows).astype(np.float32)


def row_lengths(rows: csr_matrix) -> np.ndarray:
    return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
