"""Learn what structure is worth from the pairs that text alone is sure of. No torch, no links.

Two questions are asked apart, since names that are alike often stand at alike places. Of pairs that text finds similar:
how much likelier does structure make them? And of entities that text cannot place: is the pair that structure finds
by itself a match? The second is only asked where most of what structure finds about entities in sure pairs is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mixtea.match.calibration import logistic, sigmoid
from mixtea.vote.candidate_pairs import best_rival
from mixtea.vote.likeness import rank_of

SURE = 0.9  # probability by text from which on a pair shows what structure is worth
HALF_TRUSTED = 100  # sure pairs by which structure counts half
USUAL = 0.9  # the quantile of the scores of sure pairs that counts as 1
TOUCHED = 1e-6  # a score above it: something speaks for the pair
SIMILAR = np.array([-1.0, 3.0]), np.array([1.0, 2.0])  # log-odds and spread: of the constant, and of each feature
ALONE = np.array([-2.0, 3.0]), np.array([1.0, 1.0])  # the same for pairs that structure finds by itself
CHANCE, TRUSTED = 0.4, 0.7  # shares of what structure finds about known entities that is right: by chance; trusted
PSEUDO_PAIRS = 10  # wrong pairs in addition
EM_ROUNDS = 100
MAX_SCORE, MAX_AHEAD = 3.0, 2.0
LARGEST_LOG_RATIO = 20.0


class BestPairs(NamedTuple):
    """Places of pairs that are each other's best by structure, and features [b, 4] of each."""

    place: np.ndarray
    seen: np.ndarray


@dataclass(frozen=True, eq=False)
class StructureEvidence:
    """Candidate pairs with scores by structure [p, k], log-odds by text [p], and probabilities by text alone [p]."""

    source: np.ndarray
    target: np.ndarray
    scores: np.ndarray
    text: np.ndarray
    by_text: np.ndarray
    shape: tuple[int, int]

    @cached_property
    def sure(self) -> np.ndarray:
        """bool [p]: pairs that text is sure of."""
        return self.by_text > SURE

    @cached_property
    def scaled(self) -> np.ndarray:
        """[p, k]: scores, with 1 as large as they are for most sure pairs."""
        usual = np.quantile(self.scores[self.sure], USUAL, axis=0) if self.sure.any() else np.ones(self.scores.shape[1])
        return np.maximum(self.scores, 0.0) / np.maximum(usual, TOUCHED)

    def of_similar(self) -> np.ndarray:
        """Log-odds [p] that structure adds where text finds two entities similar.

        Examples are the pairs that are each other's best by text; how likely each is by text is regressed on its scores
        (logistic regression with soft labels). Where text rules out what nothing is more similar to, structure shows
        how it looks at entities without a counterpart.
        """
        best = (rank_of(self.source, self.text) == 0) & (rank_of(self.target, self.text) == 0)
        examples, n = self.sure | best, int(self.sure.sum())
        columns = np.hstack([np.minimum(self.scaled, 1.0), self.scores > TOUCHED])
        weights = _fitted(columns[examples], self.by_text[examples], SIMILAR)
        return n**2 / (n**2 + HALF_TRUSTED**2) * (columns @ np.maximum(weights[1:], 0.0))

    def of_others(self) -> tuple[np.ndarray, np.ndarray]:
        """Find matches of entities in no sure pair by structure alone: places of pairs, and how likely each is.

        Only pairs that are each other's best are asked about. What such a match looks like is learned from the sure
        pairs that are each other's best too, what others look like from the rest when these are hidden. A share s of
        the pairs asked about is right, the most likely one by EM:

            P(match | x) = s r(x) / (s r(x) + 1 - s), with r(x) = P(x | match) / P(x | no match)
        """
        known = [np.zeros(n, dtype=bool) for n in self.shape]
        known[0][self.source[self.sure]] = known[1][self.target[self.sure]] = True
        ours, theirs = known[0][self.source], known[1][self.target]
        asked = self._best_pairs(~(ours | theirs))
        everything, hidden = self._best_pairs(self.sure | ~(ours & theirs)), self._best_pairs(~self.sure)
        right = everything.seen[self.sure[everything.place]]
        wrong = hidden.seen[(ours | theirs)[hidden.place]]
        found = self._best_pairs(np.ones(len(self.source), dtype=bool)).place
        share_right = self.sure[found].sum() / ((ours | theirs)[found].sum() + PSEUDO_PAIRS)
        trust = float(np.clip((share_right - CHANCE) / (TRUSTED - CHANCE), 0.0, 1.0))
        if not trust or not len(asked.place):
            return asked.place[:0], np.empty(0)
        seen, label = np.vstack([right, wrong]), np.r_[np.ones(len(right)), np.zeros(len(wrong))]
        weights = _fitted(seen, label, ALONE)
        base = np.log((len(right) + 1) / (len(wrong) + 1))
        log_ratio = weights[0] + asked.seen @ weights[1:] - base
        return asked.place, trust * _posterior(np.exp(np.clip(log_ratio, -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)))

    def _best_pairs(self, kept: np.ndarray) -> BestPairs:
        """Find those among the pairs `kept`, bool [p], that no rival is ahead of, and how far they are ahead."""
        place = np.flatnonzero(kept)
        value = np.minimum(self.scaled, MAX_AHEAD)[place].sum(axis=1)
        ends = (self.source[place], self.target[place])
        ahead = [value - best_rival(line, value, n) for line, n in zip(ends, self.shape, strict=True)]
        best = (np.minimum(*ahead) >= 0) & (value > 0)
        seen = np.column_stack([np.minimum(value, MAX_SCORE), *(np.minimum(part, MAX_AHEAD) for part in ahead)])
        return BestPairs(place[best], seen[best])


def _fitted(seen: np.ndarray, label: np.ndarray, prior: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Fit the weights of a constant and of each column; labels in [0, 1], the prior that of a constant and a column."""
    columns = np.column_stack([np.ones(len(seen)), seen])
    (constant, constant_spread), (weight, spread) = prior
    n = seen.shape[1]
    return logistic(columns, label, np.r_[constant, np.full(n, weight)], np.r_[constant_spread, np.full(n, spread)])


def _posterior(ratio: np.ndarray) -> np.ndarray:
    """Estimate the share of matches by EM, and return how likely each is one, from its likelihood ratio [b]."""
    share = 0.1
    for _ in range(EM_ROUNDS):
        probability = share * ratio / (share * ratio + 1 - share)
        share = float((probability.sum() + 1) / (len(ratio) + PSEUDO_PAIRS + 1))
    return sigmoid(np.log(ratio) + np.log(share) - np.log1p(-share))
