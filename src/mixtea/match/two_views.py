"""Probabilities of candidate pairs from what is said of entities and how they are connected, with or without links.

Text (names, values, vectors of descriptions) gives log-odds. Pairs of which text is sure show what structure is worth.
Both are added, a constant is chosen with which as many are matched as have a counterpart by the evidence, and a random
matching turns log-odds into probabilities that are consistent: those of an entity add up to at most 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from mixtea.compute.matching import matching, shift_for_total
from mixtea.config import Config
from mixtea.data.names import is_no_thing
from mixtea.data.task import Task
from mixtea.match.calibration import sigmoid
from mixtea.vote.log_odds import CandidatePairs, Feature, fitted_weights
from mixtea.vote.open_entities import OpenEntities
from mixtea.vote.opinions import Opinions, giving_log_odds, said_alone, scales, total_score
from mixtea.vote.voter import Voter, judges_alone

SURE = 0.9  # probability by text from which on a pair shows what structure is worth
STRUCTURE = Feature("structure", 3.0, 3.0)  # log-odds per unit of its score, where the best are about 1
CONSTANT = Feature("constant", -2.0, 2.0)
USUAL = 0.99  # the quantile of the best structural scores that counts as 1
HALF_BELIEVED = 100  # sure pairs by which structure counts half: it has learned from these very pairs


def without_links(task: Task) -> bool:
    return not len(task.train) + len(task.valid)


def evidence_of(
    opinions: Opinions, entities: OpenEntities, voters: Sequence[Voter], task: Task, config: Config
) -> PairEvidence:
    """Collect what text and structure say about the candidates of opinions."""
    by_odds, pairs = giving_log_odds(voters), opinions.pairs
    ends = (pairs.source.cpu().numpy(), pairs.target.cpu().numpy())
    temperature, log_m = config.sinkhorn_temperature, np.log(max(pairs.shape[1], 1))
    text = said_alone(opinions.scores, voters, opinions.weights)
    comparing = sorted({voter.opinion for voter in voters if judges_alone(voter)} & opinions.scores.keys())
    views = [_numpy(opinions.scores[name]) / temperature - log_m for name in comparing]
    listening = [opinions.scores[name] for name in (by_odds & opinions.scores.keys()) - {*comparing}]
    added = [_numpy(part) / temperature for part in (text, *listening) if part is not None]
    others = {name: values for name, values in opinions.scores.items() if name not in by_odds}
    structure = total_score(others, scales(voters, {})) if others else torch.zeros_like(opinions.total)
    possible = np.ones(len(pairs), dtype=bool)
    for graph, own, rows in zip((task.source, task.target), entities.own, ends, strict=True):
        is_thing = np.array([not is_no_thing(str(id)) for id in graph.ids], dtype=bool)[own.cpu().numpy()]
        possible &= is_thing[rows]
    log_odds = np.sum([np.nan_to_num(part) for part in added], axis=0, initial=0.0) - log_m + np.zeros(len(pairs))
    return PairEvidence(*ends, log_odds, _numpy(structure), views, pairs.shape, possible)


def _numpy(values: torch.Tensor) -> np.ndarray:
    return values.double().cpu().numpy()


@dataclass(frozen=True, eq=False)
class PairEvidence:
    """Candidate pairs: log-odds by all text together, the score by structure, and log-odds by each view of text.

    A view is NaN where one of both has nothing to compare. Pairs that are not `possible` are matched by nobody.
    """

    source: np.ndarray
    target: np.ndarray
    text: np.ndarray
    structure: np.ndarray
    views: list[np.ndarray]
    shape: tuple[int, int]
    possible: np.ndarray

    def probability(self, *, several: bool = False) -> np.ndarray:
        """Compute how likely each pair is a match, if a source has one target at most, or `several`."""
        ends = self.source[self.possible], self.target[self.possible]
        every = np.ones(self.shape[0], dtype=bool)
        found = matching(*ends, self._log_odds, self.shape, several=every if several else None)
        probability = np.zeros(len(self.possible))
        probability[self.possible] = found.probability
        return probability

    @cached_property
    def _log_odds(self) -> np.ndarray:
        """Add text and structure for possible pairs, such that as many are matched as have a counterpart."""
        source, target, text, structure = (
            part[self.possible] for part in (self.source, self.target, self.text, self.structure)
        )
        n_matched = self._n_matched()
        n_comparable = (len(np.unique(source)), len(np.unique(target)))
        candidates = CandidatePairs(source, target, text, np.empty((len(text), 0)), self.shape, n_comparable)
        above_chance = text > -np.log(max(self.shape[1], 1))  # as `_n_matched` counts; others together are many
        by_text = shift_for_total(source, target, text, self.shape, n_matched, counts=above_chance)[1].probability
        score = text + structure_log_odds(candidates, by_text > SURE, structure)
        return score + shift_for_total(source, target, score, self.shape, n_matched, counts=above_chance)[0]

    def _n_matched(self) -> float:
        """Estimate how many have a counterpart: by the view that is sure of the most pairs, then by others."""
        by_chance = 1 / max(self.shape[1], 1)  # what a pair has of which nothing is known
        seen = [sigmoid(np.nan_to_num(view, nan=-np.inf)) for view in self.views]
        beyond = [np.maximum(p - by_chance, 0.0) / max(1 - by_chance, 1e-9) for p in seen]
        alone = [np.where(self.possible, p, 0.0) for p in beyond]
        order = sorted(range(len(alone)), key=lambda place: -(alone[place] > SURE).sum())
        total, rest = 0.0, np.ones(len(self.possible), dtype=bool)
        for place in order:
            total += float(alone[place][rest].sum())
            rest &= np.isnan(self.views[place])
        return max(total, 1.0)


def structure_log_odds(candidates: CandidatePairs, sure: np.ndarray, structure: np.ndarray) -> np.ndarray:
    """Learn what the score by structure is worth from the pairs that text alone is sure of."""
    best = np.full(candidates.shape[0], -np.inf)
    np.maximum.at(best, candidates.source, structure)
    best = best[np.isfinite(best)]
    usual = max(float(np.quantile(best, USUAL)), 1e-6) if len(best) else 1.0
    column = np.clip(structure / usual, 0.0, 1.0)
    links = np.stack([candidates.source[sure], candidates.target[sure]], axis=1)
    features = (CONSTANT, STRUCTURE)
    weights = fitted_weights(candidates._replace(columns=column[:, None]), links, features)
    n = len(links)
    return n**2 / (n**2 + HALF_BELIEVED**2) * weights[1] * column
