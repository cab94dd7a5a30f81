"""A rehearsal: given links are judged by a council that does not know them, so that they tell what its word is worth.

Voters that need no training judge again with a part of the training links taken away, twice. What they say of
these links is what they would have said of any other entity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from mixtea.config import Config
from mixtea.council.council import Council, know_all
from mixtea.graph.task import Task
from mixtea.progress import doing
from mixtea.voters.base import Voter
from mixtea.voters.open_entities import find_open_entities
from mixtea.voters.plugin import make_voter

REHEARSALS = 2
ENOUGH = 500  # links in one rehearsal, which then is the only one
MANY = 1000  # training links: of so many a fifth at a time is enough, which those who judge do not miss


class Rehearsed(NamedTuple):
    """Pairs of entities, by their own graphs' numbers, of which one at least has a training link that nobody knew;

    `scores` are what each opinion said, NaN for none.
    """

    source: np.ndarray
    target: np.ndarray
    scores: dict[str, np.ndarray]


def rehearsed(council: Council) -> Rehearsed | None:
    """What a council's voters think of the training links and of their rivals when they do not know them.

    The pairs that all were sure of in the end are known here too. Links of sources that are asked about anyway, since
    they may have several targets, are left out. None where no voter can tell without training, and without such links.
    """
    task, config = council.task, council.config
    settled = np.flatnonzero(np.isin(task.train[:, 0], task.closed_entities(0)))
    untrained = [voter for voter in council.voters if "vectors" not in voter.needs]
    if not len(settled) or not any(voter.proposes for voter in untrained) or all(v.uses_belief for v in untrained):
        return None
    doing("calibration: judging links as if they were not known")
    for voter in untrained:
        voter.release()  # it has judged for the last time, and others like it judge now
    order = settled[np.random.default_rng(config.seed).permutation(len(settled))]
    found = [_judged(council, untrained, part) for part in _parts(order)]
    names = sorted(set().union(*(scores for _, _, scores in found)))
    return Rehearsed(
        np.concatenate([source for source, _, _ in found]), np.concatenate([target for _, target, _ in found]),
        {name: np.concatenate([_of(scores, name, len(source)) for source, _, scores in found]) for name in names},
    )  # fmt: skip


def _parts(order: np.ndarray) -> list[np.ndarray]:
    """What is taken away in each rehearsal: a half of the links each time, or a fifth of many; of very many once."""
    n = 5 if len(order) >= MANY else 2
    rehearsals = 1 if len(order) >= n * ENOUGH else REHEARSALS
    return [order[part::n] for part in range(min(rehearsals, len(order)))]


def _of(scores: dict[str, np.ndarray], name: str, n: int) -> np.ndarray:
    return scores[name] if name in scores else np.full(n, np.nan)


@torch.no_grad()
def _judged(
    known: Council, voters: Sequence[Voter], held: np.ndarray
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """(source, target, scores) of the pairs that have an end in common with the links `held`, which nobody knows."""
    task, config, sure = known.task, known.config, known.sure_pairs()
    links = task.train[held]
    fewer = replace(task, train=np.delete(task.train, held, axis=0))
    asked = [_without_links(voter, fewer, config) for voter in voters]
    generator = torch.Generator(sure.device).manual_seed(config.seed)
    entities = find_open_entities(fewer, generator, sure.device, without_triples=know_all(asked))
    council = Council(fewer, config, asked, entities, generator)
    council.weights = known.weights
    ends = [torch.from_numpy(links[:, side]).to(sure.device) for side in (0, 1)]
    council.begin_with(sure[~(torch.isin(sure[:, 0], ends[0]) | torch.isin(sure[:, 1], ends[1]))])
    council.candidates = known.candidates_among(entities)
    if not council.rehearse():
        return links[:0, 0], links[:0, 1], {}
    assert council.opinions is not None
    pairs, own = council.opinions.pairs, entities.own
    source, target = own[0][pairs.source], own[1][pairs.target]
    kept = torch.isin(source, ends[0]) | torch.isin(target, ends[1])
    scores = {name: values[kept].cpu().numpy() for name, values in council.opinions.scores.items()}
    return source[kept].cpu().numpy(), target[kept].cpu().numpy(), scores


def _without_links(voter: Voter, task: Task, config: Config) -> Voter:
    """The voter as it would be with fewer links; those that compare names and the like judge each link as unknown."""
    return voter if voter.leaves_links_out else make_voter(voter.name, task, config)
