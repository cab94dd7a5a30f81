"""Log-odds of pairs by their names: similarity, also in translation, words, brackets and types. No torch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mixtea.compute.ngrams import row_products, similar_rows
from mixtea.compute.scored_pairs import ScoredPairs, are_in, distinct, rank_within
from mixtea.graph.task import Task
from mixtea.voters.candidate_pairs import Feature
from mixtea.voters.names.disambiguation import DIFFERENT, SHARED, are_properties, one_has_a_kind, same_kind
from mixtea.voters.names.index import DETAILS, NameIndex
from mixtea.voters.names.translator import MAX_NAME_PAIRS, MIN_NAME_PAIRS, Translations, Translator
from mixtea.voters.similarity import CANDIDATES_PER_ENTITY, SimilarityOpinions

TRANSLATION_SHARES = (0.0, 0.5, 1.0)  # of a translation's likeness, against that of the names as they are
MIN_TRANSLATION_GAIN = 0.01  # of the links, that a translation must find first beside those that names find
MIN_SAME_NAME = 0.5  # from this similarity on, words in brackets and types tell entities apart
DISAMBIGUATION = ("brackets", "types")
NAME_FEATURES = (
    DETAILS[0], Feature("equal", 0.0, 2.0), *DETAILS[1:],
    Feature("brackets_differ", -1.5, 0.7), Feature("brackets_shared", 0.7, 0.5),
    Feature("types_differ", -4.0, 1.0), Feature("types_shared", 0.3, 0.5),
    Feature("brackets_missing", -1.0, 0.7),  # of one of both, where both graphs use them
    Feature("properties", -2.0, 1.0),  # names of properties are generic: those of different ones are often equal
)  # fmt: skip


class NameOpinions(SimilarityOpinions):
    """Log-odds of pairs by their names; `share` is the weight of a translation, 0 where it does not help."""

    FEATURES = NAME_FEATURES

    def __init__(self, task: Task, index: NameIndex | None = None) -> None:
        super().__init__(task)
        self.index = index or NameIndex(task.source, task.target, task.synonyms)
        self.has = (self.index.sides[0].has, self.index.sides[1].has)
        self.share = 0.0

    def initial_pairs(self) -> ScoredPairs:
        return self.index.likeness

    def relearned_pairs(self, pairs: np.ndarray) -> ScoredPairs | None:
        """Return pairs with a translation, in the share that ranks the most links first; None if it misleads.

        Links are judged by a translation that did not learn from them.
        """
        source, target = self._names_that_differ(pairs)
        if len(source) < MIN_NAME_PAIRS:
            return None
        told = self.translator.translations(source, target, self.index.rows[1])
        likeness = dict(zip(TRANSLATION_SHARES, (self.index.likeness, *self._mixed(told)), strict=True))
        judged_by = self.links if len(self.links) else pairs
        hits = {share: _found_first(found, judged_by) for share, found in likeness.items()}
        best = max(hits, key=lambda share: (hits[share], -share))
        self.share = (
            best if hits[best] - hits[0.0] >= max(MIN_NAME_PAIRS, MIN_TRANSLATION_GAIN * len(judged_by)) else 0.0
        )
        return likeness[self.share]

    @cached_property
    def translator(self) -> Translator:
        return Translator(self.index.sides[0].raw, self.index.sides[0].texts)

    def _names_that_differ(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices of the names of pairs that are not equal, MAX_NAME_PAIRS at most."""
        ours, theirs = self.index.sides
        source, target = ours.first[pairs[:, 0]], theirs.first[pairs[:, 1]]
        equal = self.index.equal[np.maximum(source, 0)] == target
        kept = np.flatnonzero((source >= 0) & (target >= 0) & ~equal)
        if len(kept) > MAX_NAME_PAIRS:
            kept = kept[np.linspace(0, len(kept) - 1, MAX_NAME_PAIRS).astype(np.int64)]
        return source[kept], target[kept]

    def _mixed(self, told: Translations) -> Iterator[ScoredPairs]:
        """Yield (likeness + share * likeness of the translation) / (1 + share), over the most similar by either."""
        first, second = self.index.rows
        m = second.shape[0]
        parts = [similar_rows(rows, second, CANDIDATES_PER_ENTITY) for rows in (first, told.rows)]
        key = distinct(np.concatenate([a * m + b for a, b in parts]))
        a, b = key // m, key % m
        plain, other = row_products(first, second, a, b), told.likeness(second, a, b)
        for share in TRANSLATION_SHARES[1:]:
            yield self.index.of_texts(a, b, (plain + share * other) / (1 + share))

    @cached_property
    def columns(self) -> np.ndarray:
        """Return similarity, equality, words and kinds, which tell a film from an album of the same name."""
        (source, target), value = self.found.ends, self.found.value
        if "details" not in self.found.columns:  # nothing to compare
            return np.empty((0, len(self.FEATURES)))
        details = self.found.details
        kinds = [same_kind(*self.index.kinds[name], source, target) for name in DISAMBIGUATION]
        similar = details[:, 0] >= MIN_SAME_NAME
        told = [(kind == which) & similar for kind in kinds for which in (DIFFERENT, SHARED)]
        missing = one_has_a_kind(*self.index.kinds["brackets"], source, target) & self.index.uses_brackets
        told.append(missing & similar)
        properties = are_properties(self.task.source)[source] & are_properties(self.task.target)[target]
        return np.column_stack([details[:, 0], value >= 1, details[:, 1:], *told, properties]).astype(np.float64)

    def log_odds(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return log-odds; NaN where both have a name that too many share."""
        value = super().log_odds(source, target)
        ours, theirs = self.index.crowded
        silent = ours[source] & theirs[target] & ~self.found.find(source, target)[1]
        return np.where(silent, np.nan, value)

    def learn(self, sure: np.ndarray) -> None:
        super().learn(sure)
        if "found" not in self.__dict__:
            self.share = 0.0


def _found_first(found: ScoredPairs, links: np.ndarray) -> float:
    """Count the links that are the most similar of their source, among the targets without a link."""
    is_link = found.are_among(links)
    kept = is_link | ~are_in(links[:, 1], found.shape[1])[found.target]
    return float(is_link[kept][rank_within(found.source[kept], found.value[kept]) == 0].sum())
