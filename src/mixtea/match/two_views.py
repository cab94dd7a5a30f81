"""Probabilities without given links: what is said of entities and how they are joined judge each other.

As in record linkage: pairs that names and values are sure of tell what structure is worth, whatever it looks like, and
both are added as log-odds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from mixtea.config import Config
from mixtea.data.names import is_no_thing
from mixtea.data.task import Task
from mixtea.vote import evidence
from mixtea.vote.likeness import rank_of
from mixtea.vote.normalise import among_rivals
from mixtea.vote.open_entities import OpenEntities
from mixtea.vote.opinions import Opinions, giving_log_odds, scales, total_score
from mixtea.vote.voter import Voter

SURE = 0.9  # by names and values alone
SURE_SHARE = 0.85  # of the entities with a counterpart, typically, are sure so
SEEN = 100  # sure pairs by which structure is half believed
USUAL = 0.99  # of the best structural scores, which are all of likeness


def without_links(task: Task) -> bool:
    return not len(task.train) + len(task.valid)


def judged_by_both(
    opinions: Opinions, entities: OpenEntities, voters: Sequence[Voter], task: Task, config: Config
) -> Opinions:
    """The opinions with the probability of each pair for a belief, when each entity has one counterpart or none.

    Blank nodes, and words of RDF's own, have none.
    """
    said_by, pairs = giving_log_odds(voters), opinions.pairs

    def added(by_odds: bool) -> np.ndarray:
        scores = {name: values for name, values in opinions.scores.items() if (name in said_by) == by_odds}
        total = total_score(scores, scales(voters, {}), said_by) if scores else torch.zeros_like(opinions.total)
        return total.double().cpu().numpy()

    ends = (pairs.source.cpu().numpy(), pairs.target.cpu().numpy())
    odds = log_odds(*ends, added(True) / config.sinkhorn_temperature, added(False), pairs.shape)
    belief = among_rivals(pairs, torch.from_numpy(odds).to(pairs.source.device))
    for graph, own, rows in zip((task.source, task.target), entities.own, (pairs.source, pairs.target), strict=True):
        things = torch.tensor([not is_no_thing(str(id)) for id in graph.ids], device=belief.device)
        belief = belief * things[own[rows]]
    return replace(opinions, belief=belief.to(opinions.belief.dtype))


def log_odds(
    source: np.ndarray, target: np.ndarray, said: np.ndarray, joined: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """Log-odds of a match for each pair of candidates.

    `said` are log-odds by names and values against a pair of which nothing is known, `joined` the score of structure.
    A pair of two that are not sure has only such for rivals. The fewer pairs are sure, the less structure counts.
    """
    best = (rank_of(source, said) == 0) & (rank_of(target, said) == 0)
    sure = best & (said - np.log(max(shape[1], 1)) > np.log(SURE / (1 - SURE)))
    links = np.stack([source[sure], target[sure]], axis=1)
    first = joined[rank_of(source, joined) == 0]
    usual = max(float(np.quantile(first, USUAL)), 1e-6) if len(first) else 1.0
    level = evidence.levels(source, target, np.clip(joined / usual, 0.0, 0.999), links, shape)
    odds = evidence.learned(level, source, target, links, shape).odds
    is_open = ~(np.isin(source, links[:, 0]) | np.isin(target, links[:, 1]))
    alone, trusted = said - np.log(max(shape[1], 1)), len(links) ** 2 / (len(links) ** 2 + SEEN**2)
    among_open, others = _left(len(links), shape), np.log(max(shape[1] - len(links), 1) / max(shape[1], 1))
    return alone + trusted * (said + odds[level] + np.where(is_open, among_open, others) - alone)


def _left(n_sure: int, shape: tuple[int, int]) -> float:
    """What it says for a match that neither is sure: log P(a match is not sure) P(who is not sure has one), reversed.

    Most matches are sure, so those that are left have names less alike; and the fewer are sure, the fewer there are.
    """
    n_matched = min(min(shape), n_sure / SURE_SHARE)
    share = max((n_matched - n_sure) / max(shape[0] - n_sure, 1), 1e-3)
    return float(np.log(share / (1 - SURE_SHARE)))
