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
UNSURE = 0.05  # of them at least are not
ROUNDS = 4  # in which it is estimated how many have a counterpart
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
    views = Views(*ends, added(True) / config.sinkhorn_temperature, added(False), pairs.shape)
    n_matched = views.n_sure / SURE_SHARE
    for _ in range(ROUNDS):
        belief = among_rivals(pairs, torch.from_numpy(views.log_odds(n_matched)).to(pairs.source.device))
        n_matched = float(belief.sum())
    for graph, own, rows in zip((task.source, task.target), entities.own, (pairs.source, pairs.target), strict=True):
        things = torch.tensor([not is_no_thing(str(id)) for id in graph.ids], device=belief.device)
        belief = belief * things[own[rows]]
    return replace(opinions, belief=belief.to(opinions.belief.dtype))


class Views:
    """Log-odds of a match for each pair of candidates, by names and by structure.

    `said` are log-odds by names and values against a pair of which nothing is known, `joined` the score of structure.
    """

    def __init__(
        self, source: np.ndarray, target: np.ndarray, said: np.ndarray, joined: np.ndarray, shape: tuple[int, int]
    ) -> None:
        best = (rank_of(source, said) == 0) & (rank_of(target, said) == 0)
        sure = best & (said - np.log(max(shape[1], 1)) > np.log(SURE / (1 - SURE)))
        links = np.stack([source[sure], target[sure]], axis=1)
        first = joined[rank_of(source, joined) == 0]
        usual = max(float(np.quantile(first, USUAL)), 1e-6) if len(first) else 1.0
        level = evidence.levels(source, target, np.clip(joined / usual, 0.0, 0.999), links, shape)
        self.both = said + evidence.learned(level, source, target, links, shape).odds[level]
        self.alone = said - np.log(max(shape[1], 1))
        self.is_open = ~(np.isin(source, links[:, 0]) | np.isin(target, links[:, 1]))
        self.n_sure, self.shape = len(links), shape

    def log_odds(self, n_matched: float) -> np.ndarray:
        """Where so many have a counterpart. A pair of two that are not sure has only such for rivals.

        The fewer pairs are sure, the less structure counts.
        """
        n, m = self.n_sure, self.shape[1]
        rivals = np.where(self.is_open, left(n, n_matched, self.shape), np.log(max(m - n, 1) / max(m, 1)))
        return self.alone + n**2 / (n**2 + SEEN**2) * (self.both + rivals - self.alone)


def left(n_sure: int, n_matched: float, shape: tuple[int, int]) -> float:
    """What it says for a match that neither is sure: log P(who is not sure has one) / P(a match is not sure).

    Most matches are sure, so those that are left have names less alike; and the fewer are sure, the fewer there are.
    """
    n_matched = min(min(shape), n_matched)
    share = max((n_matched - n_sure) / max(shape[0] - n_sure, 1), 1e-3)
    return float(np.log(share / min(max(1 - n_sure / max(n_matched, 1), UNSURE), 1.0)))
