"""What names say of pairs: how alike they are, also in translation, and what that is worth by the links. No torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mixtea.compute.ngrams import alike_rows, products_of_rows
from mixtea.data.checks import check_pairs
from mixtea.data.task import Task
from mixtea.vote import evidence
from mixtea.vote.evidence import Table
from mixtea.vote.name_index import NEAR, Likeness, NameIndex, rank_of
from mixtea.vote.translator import FEWEST, MOST, Translations, Translator

SHARES = (0.0, 0.5, 1.0)  # of a translation's likeness, against that of the names as they are
GROWN = 1.2  # sure pairs that grow by more have the translator learn again
SAME_NAME = 0.5  # from this likeness on, words in brackets tell entities apart
KINDS = 3
EMPTY = np.empty((0, 2), dtype=np.int64)


class NameOpinions:
    """Log-odds of pairs by their names, relative to a pair of which nothing is known."""

    def __init__(self, task: Task) -> None:
        self.task, self.index = task, NameIndex(task.source, task.target)
        self.links = task.train
        self.share, self.learned_from = 0.0, EMPTY
        self._translator: Translator | None = None
        self._set(self.index.likeness)

    def _set(self, found: Likeness) -> None:
        """Take these pairs as the most alike, and see what that is worth."""
        self.found, shape = found, self.index.shape
        level = evidence.levels(found.source, found.target, found.value, self.links, shape)
        has = self.index.sides[0].has[self.links[:, 0]] & self.index.sides[1].has[self.links[:, 1]]
        self.table: Table = evidence.learned(level, found.source, found.target, self.links[has], shape)
        self.level, self.key = level, found.source * shape[1] + found.target
        self.kind = self.index.same_kind(found.source, found.target)
        self.kind_odds = self._kind_odds()

    def _kind_odds(self) -> np.ndarray:
        """[3]: what words in brackets say for a pair of the same name, by the links: shared, different, or missing."""
        found = self.found
        named_alike = found.value >= SAME_NAME
        is_link = evidence.among(found.source, found.target, self.links, self.index.shape[1])
        of_links = np.isin(found.source, self.links[:, 0]) & ~np.isin(found.target, self.links[:, 1])
        true, false = (np.bincount(self.kind[named_alike & part], minlength=KINDS) for part in (is_link, of_links))
        total = np.maximum(true + false, 1)
        prior = (10 * (true + false) / max(total.sum(), 1)) + 1e-3
        shares = [(count + prior) / (count + prior).sum() for count in (true, false)]
        return np.log(shares[0] / shares[1])

    def learn(self, sure: np.ndarray) -> None:
        """The translator learns from the links and the sure pairs [p, 2], where names in two languages need one."""
        pairs = np.concatenate([self.links, sure])
        if len(pairs) <= GROWN * len(self.learned_from) or not self.index.speaks:
            return
        self.learned_from = pairs
        self._translate()

    def _translate(self) -> None:
        """Add the translation's likeness, with the share by which the most links are found first; none if it misleads.

        Links are judged by a translation that does not know them.
        """
        source, target = self._names_that_differ(self.learned_from)
        if len(source) < FEWEST:
            return
        ours = self.index.sides[0]
        if self._translator is None:
            self._translator = Translator(ours.raw, ours.texts)
        told = self._translator.translations(source, target, self.index.rows[1])
        likeness = dict(zip(SHARES, (self.index.likeness, *self._mixed(told)), strict=True))
        hits = {share: self._links_first(found) for share, found in likeness.items()}
        self.share = max(hits, key=lambda share: (hits[share], -share))
        self._set(likeness[self.share])

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

    def _links_first(self, found: Likeness) -> float:
        """How many training links are the most alike of their source, among the targets that are open."""
        is_link = evidence.among(found.source, found.target, self.links, self.index.shape[1])
        is_open = ~np.isin(found.target, self.links[:, 1])
        kept = is_link | is_open
        return float(is_link[kept][rank_of(found.source[kept], found.value[kept]) == 0].sum())

    def proposed(self) -> np.ndarray:
        return np.stack([self.found.source, self.found.target], axis=1)

    def log_odds(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """log P(match | names) / P(match) of each pair; NaN where one of both has no name."""
        n_rivals = max(1, self.index.shape[1] - len(self.links))
        place, there = self._looked_up(source, target)
        odds = self.table.odds[self.level] + self.kind_odds[self.kind] * (self.found.value >= SAME_NAME)
        value = np.where(there, odds[place] if len(odds) else 0.0, self.table.unlike) + np.log(n_rivals)
        ours, theirs = self.index.sides
        return np.where(ours.has[source] & theirs.has[target], value, np.nan)

    def _looked_up(self, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wanted = source * self.index.shape[1] + target
        place = np.minimum(np.searchsorted(self.key, wanted), max(len(self.key) - 1, 0))
        there = self.key[place] == wanted if len(self.key) else np.zeros(len(wanted), dtype=bool)
        return place, there

    def side_by_side(self, source: int, target: int) -> list[tuple[str, str, float, str]]:
        """(source name, target name, likeness, why) of the names of a pair, the most alike first."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        return {"learned_from": self.learned_from}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Learn again from what was learned from, which may be anyone's."""
        pairs = state["learned_from"]
        check_pairs(pairs, self.index.shape)
        if len(pairs):
            self.learned_from = pairs
            self._translate()
