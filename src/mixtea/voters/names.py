"""The voter `names`: entities with similar names, in any script and, learned from links, in two languages. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mixtea.compute.scored_pairs import ScoredPairs, are_in, distinct, rank_within
from mixtea.compute.similar_rows import row_products, similar_rows
from mixtea.graph.task import Task
from mixtea.graph.text_column import TextColumn
from mixtea.text.names import comparison_form, entity_names
from mixtea.voters.base import Cost, Evidence
from mixtea.voters.candidate_pairs import Feature
from mixtea.voters.disambiguation import DIFFERENT, SHARED, are_properties, one_has_a_kind, same_kind
from mixtea.voters.name_index import DETAILS, NameIndex
from mixtea.voters.similarity import CANDIDATES_PER_ENTITY, SimilarityOpinions, SimilarityVoter

if TYPE_CHECKING:
    from mixtea.voters.translator import Translations, Translator

MAX_NAME_PAIRS, MIN_NAME_PAIRS = 6000, 30  # pairs of names that are learned from
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
MAX_NAMES_SHOWN = 5  # names of an entity in an explanation
MAX_NAMES_COMPARED = 200  # of which the most alike are looked for


class NameOpinions(SimilarityOpinions):
    """Log-odds of pairs by their names; `share` is the weight of a translation, 0 where it does not help."""

    FEATURES = NAME_FEATURES

    def __init__(self, task: Task, index: NameIndex | None = None, device: str = "cpu") -> None:
        super().__init__(task)
        self.index = index or NameIndex.of_task(task, device)
        self.device = self.index.device
        self.has = (self.index.sides[0].has, self.index.sides[1].has)
        self.settled = self.index.settled
        self.share = 0.0

    def initial_pairs(self) -> ScoredPairs:
        return self.index.likeness

    def relearned_pairs(self, pairs: np.ndarray) -> ScoredPairs | None:
        """Return pairs with a translation, in the share that ranks the most links first; None if it misleads.

        Links are judged by a translation that did not learn from them. Only names that look for similar ones are
        translated: first those of the links, and the others if that helps.
        """
        self.share = 0.0
        source, target = self._names_that_differ(pairs)
        if len(source) < MIN_NAME_PAIRS:
            return None
        judged_by, looking = self.links if len(self.links) else pairs, self.index.looking
        needed = max(MIN_NAME_PAIRS, MIN_TRANSLATION_GAIN * len(judged_by))
        judged_by = judged_by[np.isin(self.index.sides[0].first[judged_by[:, 0]], looking[0])]
        if len(judged_by) - _found_first(self.index.likeness, judged_by) < needed:
            return None  # if it found all that are missed, it would still be too few
        learned = self.translator.learned_from(source, target, self.index.rows[1])
        names = np.unique(self.index.sides[0].first[judged_by[:, 0]])
        found = self._mixed(learned.translations(names), TRANSLATION_SHARES, names)
        hits = {share: _found_first(pairs, judged_by) for share, pairs in found.items()}
        best = max(hits, key=lambda share: (hits[share], -share))
        if hits[best] - hits[0.0] < needed:
            return None
        self.share = best
        return self._mixed(learned.translations(looking[0]), [best])[best]

    @cached_property
    def translator(self) -> Translator:
        from mixtea.voters.translator import Translator  # on use: runs are read and explained without torch

        return Translator(self.index.sides[0].raw, self.index.sides[0].texts, self.index.device)

    def _names_that_differ(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices of the names of pairs that are not equal, MAX_NAME_PAIRS at most."""
        ours, theirs = self.index.sides
        source, target = ours.first[pairs[:, 0]], theirs.first[pairs[:, 1]]
        equal = self.index.equal[np.maximum(source, 0)] == target
        kept = np.flatnonzero((source >= 0) & (target >= 0) & ~equal)
        if len(kept) > MAX_NAME_PAIRS:
            kept = kept[np.linspace(0, len(kept) - 1, MAX_NAME_PAIRS).astype(np.int64)]
        return source[kept], target[kept]

    def _mixed(
        self, told: Translations, shares: Sequence[float], names: np.ndarray | None = None
    ) -> dict[float, ScoredPairs]:
        """Return (likeness + share * likeness of the translation) / (1 + share), over the most similar by either.

        If `names` are given, those of the source with these numbers alone, by what they look for.
        """
        (first, second), known = self.index.rows, self.index.similar
        m = max(second.shape[0], 1)
        key, looking = known.first * m + known.second, self.index.looking
        if names is not None:
            key, looking = key[np.isin(known.first, names)], (names, looking[1][:0])
        found = similar_rows(told.rows, second, CANDIDATES_PER_ENTITY, looking=looking, device=self.index.device)
        key = distinct(np.concatenate([key, found.first * m + found.second]))
        a, b = key // m, key % m
        plain, other = row_products(first, second, a, b), told.likeness(second, a, b)
        words = self.index.compare_words(a, b)
        return {share: self.index.of_texts(a, b, (plain + share * other) / (1 + share), words) for share in shares}

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


class Names(SimilarityVoter):
    """Log-odds that two entities are the same by their names; no opinion where one of them has no name."""

    name = "names"
    evidence = "lexical"

    def new_opinions(self) -> NameOpinions:
        return NameOpinions(self.task, device=self.config.device)

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Return the names of both side by side, the most similar first on either side, with their score."""
        weight = self.known.weight_of(self.name, source, target) if self.known is not None else None
        ours, theirs = _most_alike_first(self._names(0, source), self._names(1, target))
        if weight is None or not ours or not theirs:
            return ()
        shown = (", ".join(f"“{name}”" for name in names[:MAX_NAMES_SHOWN]) for names in (ours, theirs))
        return [Evidence(" ~ ".join(shown), weight)]

    def _names(self, side: int, entity: int) -> list[str]:
        owner, texts = self._texts[side]
        return [texts[int(row)] for row in (owner == entity).nonzero()[0]]

    @cached_property
    def _texts(self) -> list[tuple[np.ndarray, TextColumn]]:
        return [entity_names(graph) for graph in (self.task.source, self.task.target)]

    def cost(self) -> Cost:
        n = sum(max(graph.n_entities, len(graph.labels)) for graph in (self.task.source, self.task.target))
        return Cost(mib=n * 4000 / 2**20, products=0.1)


def _most_alike_first(ours: list[str], theirs: list[str]) -> tuple[list[str], list[str]]:
    """Sort names by the cosine with the most similar of the other side, MAX_NAMES_COMPARED per side at most."""
    from mixtea.compute.ngrams import ngram_counts, sparse_unit_rows

    forms = [{name: comparison_form(name) for name in names} for names in (ours, theirs)]
    same = set(forms[0].values()) & set(forms[1].values())
    sides = [
        [name for equal in (True, False) for name, form in of.items() if form and (form in same) is equal][
            :MAX_NAMES_COMPARED
        ]
        for of in forms
    ]
    if not all(sides):
        return [], []
    rows = ngram_counts(*([of[name] for name in side] for of, side in zip(forms, sides, strict=True)))
    alike = (sparse_unit_rows(rows[0]) @ sparse_unit_rows(rows[1]).T).toarray()
    orders = (np.argsort(-alike.max(axis=axis), kind="stable") for axis in (1, 0))
    first, second = ([side[place] for place in order] for side, order in zip(sides, orders, strict=True))
    return first, second
