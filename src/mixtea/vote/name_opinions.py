"""What names say of pairs: how alike they are, also in translation, and what words in brackets add. No torch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mixtea.compute.ngrams import alike_rows, products_of_rows
from mixtea.data.task import Task
from mixtea.vote import evidence
from mixtea.vote.kinds import DIFFERENT, same_kind
from mixtea.vote.likeness import NEAR, Likeness, LikenessOpinions, rank_of
from mixtea.vote.name_index import NameIndex
from mixtea.vote.translator import FEWEST, MOST, Translations, Translator

SHARES = (0.0, 0.5, 1.0)  # of a translation's likeness, against that of the names as they are
HELPS = 0.01  # of the links, that a translation must find first beside those that names find
SAME_NAME = 0.5  # from this likeness on, words in brackets tell entities apart
EXAMPLES = 10.0  # by which what tells things apart is taken to say what is typical


class Kind(NamedTuple):
    """What is typical of kinds: log-odds where one has none, where they differ and where they are shared.

    `less` is likeness, where they differ; `alike` the least likeness at which they tell.
    """

    typical: tuple[float, float, float]
    less: float
    alike: float


KINDS = {
    "brackets": Kind((0.0, -1.5, 0.7), 0.05, SAME_NAME),
    "numbers": Kind((0.0, -2.0, 1.0), 0.1, 0.2),
    "types": Kind((0.0, -4.0, 0.3), 0.15, SAME_NAME),
}


class NameOpinions(LikenessOpinions):
    """Log-odds of pairs by their names; `share` is what a translation counts for, 0 where it does not help."""

    SHARE_POWER = 2.0  # names are alike by chance in more ways than values: words that many share

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.index = NameIndex(task.source, task.target)
        self.has = (self.index.sides[0].has, self.index.sides[1].has)
        self.share = 0.0

    def first_found(self) -> Likeness:
        return self._less_by_kind(self.index.likeness)

    def _less_by_kind(self, found: Likeness) -> Likeness:
        """Somewhat less alike are two of different kinds, so that they do not rival two of the same."""
        value = found.value.copy()
        for name, kind in KINDS.items():
            value -= kind.less * (same_kind(*self.index.kinds[name], found.source, found.target) == DIFFERENT)
        return Likeness(found.source, found.target, np.maximum(value, 0.0))

    def found_again(self, pairs: np.ndarray) -> Likeness | None:
        """With a translation, by the share with which the most links are found first; None if it misleads.

        Links are judged by a translation that does not know them.
        """
        source, target = self._names_that_differ(pairs)
        if len(source) < FEWEST:
            return None
        told = self.translator.translations(source, target, self.index.rows[1])
        likeness = dict(zip(SHARES, map(self._less_by_kind, (self.index.likeness, *self._mixed(told))), strict=True))
        judged_by = self.links if len(self.links) else pairs
        hits = {share: _found_first(found, judged_by, self.shape[1]) for share, found in likeness.items()}
        best = max(hits, key=lambda share: (hits[share], -share))
        self.share = best if hits[best] - hits[0.0] >= max(FEWEST, HELPS * len(judged_by)) else 0.0
        return likeness[self.share]

    @cached_property
    def translator(self) -> Translator:
        return Translator(self.index.sides[0].raw, self.index.sides[0].texts)

    def _names_that_differ(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places of the names of pairs of entities that are not called the same, MOST at the most."""
        ours, theirs = self.index.sides
        source, target = ours.first[pairs[:, 0]], theirs.first[pairs[:, 1]]
        equal = self.index.equal[np.maximum(source, 0)] == target
        kept = np.flatnonzero((source >= 0) & (target >= 0) & ~equal)
        if len(kept) > MOST:
            kept = kept[np.linspace(0, len(kept) - 1, MOST).astype(np.int64)]
        return source[kept], target[kept]

    def _mixed(self, told: Translations) -> Iterator[Likeness]:
        """(likeness + share times that of the translation) / (1 + share), over the most alike by either."""
        first, second = self.index.rows
        m = second.shape[0]
        parts = [alike_rows(rows, second, NEAR) for rows in (first, told.rows)]
        key = np.unique(np.concatenate([a * m + b for a, b in parts]))
        a, b = key // m, key % m
        plain, other = products_of_rows(first, second, a, b), told.likeness(second, a, b)
        for share in SHARES[1:]:
            yield self.index.of_texts(a, b, (plain + share * other) / (1 + share))

    @cached_property
    def odds(self) -> np.ndarray:
        """By likeness, and by kind: a film is no album of the same name, and a class no property."""
        source, target, value = self.found
        is_link = evidence.among(source, target, self.links, self.shape[1])
        other = np.isin(source, self.links[:, 0]) & ~np.isin(target, self.links[:, 1]) & ~is_link
        odds = self.table.odds[self.level]
        for name, kind in KINDS.items():
            alike, shared = value >= kind.alike, same_kind(*self.index.kinds[name], source, target)
            true, false = (np.bincount(shared[alike & part], minlength=3) for part in (is_link, other))
            odds = odds + _told_apart(true, false, np.array(kind.typical))[shared] * alike
        return odds

    def log_odds(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """No opinion where both have a name that too many share: whether they are called the same tells nothing."""
        value = super().log_odds(source, target)
        ours, theirs = self.index.crowded
        silent = ours[source] & theirs[target] & ~self.place(source, target)[1]
        return np.where(silent, np.nan, value)

    def learn(self, sure: np.ndarray) -> None:
        super().learn(sure)
        if "found" not in self.__dict__:
            self.share = 0.0


def _told_apart(true: np.ndarray, false: np.ndarray, typical: np.ndarray) -> np.ndarray:
    """log P(kind | match) / P(kind | no match) from counts of both; what is typical without examples."""
    usual = (true + false + 1.0) / (true + false + 1.0).sum()
    likelier = usual * np.exp(typical)
    shares = [
        (count + EXAMPLES * prior / prior.sum()) / (count.sum() + EXAMPLES)
        for count, prior in ((true, likelier), (false, usual))
    ]
    return np.log(shares[0] / shares[1])


def _found_first(found: Likeness, links: np.ndarray, m: int) -> float:
    """How many links are the most alike of their source, among the targets without a link."""
    is_link = evidence.among(found.source, found.target, links, m)
    kept = is_link | ~np.isin(found.target, links[:, 1])
    return float(is_link[kept][rank_of(found.source[kept], found.value[kept]) == 0].sum())
