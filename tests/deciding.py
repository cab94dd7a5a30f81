"""Answers decided by hand: seven sources and targets, and candidates with probabilities as they are wanted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mixtea import Task
from mixtea.decide.answers import Answers, Left, Ranked
from mixtea.graph.graph import Graph


def seven_entities() -> Task:
    """Seven sources and targets, one training and one validation link; five sources are asked about."""
    triples = np.array([[i, 0, (i + 1) % 7] for i in range(7)])
    source, target = (
        Graph(np.array([f"{side}{i}" for i in range(7)], dtype=object), np.array(["r"], dtype=object), triples)
        for side in "st"
    )
    links = [np.array([[i, i]]) for i in range(2)]
    return Task("seven", source, target, links[0], links[1], links[0][:0])


def ranked(target, likelihood, counterpart, silent: Sequence[int] = ()) -> Ranked:
    """Candidates [p, k] of sources with their likelihoods; of the sources `silent` nothing is known."""
    target, likelihood = np.array(target), np.array(likelihood, dtype=float)
    none = np.zeros(target.shape, dtype=bool)
    quiet = none.copy()
    quiet[list(silent)] = True
    parts = (likelihood, likelihood, none[..., None], none, quiet, likelihood, np.array(counterpart, dtype=float))
    return Ranked(target, *parts)


def answers(task: Task, found: Ranked, lost: Sequence[int] = (), left: Left | None = None) -> Answers:
    """Answers about the sources of a task without a training link, where those of the rows `lost` got no target."""
    free = np.setdiff1d(np.arange(task.source.n_entities), task.train[:, 0])
    is_free = ~np.isin(np.arange(len(free)), list(lost))
    return Answers(task, ("names",), free, found, {}, found, is_free, {}, left)
