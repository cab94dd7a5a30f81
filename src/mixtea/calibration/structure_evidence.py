"""Learn the weight of structure from sure pairs: those by text, then those by text and structure. No torch, no links.

Two questions are separate, since similar names often have similar neighbours. Of pairs that text finds similar: how
much likelier does structure make them? And of entities that text cannot place: is the pair that structure finds by
itself a match? The second is only asked where most of what structure finds about entities in sure pairs is right.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from mixtea.calibration.calibrator import logistic, sigmoid
from mixtea.compute.scored_pairs import ScoredPairs, are_in, best_rival

SURE_PROBABILITY = 0.9  # from which on a pair shows the weight of structure
HALF_TRUST_PAIRS = 100  # sure pairs by which structure counts half
SCALE_QUANTILE = 0.9  # of the scores of sure pairs, which counts as 1
MIN_STRUCTURE = 1e-6  # above it there is evidence for the pair
SIMILAR_PRIOR = np.array([-1.0, 3.0]), np.array([1.0, 2.0])  # log-odds and spread: of the constant, and of each feature
STRUCTURE_ONLY_PRIOR = np.array([-2.0, 3.0]), np.array([1.0, 1.0])  # the same for pairs that structure finds by itself
CHANCE_SHARE = 0.6  # of what structure finds about known entities that is right by chance
TRUSTED_SHARE = 0.9  # of these right, from which on structure is trusted
PSEUDO_PAIRS = 10  # wrong pairs in addition
STRUCTURE_EM_ROUNDS = 100
MAX_SCALED, MAX_MARGIN = 3.0, 2.0
MAX_LOG_RATIO = 20.0
RATIO_WEIGHT = 0.5  # of log-ratios learned from entities in sure pairs, which are better connected than others
MIN_LEAST_SURE = 100  # sure pairs that show how often structure finds a match


class BestPairs(NamedTuple):
    """Places of pairs that are each other's best by structure, and features [b, 4] of each."""

    place: np.ndarray
    features: np.ndarray


