"""Match new entities with a finished run by names and values, with what the run has learned. Nothing is trained.

A run's mapping is a matching, and a further source joins it: what a target sends to a new source is how likely it is
that no other has it (compute/matching.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mixtea.calibration.calibrator import logistic, sigmoid
from mixtea.compute.arrays import as_numpy, to_tensor
from mixtea.compute.matching import MAX_LOG_ODDS, shift_for_total
from mixtea.compute.scored_pairs import ScoredPairs, are_in, group_max, pairs_of_keys, scored
from mixtea.council.opinions import sum_views
from mixtea.decide.answers import Answers
from mixtea.decide.decode import StoredOpinions
from mixtea.decide.new_entities import TargetOwners
from mixtea.graph.graph import Graph
from mixtea.graph.task import Task
from mixtea.text.names import is_vocabulary_term, names_from_ids
from mixtea.voters.later import NameLookup, ValueLookup
from mixtea.voters.learned import Learned, LearnedView
from mixtea.voters.log_odds import LearnedWeights, bounded_log_odds_of_new, match_probability
from mixtea.voters.similarity import SimilarityOpinions

LOOKUPS: dict[str, type[NameLookup] | type[ValueLookup]] = {  # voters that can judge new entities
    "names": NameLookup,
    "attributes": ValueLookup,
}
RECALIBRATION = np.array([0.0, 1.0]), np.array([0.7, 0.3])  # expected weights and their spread
MIN_LOG_ODDS = -8.0  # of a match, from which on a pair counts where the constant is learned
ALL_VIEWS = ""  # the key for all evidence, beside those of views
NO_SOURCES = np.empty(0, dtype=np.int64)
MIN_FREE = 0.5  # probability that a target is free, below which it counts as taken
LOGIT_MARGIN = 1e-12  # from 0 and 1, of a probability whose log-odds are taken


class MatchedPairs(NamedTuple):
    """Pairs of new sources and targets, sorted by source; `known` [n] are the sources with something to compare.

    Columns of `pairs` are `probability`, how likely each is a match; `if_free`, how likely it would be if no other
    source had its target; and as scores the log-odds by each view relative to a pair without evidence, NaN for none.
    """

    pairs: ScoredPairs
    known: np.ndarray


def sum_log_odds(pairs: ScoredPairs, weights: Mapping[str, float], n_open: int) -> np.ndarray:
    """Compute the log-odds [p] of a match by the scores of all views; those of a pair without evidence are -log n."""
    found = sum_views({name: to_tensor(odds) for name, odds in pairs.scores.items()}, weights)
    return as_numpy(found.nan_to_num(0.0)) - np.log(n_open)


def open_opinions(task: Task, last: StoredOpinions, names: list[str], temperature: float) -> ScoredPairs:
    """Select the stored pairs without a training link, with log-odds by the views `names` as scores."""
    closed = [are_in(task.closed_entities(side), n) for side, n in enumerate(last.pairs.shape)]
    pairs = last.pairs.where(~(closed[0][last.pairs.source] | closed[1][last.pairs.target]))
    return replace(pairs, columns=scored({name: pairs.scores[name].astype(np.float64) / temperature for name in names}))


def _n_open(task: Task) -> int:
    return max(1, task.target.n_entities - len(task.train))


def learned_text(
    task: Task, last: StoredOpinions | None, answers: Answers, views: Mapping[str, LearnedView], temperature: float
) -> Learned:
    """Learn what the views of a run are worth together, from the run's conclusions about its own entities.

    The constant is such that as many are matched by text as the run has matched of the sources that text covers. How
    often the best pair of a source is right then, as the run sees it, is regressed on its log-odds (Platt scaling).
    """
    names = _usable_views(last, views)
    if last is None or not names:
        return Learned(views)
    found = open_opinions(task, last, names, temperature)
    found = found.with_columns(odds=sum_log_odds(found, last.weights, _n_open(task)))
    found = found.where(found.odds > MIN_LOG_ODDS)
    total = float(answers.ranked.counterpart[np.isin(answers.source_index, found.source)].sum())
    constant, matched = shift_for_total(found, found.odds, total)
    order = np.lexsort((-matched.probability, found.source))
    best = order[np.diff(found.source[order], prepend=-1) > 0]
    right = answers.known().look_up(found.source[best], found.target[best], "probability", 0.0)
    seen = np.stack([np.ones(len(best)), _logit(matched.probability[best])], axis=1)
    a, b = logistic(seen, right, *RECALIBRATION).tolist()
    return Learned(views, tuple(names), float(constant), (a, b))


def _usable_views(last: StoredOpinions | None, views: Mapping[str, LearnedView]) -> list[str]:
    """Return the views that can judge new entities and had an opinion on some pair."""
    held = {} if last is None else last.scores
    return sorted(name for name in views if name in LOOKUPS and name in held and not np.isnan(held[name]).all())


def _logit(probability: np.ndarray) -> np.ndarray:
    p = np.clip(probability, LOGIT_MARGIN, 1 - LOGIT_MARGIN)
    return np.log(p) - np.log1p(-p)


class TextMatcher:
    """Matcher of new sources with the targets of a run; its indexes are made once."""

    def __init__(
        self, task: Task, last: StoredOpinions, answers: Answers, learned: Learned, temperature: float
    ) -> None:
        self.task, self.learned, self.weights = task, learned, last.weights
        found = open_opinions(task, last, sorted(learned.matched_by), temperature)
        self.n_open = _n_open(task)
        self.allowed = np.array([not is_vocabulary_term(str(id)) for id in task.target.ids], dtype=float)
        self.ids_are_names = any(names_from_ids(task.source.ids))
        self.lookups = {name: LOOKUPS[name](task, learned.views[name]) for name in learned.matched_by}
        self.claims = {ALL_VIEWS: answers.known()}  # by view, the run's pairs and how likely each is a match
        for name in learned.matched_by:
            odds = np.nan_to_num(found.scores[name], nan=-np.inf) - np.log(self.n_open)
            share = match_probability(odds, learned.views[name].wrong, task.target.n_entities)
            self.claims[name] = found.with_columns(probability=share)
        self.taken = TargetOwners.of(answers)
        self.given = np.unique(np.concatenate([task.train, task.valid])[:, 1])

    def unmatched(self, without: np.ndarray) -> dict[str, np.ndarray]:
        """Return by view, and for ALL_VIEWS, [m] how likely each target is that of no source but those `without`."""
        m, found = self.task.target.n_entities, {}
        for name, claims in self.claims.items():
            share = np.where(are_in(without, claims.shape[0])[claims.source], 0.0, claims.probability)
            found[name] = np.clip(1 - np.bincount(claims.target, share, minlength=m), 0.0, 1.0)
            found[name][self.given] = 0.0
        return found

    def __call__(self, entities: Graph, *, once: bool = True, without: np.ndarray = NO_SOURCES) -> MatchedPairs:
        """Judge all entities of a graph, each as if it alone were added to the run.

        Where targets are given `once`, what the run has mapped to a target makes it less likely; but not the former
        mappings of the sources `without` [s], which have changed since.
        """
        shape = entities.n_entities, self.task.target.n_entities
        everybody = dict.fromkeys(self.claims, np.ones(len(self.allowed)))
        unmatched = self.unmatched(without) if once else everybody
        opinions = self._opinions(entities)
        pairs = pairs_of_keys(np.concatenate([NO_SOURCES, *(of.found.key for of in opinions.values())]), shape)
        if_free = self._weight(self._with_views(pairs, opinions, everybody), everybody[ALL_VIEWS])
        pairs = self._with_views(pairs, opinions, unmatched)
        weight = self._weight(pairs, unmatched[ALL_VIEWS])
        taken = unmatched[ALL_VIEWS][pairs.target] < MIN_FREE
        probability, if_free = self._probabilities(pairs.source, weight, if_free, taken, shape[0])
        known = np.any([np.zeros(shape[0], dtype=bool), *(of.has[0] for of in opinions.values())], axis=0)
        return MatchedPairs(pairs.with_columns(probability=probability, if_free=if_free), known)

    def _opinions(self, entities: Graph) -> dict[str, SimilarityOpinions]:
        """Return the opinions of each view on the entities; ids are names only if they are so in the run."""
        numbers = np.arange(entities.n_entities).astype(str).astype(object)
        named = entities if self.ids_are_names else replace(entities, ids=numbers)
        none = np.empty((0, 2), dtype=np.int64)
        task = Task.of_two("new", named, self.task.target, none, none, none)
        opinions: dict[str, SimilarityOpinions] = {}
        opinions |= {name: found for name, of in self.lookups.items() if (found := of.opinions(task)) is not None}
        for name, of in opinions.items():
            view = self.learned.views[name]
            of.n_open, of.learned = self.n_open, LearnedWeights(view.weights, view.constant, 0.0)
        return opinions

    def _probabilities(
        self, source: np.ndarray, weight: np.ndarray, if_free: np.ndarray, taken: np.ndarray, n: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute how likely pairs of n sources are from what they weigh: as it is, and if those `taken` were free."""
        others = 1 + np.bincount(source, weight, minlength=n)[source] - weight
        probability = self._calibrated(source, weight / (others + weight), n)
        a, b = self.learned.calibration
        hoped = sigmoid(a + b * np.log(np.maximum(if_free, LOGIT_MARGIN) / others))
        return probability, np.where(taken & (if_free > weight), np.maximum(hoped, probability), probability)

    def _with_views(
        self, pairs: ScoredPairs, opinions: Mapping[str, SimilarityOpinions], unmatched: Mapping[str, np.ndarray]
    ) -> ScoredPairs:
        """Compute the log-odds of pairs by each view, by how likely targets are `unmatched` by others."""
        views = {name: np.full(len(pairs), np.nan) for name in self.learned.matched_by}
        for name, of in opinions.items():
            odds, wrong = of.learned.log_odds(of.columns), self.learned.views[name].wrong
            of.judged = bounded_log_odds_of_new(of.candidates, odds, unmatched[name] * self.allowed, wrong)
            views[name] = of.log_odds(*pairs.ends)
        return pairs.with_columns(**scored(views))

    def _weight(self, pairs: ScoredPairs, unmatched: np.ndarray) -> np.ndarray:
        """Compute what each pair weighs against no match, less where others have its target."""
        odds = sum_log_odds(pairs, self.weights, self.n_open) + self.learned.constant
        return np.exp(np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS)) * (unmatched * self.allowed)[pairs.target]

    def _calibrated(self, source: np.ndarray, probability: np.ndarray, n: int) -> np.ndarray:
        """Correct the best of each source by the calibration; the others have the same share of what is left."""
        a, b = self.learned.calibration
        best = group_max(source, probability, n, 0.0)
        right = sigmoid(a + b * _logit(best))
        left = (1 - right) / np.maximum(1 - best, LOGIT_MARGIN)
        is_best = probability == best[source]
        right = np.minimum(right, 1 / np.maximum(np.bincount(source[is_best], minlength=n), 1))
        return np.where(is_best, right[source] * (probability > 0), probability * left[source])
