"""A translator learned from links: what a source name would be called on the other side, in closed form. No torch."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix, hstack

from mixtea.compute.ngrams import gram_rows, top_products, unit_rows, weighted

RIDGE = 0.1  # lambda
MOST, FEWEST = 4096, 30  # pairs of names that are learned from
HEARD = 60  # of the pairs, the most alike that make up a translation
GRAMS = 200  # in a translation, at most
ROWS = 2048  # names that are translated at a time


class Translator:
    """z(x) = k(x)^T (K + lambda I)^-1 Y: kernel ridge regression from source names to target names.

    K are the cosines of the n-grams of the known source names (as written and in Latin letters), k(x) those of a name
    with the known ones, Y [p, grams] the known target names. The translation of a known name leaves its own pair out:
    with C = (K + lambda I)^-1 the others weigh -C_ij / C_ii, which is what regression without it would give.
    """

    def __init__(self, raw: list[str], latin: list[str]) -> None:
        (written,) = weighted(*gram_rows(raw, lengths=(1, 2, 3)))
        (sounds,) = weighted(*gram_rows(latin))
        self.names = unit_rows(csr_matrix(hstack([written, sounds])))

    def translations(self, source: np.ndarray, target: np.ndarray, rows: csr_matrix) -> csr_matrix:
        """Rows like `rows`, a translation of each source name, learned from pairs of places (source, target)."""
        source, first = np.unique(source, return_index=True)
        known, given = self.names[source], rows[target[first]]
        inverse = np.linalg.inv((known @ known.T).toarray() + RIDGE * np.eye(len(source), dtype=np.float32))
        own = np.full(self.names.shape[0], -1)
        own[source] = np.arange(len(source))
        parts = []
        for begin in range(0, self.names.shape[0], ROWS):
            weight = (self.names[begin : begin + ROWS] @ known.T).toarray() @ inverse
            mine = own[begin : begin + ROWS]
            here = np.flatnonzero(mine >= 0)
            weight[here] = -inverse[mine[here]] / inverse[mine[here], mine[here]][:, None]
            weight[here, mine[here]] = 0.0
            parts.append(top_products(_largest(weight), given, GRAMS))
        from scipy.sparse import vstack

        return unit_rows(csr_matrix(vstack(parts)))


def _largest(weight: np.ndarray) -> csr_matrix:
    """The HEARD largest of each row, whatever their sign."""
    if weight.shape[1] > HEARD:
        size = np.abs(weight)
        weight[size < np.partition(size, -HEARD, axis=1)[:, -HEARD][:, None]] = 0.0
    return csr_matrix(weight)