class StructureEvidence(ScoredPairs):
    """Candidate pairs with the columns `structure` [p, k], scores; `rank` [p], the worse of its ranks by text among the
    pairs of its source and of its target; and `probability` [p], how likely they are so far.

    At first pairs are as likely as text makes them, then as text and structure do.
    """

    @cached_property
    def sure(self) -> np.ndarray:
        """Return bool [p]: pairs that are sure so far."""
        return self.probability > SURE_PROBABILITY

    @cached_property
    def scaled(self) -> np.ndarray:
        """Return [p, k]: scores, with 1 as large as they are for most sure pairs."""
        usual = (
            np.quantile(self.structure[self.sure], SCALE_QUANTILE, axis=0)
            if self.sure.any()
            else np.ones(self.structure.shape[1])
        )
        return np.maximum(self.structure, 0.0) / np.maximum(usual, MIN_STRUCTURE)

    @cached_property
    def best_by_text(self) -> np.ndarray:
        """Return bool [p]: pairs that are each other's best by text."""
        return self.rank == 0

    @cached_property
    def found(self) -> np.ndarray:
        """Return bool [p]: mutual best pairs by structure."""
        return self._are_best(np.ones(len(self.source), dtype=bool))

    @cached_property
    def known(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (bool [p], bool [p]): pairs whose source, and whose target, is in a sure pair."""
        ours, theirs = (are_in(line[self.sure], n)[line] for line, n in zip(self.ends, self.shape, strict=True))
        return ours, theirs

    @cached_property
    def around_sure(self) -> BestPairs:
        """Return mutual best pairs by structure, without those that sure pairs rule out."""
        return self._best_pairs(self.sure | ~(self.known[0] & self.known[1]))

    @cached_property
    def share_right(self) -> float:
        """Return the share of what structure finds about entities in sure pairs that is right."""
        found = self.around_sure.place
        n_about = int((self.known[0] | self.known[1])[found].sum())
        return float(self.sure[found].sum() / (n_about + PSEUDO_PAIRS))

    @property
    def trust(self) -> float:
        """Return how far structure is trusted by itself, from 0 to 1."""
        return float(np.clip((self.share_right - CHANCE_SHARE) / (TRUSTED_SHARE - CHANCE_SHARE), 0.0, 1.0))

    def log_odds_of_similar(self) -> np.ndarray:
        """Compute the log-odds [p] that structure adds where text finds two entities similar.

        Examples are the pairs that are each other's best by text; how likely each is so far is regressed on its scores
        (logistic regression with soft labels). Where text rules out what nothing is more similar to, structure shows
        how it looks at entities without a counterpart.
        """
        examples, n = self.sure | self.best_by_text, int(self.sure.sum())
        columns = np.column_stack([np.minimum(self.scaled, 1.0), self.structure > MIN_STRUCTURE, self.found])
        weights = _fit(columns[examples], self.probability[examples], SIMILAR_PRIOR)
        return n**2 / (n**2 + HALF_TRUST_PAIRS**2) * (columns @ np.maximum(weights[1:], 0.0))

    def n_confirmed(self) -> float:
        """Estimate how many more matches there are among the best pairs by text than their probabilities add up to.

        Structure finds a share r of the least sure of the sure pairs, and, with sure pairs hidden, by chance a share c
        of the others that text ranks first or second. Of n further pairs it finds f, so that a share s of these is
        right (capture and recapture):

            f = n (s r + (1 - s) c), so s n = (f - n c) / (r - c)
        """
        if not self.trust:
            return 0.0
        further = self.best_by_text & ~self.sure
        n, f = int(further.sum()), int((further & self.found).sum())
        sure = np.flatnonzero(self.sure)
        least_sure = sure[np.argsort(self.probability[sure], kind="stable")][: max(n, MIN_LEAST_SURE)]
        r = float(self.found[least_sure].mean())
        by_chance = self._are_best(~self.sure)
        second = ~self.sure & (self.known[0] | self.known[1]) & (self.rank <= 1)
        c = float(by_chance[second].sum() / (second.sum() + PSEUDO_PAIRS))
        n_right = min((f - n * c) / max(r - c, MIN_STRUCTURE), n)
        return self.trust * max(n_right - float(self.probability[further].sum()), 0.0)

    def matches_by_structure(self) -> tuple[np.ndarray, np.ndarray]:
        """Find matches of entities in no sure pair by structure alone: places of pairs, and how likely each is.

        Only mutual best pairs are considered. Features of matches are learned from the sure pairs among them, those of
        others from the rest when these are hidden. A share s of the pairs is right, the most likely one by EM, near the
        share that is right of known entities:

            P(match | x) = s r(x) / (s r(x) + 1 - s), with r(x) = P(x | match) / P(x | no match)
        """
        ours, theirs = self.known
        asked = self._best_pairs(~(ours | theirs))
        if not self.trust or not len(asked.place):
            return asked.place[:0], np.empty(0)
        hidden = self._best_pairs(~self.sure)
        right = self.around_sure.features[self.sure[self.around_sure.place]]
        wrong = hidden.features[(ours | theirs)[hidden.place]]
        features, label = np.vstack([right, wrong]), np.r_[np.ones(len(right)), np.zeros(len(wrong))]
        weights = _fit(features, label, STRUCTURE_ONLY_PRIOR)
        base = np.log((len(right) + 1) / (len(wrong) + 1))
        log_ratio = RATIO_WEIGHT * (weights[0] + asked.features @ weights[1:] - base)
        ratio = np.exp(np.clip(log_ratio, -MAX_LOG_RATIO, MAX_LOG_RATIO))
        return asked.place, self.trust * _posterior(ratio, self.share_right)

    def _are_best(self, kept: np.ndarray) -> np.ndarray:
        """Return bool [p]: those of the pairs `kept`, bool [p], that are each other's best by structure."""
        best = np.zeros(len(kept), dtype=bool)
        best[self._best_pairs(kept).place] = True
        return best

    def _best_pairs(self, kept: np.ndarray) -> BestPairs:
        """Find those among the pairs `kept`, bool [p], that are ahead of all rivals, and how far they are ahead."""
        place = np.flatnonzero(kept)
        value = np.minimum(self.scaled, MAX_MARGIN)[place].sum(axis=1)
        ends = (self.source[place], self.target[place])
        ahead = [value - best_rival(line, value, n) for line, n in zip(ends, self.shape, strict=True)]
        best = np.minimum(*ahead) > MIN_STRUCTURE
        features = np.column_stack([np.minimum(value, MAX_SCALED), *(np.minimum(part, MAX_MARGIN) for part in ahead)])
        return BestPairs(place[best], features[best])


def _fit(features: np.ndarray, label: np.ndarray, prior: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Fit the weights of a constant and of each column; labels in [0, 1], the prior that of a constant and a column."""
    columns = np.column_stack([np.ones(len(features)), features])
    (constant, constant_spread), (weight, spread) = prior
    n = features.shape[1]
    return logistic(columns, label, np.r_[constant, np.full(n, weight)], np.r_[constant_spread, np.full(n, spread)])


def _posterior(ratio: np.ndarray, expected: float) -> np.ndarray:
    """Estimate the share of matches by EM, and return how likely each is one, from its likelihood ratio [b].

    The share that is `expected` counts as much as what the ratios show.
    """
    share = expected
    for _ in range(STRUCTURE_EM_ROUNDS):
        probability = share * ratio / (share * ratio + 1 - share)
        share = float(np.clip((probability.mean() + expected) / 2, MIN_STRUCTURE, 1 - MIN_STRUCTURE))
    return sigmoid(np.log(ratio) + np.log(share) - np.log1p(-share))
