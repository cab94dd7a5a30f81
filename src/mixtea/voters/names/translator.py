"""A translator of names learned from links, in closed form. No torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, diags, hstack, vstack

from mixtea.compute.ngrams import ngram_counts, row_lengths, row_products, sparse_unit_rows, tfidf, top_products

RIDGE = 0.1  # lambda
MAX_NAME_PAIRS, MIN_NAME_PAIRS = 6000, 30  # pairs of names that are learned from
MAX_WEIGHTED_PAIRS = 250  # of the pairs, those that weigh most in a translation
MAX_NGRAMS = 150  # in a translation, at most
NAMES_PER_BLOCK = 2048  # names that are translated at a time


@dataclass(frozen=True, eq=False)
class Translations:
    """A row of target n-grams per source name, of length 1, and the weight of each known pair in it.

    `heard` [names, p] are these weights; `place` [target names] is the pair of which a target name is the known end, -1
    for none.
    """

    rows: csr_matrix
    heard: csr_matrix
    place: np.ndarray

    def likeness(self, target: csr_matrix, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the cosine of the translation of each source name a with the target name b.

        The part of the known pair of b is left out: a name is not likelier because it is the translation of another.
        """
        found = row_products(self.rows, target, a, b)
        known = np.flatnonzero(self.place[b] >= 0)
        found[known] -= np.asarray(self.heard[a[known], self.place[b[known]]]).ravel()
        return found


class Translator:
    """z(x) = k(x)^T (K + lambda I)^-1 Y: kernel ridge regression from source names to target names.

    K are the cosines of the n-grams of the known source names (as written and in Latin letters), k(x) those of a name
    with the known ones, Y [p, grams] the known target names. The translation of a known name leaves its own pair out:
    with C = (K + lambda I)^-1 the others weigh -C_ij / C_ii, which is what regression without it would give.
    """

    def __init__(self, written: list[str], latin: list[str]) -> None:
        rows = [tfidf(*ngram_counts(texts, lengths=n))[0] for texts, n in ((written, (1, 2, 3)), (latin, (2, 3, 4)))]
        self.names = sparse_unit_rows(csr_matrix(hstack(rows)))

    def translations(self, source: np.ndarray, target: np.ndarray, rows: csr_matrix) -> Translations:
        """Translate all source names, learned from index pairs (source, target); `rows` are the target names."""
        source, first = np.unique(source, return_index=True)
        target = target[first]
        heard, parts = [], []
        for weight in self._weights(source):
            heard.append(_largest(weight))
            parts.append(top_products(heard[-1], rows[target], MAX_NGRAMS))
        found, place = csr_matrix(vstack(parts)), np.full(rows.shape[0], -1)
        place[target] = np.arange(len(target))
        shares = csr_matrix(diags(1 / np.maximum(row_lengths(found), 1e-12)) @ vstack(heard))
        return Translations(sparse_unit_rows(found), shares, place)

    def _weights(self, source: np.ndarray) -> Iterator[np.ndarray]:
        """Yield [rows, p]: the weight of each known pair in the translations of NAMES_PER_BLOCK names at a time."""
        known, own = self.names[source], np.full(self.names.shape[0], -1)
        inverse = np.linalg.inv((known @ known.T).toarray() + RIDGE * np.eye(len(source), dtype=np.float32))
        own[source] = np.arange(len(source))
        for begin in range(0, self.names.shape[0], NAMES_PER_BLOCK):
            weight = (self.names[begin : begin + NAMES_PER_BLOCK] @ known.T).toarray() @ inverse
            mine = own[begin : begin + NAMES_PER_BLOCK]
            here = np.flatnonzero(mine >= 0)
            weight[here] = -inverse[mine[here]] / inverse[mine[here], mine[here]][:, None]
            weight[here, mine[here]] = 0.0
            yield weight


def _largest(weight: np.ndarray) -> csr_matrix:
    """Keep the MAX_WEIGHTED_PAIRS largest of each row, whatever their sign."""
    if weight.shape[1] > MAX_WEIGHTED_PAIRS:
        size = np.abs(weight)
        weight[size < np.partition(size, -MAX_WEIGHTED_PAIRS, axis=1)[:, -MAX_WEIGHTED_PAIRS][:, None]] = 0.0
    return csr_matrix(weight)
