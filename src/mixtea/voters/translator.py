"""Translations of names that are learned from pairs of names, by kernel ridge regression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.sparse import csr_matrix, diags, hstack, vstack
from torch import Tensor

from mixtea.compute.ngrams import ngram_counts, row_lengths, sparse_unit_rows, tfidf
from mixtea.compute.similar_rows import all_products, row_products, top_products

RIDGE = 0.1  # lambda
MAX_WEIGHTED_PAIRS = 250  # of the pairs, those that weigh most in a translation
MAX_NGRAMS = 150  # in a translation, at most
NAMES_PER_BLOCK = 2048  # names that are translated at a time


@dataclass(frozen=True, eq=False)
class Translations:
    """A row of target n-grams per source name, of length 1, and the weight of each known pair in it.

    `heard` [names, p] are these weights; `place` [target names] is the pair of which a target name is the known end, -1
    for none. Rows of names that are not translated are empty.
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

    def __init__(self, written: list[str], latin: list[str], device: str = "cpu") -> None:
        rows = [tfidf(*ngram_counts(texts, lengths=n))[0] for texts, n in ((written, (1, 2, 3)), (latin, (2, 3, 4)))]
        self.names, self.device = sparse_unit_rows(csr_matrix(hstack(rows))), device

    def learned_from(self, source: np.ndarray, target: np.ndarray, rows: csr_matrix) -> LearnedTranslator:
        """Learn from index pairs (source, target), of two with the same source from the first."""
        source, first = np.unique(source, return_index=True)
        return LearnedTranslator(self, source, target[first], rows)


class LearnedTranslator:
    """A translator that has learned from pairs of names; `rows` are all target names."""

    def __init__(self, translator: Translator, source: np.ndarray, target: np.ndarray, rows: csr_matrix) -> None:
        self.names, self.device = translator.names, translator.device
        self.source, self.target, self.rows = source, target, rows
        self.own = np.full(self.names.shape[0], -1)
        self.own[source] = np.arange(len(source))

    def translations(self, wanted: np.ndarray) -> Translations:
        """Translate the source names with these numbers."""
        heard = csr_matrix(vstack([_largest(weight) for weight in self.weights(wanted)]))
        found = top_products(heard, self.rows[self.target], MAX_NGRAMS, self.device)
        place = np.full(self.rows.shape[0], -1)
        place[self.target] = np.arange(len(self.target))
        shares = csr_matrix(diags(1 / np.maximum(row_lengths(found), 1e-12)) @ heard)
        found, shares = (_moved(rows, wanted, self.names.shape[0]) for rows in (sparse_unit_rows(found), shares))
        return Translations(found, shares, place)

    def weights(self, wanted: np.ndarray) -> Iterator[Tensor]:
        """Yield [rows, p]: the weight of each known pair in the translations of NAMES_PER_BLOCK names at a time."""
        for begin in range(0, len(wanted), NAMES_PER_BLOCK):
            names = wanted[begin : begin + NAMES_PER_BLOCK]
            mine = self.own[names]
            new, known = np.flatnonzero(mine < 0), np.flatnonzero(mine >= 0)
            weight = self.inverse.new_empty(len(names), len(self.source))
            weight[new] = all_products(self.names[names[new]], self.known, self.device) @ self.inverse
            own = torch.from_numpy(mine[known]).to(weight.device)
            weight[known] = -self.inverse[own] / self.inverse[own, own][:, None]
            weight[known, own] = 0.0
            yield weight

    @cached_property
    def known(self) -> csr_matrix:
        return self.names[self.source]

    @cached_property
    def inverse(self) -> Tensor:
        """Return (K + lambda I)^-1 [p, p]."""
        kernel = all_products(self.known, self.known, self.device)
        kernel.diagonal().add_(RIDGE)
        return torch.cholesky_inverse(torch.linalg.cholesky(kernel))


def _largest(weight: Tensor) -> csr_matrix:
    """Keep the MAX_WEIGHTED_PAIRS largest of each row, whatever their sign."""
    k = min(MAX_WEIGHTED_PAIRS, weight.shape[1])
    place = weight.abs().topk(k, dim=1, sorted=False).indices.sort(dim=1).values
    value = weight.gather(1, place).flatten().cpu().numpy()
    ends = np.arange(len(weight) + 1) * k
    found = csr_matrix((value, place.flatten().cpu().numpy(), ends), shape=tuple(weight.shape))
    found.eliminate_zeros()
    return found


def _moved(rows: csr_matrix, to: np.ndarray, n: int) -> csr_matrix:
    """Return n rows: the i-th of `rows` as row to[i], to ascending, and empty ones."""
    sizes = np.zeros(n, dtype=np.int64)
    sizes[to] = np.diff(rows.indptr)
    return csr_matrix((rows.data, rows.indices, np.r_[0, np.cumsum(sizes)]), shape=(n, rows.shape[1]))
