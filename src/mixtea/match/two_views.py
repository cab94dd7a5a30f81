"""Probabilities of candidate pairs from what is said of entities and how they are connected, with or without links.

Text (names, values, vectors of descriptions) gives log-odds. Pairs of which text is sure show what structure is worth.
Both are added, a constant is chosen with which as many are matched as have a counterpart by the evidence, and a random
matching turns log-odds into probabilities that are consistent: those of an entity add up to at most 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from mixtea.compute.matching import matching, shift_for_total
from mixtea.config import Config
from mixtea.data.names import is_no_thing
from mixtea.data.task import Task
from mixtea.vote.log_odds import Candidates, Feature, fitted_weights
from mixtea.vote.open_entities import OpenEntities
from mixtea.vote.opinions import Opinions, giving_log_odds, scales, total_score
from mixtea.vote.voter import Voter, judges_alone

SURE = 0.9  # probability by text from which on a pair shows what structure is worth
STRUCTURE = Feature("structure", 3.0, 3.0)  # log-odds per unit of its score, where the best are about 1
CONSTANT = Feature("constant", -2.0, 2.0)
USUAL = 0.99  # the quantile of the best structural scores that counts as 1
HALF_BELIEVED = 100  # sure pairs by which structure counts half: it has learned from these very pairs


def without_links(task: Task) -> bool:
    return not len(task.train) + len(task.valid)


def judged_by_both(
    opinions: Opinions, entities: OpenEntities, voters: Sequence[Voter], task: Task, config: Config
) -> Opinions:
    """Replace the belief of opinions by the probability of each pair."""
    by_odds, pairs = giving_log_odds(voters), opinions.pairs
    ends = (pairs.source.cpu().numpy(), pairs.target.cpu().numpy())
    temperature, log_m = config.sinkhorn_temperature, np.log(max(pairs.shape[1], 1))
    scores = {name: values.double().cpu().numpy() for name, values in opinions.scores.items()}
    log_odds = {name: values / temperature for name, values in scores.items() if name in by_odds}
    weighted = [opinions.weights.get(name, 1.0) * np.nan_to_num(values) for name, values in log_odds.items()]
    comparing = {voter.opinion for voter in voters if judges_alone(voter)}
    views = [values - log_m for name, values in log_odds.items() if name in comparing]
    others = {name: values for name, values in opinions.scores.items() if name not in by_odds}
    structure = total_score(others, scales(voters, {})) if others else torch.zeros_like(opinions.total)
    possible = np.ones(len(pairs), dtype=bool)
    for graph, own, rows in zip((task.source, task.target), entities.own, ends, strict=True):
        is_thing = np.array([not is_no_thing(str(id)) for id in graph.ids], dtype=bool)[own.cpu().numpy()]
        possible &= is_thing[rows]
    text = np.sum(weighted, axis=0) - log_m if weighted else np.full(len(pairs), -log_m)
    evidence = Evidence(*ends, text, structure.double().cpu().numpy(), views, pairs.shape)
    probability = np.zeros(len(pairs))
    probability[possible] = matched(evidence.where(possible))
    return replace(opinions, belief=torch.from_numpy(probability).to(opinions.belief))


class Evidence(NamedTuple):
    """Candidate pairs: log-odds by all text together, the score by structure, and log-odds by each view of text.

    A view is NaN where one of both has nothing to compare.
    """

    source: np.ndarray
    target: np.ndarray
    text: np.ndarray
    structure: np.ndarray
    views: list[np.ndarray]
    shape: tuple[int, int]

    def where(self, kept: np.ndarray) -> Evidence:
        source, target, text, structure = (part[kept] for part in self[:4])
        return Evidence(source, target, text, structure, [view[kept] for view in self.views], self.shape)

    def candidates(self) -> Candidates:
        n_comparable = (len(np.unique(self.source)), len(np.unique(self.target)))
        return Candidates(self.source, self.target, self.text, np.empty((len(self.text), 0)), self.shape, n_comparable)

    def n_matched(self) -> float:
        """Estimate how many have a counterpart: by the view alone that is sure of the most pairs."""
        alone = []
        for view in self.views:
            at = ~np.isnan(view)
            alone.append(matching(self.source[at], self.target[at], view[at], self.shape).probability)
        best = max(alone, key=lambda p: (p > SURE).sum(), default=np.ones(1))
        return max(float(best.sum()), 1.0)


def matched(evidence: Evidence) -> np.ndarray:
    """Compute the probability of each pair from text and structure together."""
    n_matched, candidates = evidence.n_matched(), evidence.candidates()
    by_text = shift_for_total(*candidates.ends, evidence.text, evidence.shape, n_matched)[1].probability
    score = evidence.text + structure_log_odds(candidates, by_text > SURE, evidence.structure)
    return shift_for_total(*candidates.ends, score, evidence.shape, n_matched)[1].probability


def structure_log_odds(candidates: Candidates, sure: np.ndarray, structure: np.ndarray) -> np.ndarray:
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
