"""Unsupervised calibration from two views, text and structure.

Text (names, values, vectors of descriptions) gives log-odds. Pairs of which text is sure show the weight of structure.
Both are added, and a constant is chosen with which as many are matched as have a counterpart by text, and those that
structure confirms beyond. Pairs that are sure by both show the weight of structure better, so this is repeated. Matches
that structure finds by itself come in addition, and a random matching turns log-odds into probabilities that are
consistent: those of an entity add up to at most 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np
import torch
from scipy.special import logit

from mixtea.calibration.calibrator import sigmoid
from mixtea.calibration.structure_evidence import SURE_PROBABILITY, StructureEvidence
from mixtea.compute.arrays import as_numpy
from mixtea.compute.matching import match_greedily, matching, shift_for_total
from mixtea.compute.scored_pairs import ScoredPairs, are_in, rank_within
from mixtea.config import Config
from mixtea.council.opinions import Opinions, calibrated_opinions, independent_log_odds
from mixtea.graph.task import Task
from mixtea.text.names import is_vocabulary_term
from mixtea.voters.base import Voter
from mixtea.voters.candidate_pairs import share_matched
from mixtea.voters.structure import VECTORS_GROUP

MATCHED_PROBABILITY = 0.5  # of a pair beside which further targets are looked for
FURTHER_SHIFTS = (-8.0, 8.0)  # how much more or less likely further targets can become
SHIFT_TOLERANCE = 0.02  # of the constant that is added to all log-odds
STRUCTURE_ROUNDS = 4  # in which text and structure together show the weight of structure
NO_EVIDENCE_WEIGHT = 0.3  # of pairs without evidence in the number that is matched


def has_no_links(task: Task) -> bool:
    """Check whether a task has neither training nor validation links."""
    return not len(task.train) + len(task.valid)


def collect_evidence(opinions: Opinions, voters: Sequence[Voter], task: Task, config: Config) -> PairEvidence:
    """Collect the evidence of text and structure about the candidates of opinions."""
    by_odds, pairs = calibrated_opinions(voters), opinions.pairs
    temperature, log_m = config.sinkhorn_temperature, np.log(max(pairs.shape[1], 1))
    text = independent_log_odds(opinions.scores, voters, opinions.weights)
    comparing = sorted({voter.opinion for voter in voters if voter.is_independent} & opinions.scores.keys())
    views = [_numpy(opinions.scores[name]) / temperature - log_m for name in comparing]
    by_belief = [opinions.scores[name] for name in (by_odds & opinions.scores.keys()) - {*comparing}]
    added = [_numpy(part) / temperature for part in (text, *by_belief) if part is not None]
    others = {name: values for name, values in opinions.scores.items() if name not in by_odds}
    others = {
        name: values for name, values in others.items() if name != VECTORS_GROUP
    } or others  # it has learned the pairs
    structure = np.zeros((len(pairs), len(others)))
    for column, name in enumerate(sorted(others)):
        structure[:, column] = np.nan_to_num(_numpy(others[name]))
    possible = np.ones(len(pairs), dtype=bool)
    for graph, entities in zip((task.source, task.target), pairs.by_entity.ends, strict=True):
        is_thing = np.array([not is_vocabulary_term(str(id)) for id in graph.ids], dtype=bool)
        possible &= is_thing[entities]
    log_odds = np.sum([np.nan_to_num(part) for part in added], axis=0, initial=0.0) - log_m + np.zeros(len(pairs))
    by_view = np.stack(views, axis=1) if views else np.empty((len(pairs), 0))
    columns = {"text": log_odds, "structure": structure, "views": by_view, "possible": possible}
    return PairEvidence(*pairs.numpy().ends, pairs.shape, columns)


def _numpy(values: torch.Tensor) -> np.ndarray:
    return as_numpy(values.double())


class PairEvidence(ScoredPairs):
    """Candidate pairs with the columns `text`, log-odds by all text together; `structure` [p, k], scores by structure;
    and `views` [p, v], log-odds by each view of text.

    A view is NaN where one of both has nothing to compare. Pairs that are not `possible` are never matched.
    """

    @cached_property
    def matchable(self) -> ScoredPairs:
        """Return the possible pairs."""
        return ScoredPairs(*self.ends, self.shape, self.columns).where(self.possible)

    def probability(self, gain_of_several: np.ndarray | None = None) -> np.ndarray:
        """Compute how likely each pair is a match, if a source has one target at most.

        With `gain_of_several` [p], which is added to the log-odds, a source has any number of targets.
        """
        found = matching(self.matchable, self._log_odds).probability
        if gain_of_several is not None:
            odds = self._log_odds + gain_of_several[self.possible]
            odds += self._shift_of_further(found, odds)
            found = matching(self.matchable, odds, several=np.ones(self.shape[0], dtype=bool)).probability
        probability = np.zeros(len(self.possible))
        probability[self.possible] = found
        return probability

    def _shift_of_further(self, probability: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """Return per possible pair what makes as many further targets likely as stand out from those by chance.

        They are looked for beside the best pairs, by their `probability` with one target each: as many sources have one
        as `share_matched` finds among the pairs that are left.
        """
        pairs = self.matchable
        best = match_greedily(pairs, probability) & (probability >= MATCHED_PROBABILITY)
        ours, theirs = (are_in(line[best], n)[line] for line, n in zip(pairs.ends, pairs.shape, strict=True))
        further = np.flatnonzero(ours & ~theirs)
        shift = np.zeros(len(odds))
        if not len(further):
            return shift
        asked = pairs.where(further)
        total = share_matched(asked.source, odds[further]) * len(np.unique(asked.source))
        if total >= 1:
            shift[further], _ = shift_for_total(asked, odds[further], total, bounds=FURTHER_SHIFTS)
        return shift

    @cached_property
    def _log_odds(self) -> np.ndarray:
        """Add text and structure for possible pairs, such that as many are matched as have a counterpart."""
        pairs, text, n_matched = self.matchable, self.matchable.text, self._n_matched()
        counts = NO_EVIDENCE_WEIGHT + (1 - NO_EVIDENCE_WEIGHT) * self._above_chance(sigmoid(text))
        rank = np.maximum(*(rank_within(line, text) for line in pairs.ends))
        shift_for = partial(shift_for_total, pairs, counts=counts, tolerance=SHIFT_TOLERANCE)
        known = {"structure": pairs.structure, "rank": rank}
        shift, found = shift_for(text, total=n_matched)
        for _ in range(STRUCTURE_ROUNDS):
            evidence = StructureEvidence(*pairs.ends, pairs.shape, {**known, "probability": found.probability})
            n_matched += evidence.n_confirmed()
            score = text + evidence.log_odds_of_similar()
            shift, found = shift_for(score, total=n_matched, start=found.messages)
        score = score + shift
        place, probability = evidence.matches_by_structure()  # without evidence by text, so beyond their number
        score[place] = np.maximum(score[place], logit(np.clip(probability, 1e-9, 1 - 1e-9)))
        return score

    def _n_matched(self) -> float:
        """Estimate how many have a counterpart: by the view that is sure of the most pairs, then by others."""
        seen = [sigmoid(np.nan_to_num(view, nan=-np.inf)) for view in self.views.T]
        alone = [np.where(self.possible, p * self._above_chance(p), 0.0) for p in seen]
        order = sorted(range(len(alone)), key=lambda place: -(alone[place] > SURE_PROBABILITY).sum())
        total, rest = 0.0, np.ones(len(self.possible), dtype=bool)
        for place in order:
            total += float(alone[place][rest].sum())
            rest &= np.isnan(self.views[:, place])
        return max(total, 1.0)

    def _above_chance(self, p: np.ndarray) -> np.ndarray:
        """Compute the share of a probability that is not chance: 0 without evidence on a pair, 1 where all is known.

        Pairs without evidence are many, and add up to much.
        """
        by_chance = 1 / max(self.shape[1], 1)
        return np.maximum(p - by_chance, 0.0) / max(1 - by_chance, 1e-9) / np.maximum(p, 1e-300)
