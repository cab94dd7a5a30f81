"""Log-odds of pairs of properties by their domains and ranges, and by which classes are the same. No torch."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, identity

from mixtea.compute.ngrams import row_products
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.graph.task import Task
from mixtea.voters.domain_range.property_ends import VALUE_KINDS, above_kinds, as_ones, property_ends

FITS, RELATED, CLASHES = range(3)  # levels of an end: the same classes, one above the other, the same as others
PSEUDO_EXAMPLES = 10.0  # pairs that the typical shares count for, among matches and among others
MIN_CLASS_BELIEF = 0.01  # in two classes that are counted at all
MAX_LOG_ODDS = 50.0  # of two classes: more changes nothing and would overflow


class LevelShares(NamedTuple):
    """Shares of the levels among pairs that are the same property, and among others with similar names."""

    matched: tuple[float, float, float]
    others: tuple[float, float, float]


CLASS_SHARES = LevelShares((0.62, 0.36, 0.02), (0.1, 0.15, 0.75))
VALUE_SHARES = LevelShares((0.8, 0.15, 0.05), (0.6, 0.25, 0.15))


class End(NamedTuple):
    """One end of properties: of each side, csr [n, c] the classes that it has and csr [c, c] the classes above each."""

    name: str
    members: tuple[csr_matrix, csr_matrix]
    above: tuple[csr_matrix, csr_matrix]
    typical: LevelShares

    @property
    def is_of_values(self) -> bool:
        return self.typical is VALUE_SHARES

    @property
    def sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return [n] of each side: the number of classes of each property at this end."""
        ours, theirs = (np.diff(members.indptr) for members in self.members)
        return ours, theirs

    def levels(self, same: csr_matrix, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return [p, 3]: how likely the ends of each pair fit, are related and clash; the rest to 1 is unknown.

        NaN where one has nothing at this end. `same` [c, c'] is how likely two classes are the same. With A and B the
        classes of both, P(a, B) the sum of P(a is the same as b) over B, and B* all classes above and below those of B:

            fits     = P(A, B) / max(|A|, |B|)
            related  = max(P(A, B*) / |A|, P(B, A*) / |B|) - fits
            clashes  = max(P(A, others) / |A|, P(B, others) / |B|), what is left at the most
        """
        sizes, found = self.sizes, np.full((len(source), 3), np.nan)
        both = (sizes[0][source] > 0) & (sizes[1][target] > 0)
        if not both.any():
            return found
        ends = (source[both], target[both])
        n = [size[own].astype(np.float64) for size, own in zip(sizes, ends, strict=True)]
        counterparts = (csr_matrix(self.members[0] @ same), csr_matrix(self.members[1] @ same.T))
        fits = row_products(counterparts[0], self.members[1], *ends) / np.maximum(*n)
        near, elsewhere = (
            np.maximum(*parts)
            for parts in zip(*(self._near(side, counterparts[side], ends, n[side]) for side in (0, 1)), strict=True)
        )
        near = np.clip(near, fits, 1.0)
        found[both] = np.stack([fits, near - fits, np.minimum(elsewhere, 1 - near)], axis=1)
        return found

    def _near(
        self, side: int, counterparts: csr_matrix, ends: tuple[np.ndarray, np.ndarray], n: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of one side's classes whose counterparts are in line with the other's, and elsewhere."""
        members, above = self.members[1 - side], self.above[1 - side]
        reached = np.unique(counterparts.indices)  # a root has all other classes below it: only these are looked at
        line = as_ones(members @ above[reached].T + csr_matrix(members @ above)[:, reached])
        inside = row_products(counterparts[:, reached], line, ends[side], ends[1 - side]) / n
        everywhere = np.asarray(counterparts.sum(axis=1)).ravel()[ends[side]] / n
        return inside, np.maximum(everywhere - inside, 0.0)


class DomainRangeOpinions:
    """Log-odds of pairs of properties by their ends: domain, range of classes, and range of values.

    A range of values against one of classes is not compared here: types do that (`ObjectProperty`, `DatatypeProperty`).
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.stated = (property_ends(task.source), property_ends(task.target))

    @cached_property
    def ends(self) -> tuple[End, ...]:
        ours, theirs = self.stated
        above, kinds = (ours.above, theirs.above), above_kinds()
        return (
            End("domain", (ours.domain, theirs.domain), above, CLASS_SHARES),
            End("range", (ours.range, theirs.range), above, CLASS_SHARES),
            End("range", (ours.values, theirs.values), (kinds, kinds), VALUE_SHARES),
        )

    @property
    def has_some(self) -> bool:
        """Return whether both graphs have properties with one of these ends."""
        return any(all(members.nnz for members in end.members) for end in self.ends)

    def log_odds(self, believed: Believed, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return [3, p]: log P(level of an end | match) / P(level | no match) of each pair; NaN for no opinion.

        Where the level is not certain, the likelihoods of all levels count as far as each is likely:

            log(sum over levels l of P(l) matched(l) / others(l) + P(not known))
        """
        found = np.full((len(self.ends), len(source)), np.nan)
        for row, end in zip(found, self.ends, strict=True):
            levels = self._levels(end, believed, source, target)
            row[:] = np.log(levels @ self._ratios(end, believed) + 1 - levels.sum(axis=1))
        return found

    def levels(self, believed: Believed, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return [3, p, 3]: per end, how likely the pair fits, is related and clashes there."""
        return np.stack([self._levels(end, believed, source, target) for end in self.ends])

    def _levels(self, end: End, believed: Believed, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        kinds = csr_matrix(identity(len(VALUE_KINDS), dtype=np.float32))
        return end.levels(kinds if end.is_of_values else believed.same, source, target)

    def _ratios(self, end: End, believed: Believed) -> np.ndarray:
        """Return [3]: the ratio of each level's frequency among matches to that among others with similar names.

        Matches are the links; others are the candidates, weighted by the belief that they are not matches: names of
        properties often hold those of their classes, so that ends fit more often where names are alike than anywhere. A
        level that fits less well is never better evidence.
        """
        matched, others = (np.array(shares) * PSEUDO_EXAMPLES for shares in end.typical)
        matched += np.nansum(self._levels(end, believed, *self.task.train.T), axis=0)
        alike = believed.pairs.where(believed.pairs.alike)
        others += np.nansum(self._levels(end, believed, *alike.ends) * (1 - alike.p)[:, None], axis=0)
        return np.minimum.accumulate((matched / matched.sum()) / (others / others.sum()))


class Believed(NamedTuple):
    """Candidates by entity index, with their probability `p` and whether they are `alike`: have similar names.

    `same` [n, m] has these probabilities and the links.
    """

    pairs: ScoredPairs
    same: csr_matrix


def believed_pairs(task: Task, pairs: ScoredPairs, belief: np.ndarray, said: np.ndarray | None) -> Believed:
    """Estimate how likely two entities are the same, from the links and the belief in candidates.

    Parameters
    ----------
    pairs
        Candidates by entity index, with NumPy arrays.
    belief
        How likely each is thought to be. It is shared among the candidates, however bad all of them are, and with few
        links structure decides it without knowing: so it counts only where texts tell nothing.
    said
        Log-odds of each by texts alone, against a pair of which nothing is known; NaN where there are none. To have no
        counterpart is a rival.
    """
    source, target = pairs.ends
    p, alike = np.clip(belief, 0.0, 1.0), np.ones(len(belief), dtype=bool)
    if said is not None:
        odds = np.exp(np.minimum(said - np.log(max(1, task.target.n_entities - len(task.train))), MAX_LOG_ODDS))
        rivals = (np.bincount(line, np.nan_to_num(odds))[line] for line in (source, target))
        p, alike = np.where(np.isnan(said), p, odds / (1 + np.maximum(*rivals))), ~(said <= 0)
    kept = p > MIN_CLASS_BELIEF
    rows, columns = (np.r_[ends[kept], links] for ends, links in zip((source, target), task.train.T, strict=True))
    values = np.r_[p[kept], np.ones(len(task.train))].astype(np.float32)
    same = csr_matrix((values, (rows, columns)), shape=task.joint_index.shape)
    return Believed(pairs.with_columns(p=p, alike=alike), same)
