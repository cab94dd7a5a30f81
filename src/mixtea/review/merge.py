"""Merge decisions about pairs into a task: as facts to learn from, or as opinions of a known reliability."""

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
FACT_RELIABILITY = 0.95  # of decisions that are right: from there on they are facts
MAX_RELIABILITY, MIN_RELIABILITY = 0.99, 0.5  # bounds of an opinion; .5 has no effect


def merge_decision_file(task: Task, path: Path) -> Task:
    """Return the task with the decisions of a link file, as `mixtea review` exports them, rejected pairs included.

    A `confidence` below .95 is the reliability of the reviewer: such rows are opinions, all others facts.
    """
    problems = Problems(current_limits().max_problems)
    table = read_link_table(path, problems)
    sure = np.full(len(table), np.nan) if table.confidences is None else table.confidences
    found = find_links(replace(table, confidences=None), "train", task.source, task.target, problems)
    problems.raise_if_any()
    known = np.isin(table.lines, found.lines) if len(table) else np.empty(0, dtype=bool)
    for warning in found.warnings:
        logger.warning("%s", warning)
    return merge_decisions(task, *_each_once(found, sure[known]))


def _each_once(found: LinkFile, sure: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (pairs, whether they are the same, confidence), the last row of a pair counting."""
    last = {tuple(pair): place for place, pair in enumerate(found.pairs.tolist())}
    places = np.array(sorted(last.values()), dtype=np.int64)
    return found.pairs[places], ~found.rejected[places], sure[places]


def merge_decisions(task: Task, pairs: np.ndarray, same: np.ndarray, reliability: np.ndarray) -> Task:
    """Return the task with decisions about pairs [p, 2]: whether they are the `same` [p], and their reliability [p].

    If the reliability is unknown (NaN) or at least FACT_RELIABILITY, a decision is a fact: accepted pairs are training
    links and no longer asked about, rejected ones are not links and never proposed. Else it is an opinion,
    `task.reviewed`, which the voter `reviewer` casts with that weight. So are accepted pairs where links are found by
    names: a handful of links would replace all evidence from names.
    """
    fact = ~(reliability < FACT_RELIABILITY)
    if task.links_from == "names":
        fact &= ~same
    accepted, rejected = pairs[fact & same], pairs[fact & ~same]
    train, valid = _without(task.train, rejected), _without(task.valid, rejected)
    train = np.concatenate([train, _unlinked(task, accepted, np.concatenate([train, valid]))])
    if task.links_from != "names" and not len(train):
        raise DataError("The decisions reject all training links: there is nothing left to learn from.")
    asked = ~(np.isin(task.test[:, 0], accepted[:, 0]) | np.isin(task.test[:, 1], accepted[:, 1]))
    never = np.concatenate([_without(_without(task.rejected, accepted), rejected), rejected])
    sure = np.where(np.isnan(reliability), MAX_RELIABILITY, np.clip(reliability, MIN_RELIABILITY, MAX_RELIABILITY))[
        ~fact
    ]
    log_odds = np.log(sure / (1 - sure)) * np.where(same[~fact], 1, -1)
    opinions = Reviewed(np.concatenate([task.reviewed.pairs, pairs[~fact]]),
                        np.concatenate([task.reviewed.log_odds, log_odds]))  # fmt: skip
    return replace(task, train=train, valid=valid, test=task.test[asked], rejected=never, reviewed=opinions)


def _unlinked(task: Task, accepted: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return the new pairs that contradict no link: their source has none, or may have several."""
    new = _without(accepted, given)
    other = np.isin(new[:, 0], given[:, 0]) & ~task.may_have_multiple_targets(new[:, 0])
    if other.any():
        logger.warning("%d accepted pairs are left out: their sources have another link", int(other.sum()))
    return new[~other]


def _without(pairs: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the pairs [p, 2] without the others."""
    known = {tuple(pair) for pair in others.tolist()}
    return pairs[[tuple(pair) not in known for pair in pairs.tolist()]] if known else pairs
