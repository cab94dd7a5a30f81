"""Hold-out scoring of training links, for calibration.

Voters that need no training judge again with a part of the training links taken away, twice. Their scores of these
links are what they would be for any other entity.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from mixtea.callbacks import report_step
from mixtea.compute.scored_pairs import ScoredPairs, concat
from mixtea.config import Config
from mixtea.council.council import Council, cover_isolated
from mixtea.graph.joint_index import find_open_entities
from mixtea.graph.task import Task
from mixtea.voters.base import Voter
from mixtea.voters.registry import make_voter

HOLDOUT_ROUNDS = 2
MIN_LINKS_SINGLE_ROUND = 500  # held out in one round, which then is the only one
MIN_LINKS_FOR_FIFTHS = 1000  # for training, from which on a fifth is held out, not a half


def holdout_opinions(council: Council) -> ScoredPairs | None:
    """Score the training links and their rivals by a council's voters, with the links held out.

    Returns pairs by entity index, of which one end at least has a held-out training link, with the scores of each
    opinion, NaN for none; the same pair may be there twice.
    The pairs that all were sure of in the end are known here too. Links of sources that may have several targets are
    left out, since these are asked about anyway. None where no voter scores without training, and without such links.
    """
    task, config = council.task, council.config
    settled = np.flatnonzero(np.isin(task.train[:, 0], task.closed_entities(0)))
    untrained = [voter for voter in council.voters if "vectors" not in voter.needs]
    if not len(settled) or not any(voter.proposes for voter in untrained) or all(v.uses_belief for v in untrained):
        return None
    report_step("calibration: judging links as if they were not known")
    for voter in untrained:
        voter.release()  # it has judged for the last time, and others like it judge now
    order = settled[np.random.default_rng(config.seed).permutation(len(settled))]
    return concat([_judge_held_out(council, untrained, part) for part in _split(order)])


def _split(order: np.ndarray) -> list[np.ndarray]:
    """Split the links into those held out each time: a half each, or a fifth of many; of very many once."""
    n = 5 if len(order) >= MIN_LINKS_FOR_FIFTHS else 2
    rounds = 1 if len(order) >= n * MIN_LINKS_SINGLE_ROUND else HOLDOUT_ROUNDS
    return [order[part::n] for part in range(min(rounds, len(order)))]


@torch.no_grad()
def _judge_held_out(known: Council, voters: Sequence[Voter], held: np.ndarray) -> ScoredPairs:
    """Return the pairs that share an end with the held-out links `held`, with the scores of each opinion."""
    task, config, sure = known.task, known.config, known.sure_pairs()
    links = task.train[held]
    fewer = task.replace(train=np.delete(task.train, held, axis=0))
    asked = [_rebind(voter, fewer, config) for voter in voters]
    generator = torch.Generator(sure.device).manual_seed(config.seed)
    entities = find_open_entities(fewer, generator, sure.device, without_triples=cover_isolated(asked))
    council = Council(fewer, config, asked, entities, generator)
    council.weights = known.weights
    ends = ScoredPairs.of(links, task.joint_index.shape).to(sure).ends
    council.start_from(sure[~(torch.isin(sure[:, 0], ends[0]) | torch.isin(sure[:, 1], ends[1]))])
    council.candidates = known.candidates_among(entities)
    if not council.judge_untrained() or council.opinions is None:
        return ScoredPairs.of(links[:0], task.joint_index.shape)
    found = council.opinions.scored_pairs.reindex(None)
    return found.where(torch.isin(found.source, ends[0]) | torch.isin(found.target, ends[1])).numpy()


def _rebind(voter: Voter, task: Task, config: Config) -> Voter:
    """Return the voter as it would be with fewer links; voters of text judge each link as unknown anyway."""
    return voter if voter.leaves_links_out or not voter.has_inputs else make_voter(voter.name, task, config)
