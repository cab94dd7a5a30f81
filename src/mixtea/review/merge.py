"""What people decided about pairs: facts to learn from, or opinions of a known reliability."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from mixtea.errors import DataError, Problems
from mixtea.graph.task import Reviewed, Task
from mixtea.io.links.read import LinkFile, find_links, read_link_table
from mixtea.io.safe.limits import current_limits

logger = logging.getLogger(__name__)
RELIABLE = 0.95  # of decisions that are right: from there on they are facts
SUREST, LEAST_SURE = 0.99, 0.5  # what an opinion counts at most, and at least: then it says nothing


def with_reviewed_file(task: Task, path: Path) -> Task:
    """The task with the decisions of a link file, as `mixtea review` exports them; SSSOM can also say "not the same".

    A `confidence` below .95 is the reliability of who decided: such rows are opinions, all others facts.
    """
    problems = Problems(current_limits().max_problems)
    table = read_link_table(path, problems)
    sure = np.full(len(table), np.nan) if table.confidences is None else table.confidences
    found = find_links(replace(table, confidences=None), "train", task.source, task.target, problems)
    problems.raise_if_any()
    known = np.isin(table.lines, found.lines) if len(table) else np.empty(0, dtype=bool)
    for warning in found.warnings:
        logger.warning("%s", warning)
    return with_reviewed(task, *_each_once(found, sure[known]))


def _each_once(found: LinkFile, sure: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(pairs, whether they are the same, how sure) of a file in which the last word about a pair counts."""
    last = {tuple(pair): place for place, pair in enumerate(found.pairs.tolist())}
    places = np.array(sorted(last.values()), dtype=np.int64)
    return found.pairs[places], ~found.rejected[places], sure[places]


def with_reviewed(task: Task, pairs: np.ndarray, same: np.ndarray, reliability: np.ndarray) -> Task:
    """The task with decisions about pairs [p, 2]: whether they are the `same` [p], and how often such are right [p].

    Where that is not known (NaN) or at least RELIABLE, a decision is a fact: accepted pairs are training links and no
    longer asked about, rejected ones are no links and never proposed. Else it is an opinion, `task.reviewed`, which the
    voter `reviewer` casts with that weight. So are accepted pairs where links are found by names: a handful of links
    would take the place of all that names say.
    """
    fact = ~(reliability < RELIABLE)
    if task.links_from == "names":
        fact &= ~same
    accepted, rejected = pairs[fact & same], pairs[fact & ~same]
    train, valid = _less(task.train, rejected), _less(task.valid, rejected)
    train = np.concatenate([train, _unlinked(task, accepted, np.concatenate([train, valid]))])
    if task.links_from != "names" and not len(train):
        raise DataError("The decisions reject all training links: there is nothing left to learn from.")
    asked = ~(np.isin(task.test[:, 0], accepted[:, 0]) | np.isin(task.test[:, 1], accepted[:, 1]))
    never = np.concatenate([_less(_less(task.rejected, accepted), rejected), rejected])
    sure = np.where(np.isnan(reliability), SUREST, np.clip(reliability, LEAST_SURE, SUREST))[~fact]
    log_odds = np.log(sure / (1 - sure)) * np.where(same[~fact], 1, -1)
    opinions = Reviewed(np.concatenate([task.reviewed.pairs, pairs[~fact]]),
                        np.concatenate([task.reviewed.log_odds, log_odds]))  # fmt: skip
    return replace(task, train=train, valid=valid, test=task.test[asked], rejected=never, reviewed=opinions)


def _unlinked(task: Task, accepted: np.ndarray, given: np.ndarray) -> np.ndarray:
    """The new pairs whose source has no other link, or may have several; else a second one contradicts the first."""
    new = _less(accepted, given)
    other = np.isin(new[:, 0], given[:, 0]) & ~task.may_have_several(new[:, 0])
    if other.any():
        logger.warning("%d accepted pairs are left out: their sources have another link", int(other.sum()))
    return new[~other]


def _less(pairs: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The pairs [p, 2] without the others."""
    known = {tuple(pair) for pair in others.tolist()}
    return pairs[[tuple(pair) not in known for pair in pairs.tolist()]] if known else pairs
