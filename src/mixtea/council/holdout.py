"""Hold-out scoring of training links, for calibration.

Voters that need no training judge again with a part of the training links taken away, twice. Their scores of these
links are what they would be for any other entity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from mixtea.callbacks import report_step
from mixtea.config import Config
from mixtea.council.council import Council, cover_isolated
from mixtea.graph.task import Task
from mixtea.voters.base import Voter
from mixtea.voters.open_entities import find_open_entities
from mixtea.voters.plugin import make_voter

HOLDOUT_ROUNDS = 2
MIN_LINKS_SINGLE_ROUND = 500  # held out in one round, which then is the only one
MIN_LINKS_FOR_FIFTHS = 1000  # for training, from which on a fifth is held out, not a half


class HoldoutOpinions(NamedTuple):
    """Pairs by entity index, of which one end at least has a held-out training link, and each opinion's scores, NaN for
    none.
    """

    source: np.ndarray
    target: np.ndarray
    scores: dict[str, np.ndarray]


def holdout_opinions(council: Council) -> HoldoutOpinions | None:
    """Score the training links and their rivals by a council's voters, with the links held out.

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
    found = [_judge_held_out(council, untrained, part) for part in _split(order)]
    names = sorted(set().union(*(scores for _, _, scores in found)))
    return HoldoutOpinions(
        np.concatenate([source for source, _, _ in found]), np.concatenate([target for _, target, _ in found]),
        {name: np.concatenate([_scores_of(s, name, len(source)) for source, _, s in found]) for name in names},
    )  # fmt: skip


def _split(order: np.ndarray) -> list[np.ndarray]:
    """Split the links into those held out each time: a half each, or a fifth of many; of very many once."""
    n = 5 if len(order) >= MIN_LINKS_FOR_FIFTHS else 2
    rounds = 1 if len(order) >= n * MIN_LINKS_SINGLE_ROUND else HOLDOUT_ROUNDS
    return [order[part::n] for part in range(min(rounds, len(order)))]


def _scores_of(scores: dict[str, np.ndarray], name: str, n: int) -> np.ndarray:
    return scores[name] if name in scores else np.full(n, np.nan)


@torch.no_grad()
def _judge_held_out(
    known: Council, voters: Sequence[Voter], held: np.ndarray
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return (source, target, scores) of the pairs that share an end with the held-out links `held`."""
    task, config, sure = known.task, known.config, known.sure_pairs()
    links = task.train[held]
    fewer = replace(task, train=np.delete(task.train, held, axis=0))
    asked = [_rebind(voter, fewer, config) for voter in voters]
    generator = torch.Generator(sure.device).manual_seed(config.seed)
    entities = find_open_entities(fewer, generator, sure.device, without_triples=cover_isolated(asked))
    council = Council(fewer, config, asked, entities, generator)
    council.weights = known.weights
    ends = [torch.from_numpy(links[:, side]).to(sure.device) for side in (0, 1)]
    council.start_from(sure[~(torch.isin(sure[:, 0], ends[0]) | torch.isin(sure[:, 1], ends[1]))])
    council.candidates = known.candidates_among(entities)
    if not council.judge_untrained():
        return links[:0, 0], links[:0, 1], {}
    assert council.opinions is not None
    pairs, own = council.opinions.pairs, entities.own
    source, target = own[0][pairs.source], own[1][pairs.target]
    kept = torch.isin(source, ends[0]) | torch.isin(target, ends[1])
    scores = {name: values[kept].cpu().numpy() for name, values in council.opinions.scores.items()}
    return source[kept].cpu().numpy(), target[kept].cpu().numpy(), scores


def _rebind(voter: Voter, task: Task, config: Config) -> Voter:
    """Return the voter as it would be with fewer links; voters of text judge each link as unknown anyway."""
    return voter if voter.leaves_links_out else make_voter(voter.name, task, config)
