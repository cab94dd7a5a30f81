"""Answers decided by hand: seven sources and targets, and candidates with probabilities as they are wanted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mixtea import Task
from mixtea.decide.answers import Answers, FallbackTargets, Ranked
from mixtea.graph.graph import Graph


def seven_entities() -> Task:
    """Seven sources and targets, one training and one validation link; five sources are asked about."""
    triples = np.array([[i, 0, (i + 1) % 7] for i in range(7)])
    source, target = (
        Graph(np.array([f"{side}{i}" for i in range(7)], dtype=object), np.array(["r"], dtype=object), triples)
        for side in "st"
    )
    links = [np.array([[i, i]]) for i in range(2)]
    return Task.of_two("seven", source, target, links[0], links[1], links[0][:0])


def ranked(target, likelihood, counterpart, no_evidence: Sequence[int] = ()) -> Ranked:
    """Candidates [p, k] of sources with their likelihoods; of the sources `no_evidence` nothing is known."""
    target, likelihood = np.array(target), np.array(likelihood, dtype=float)
    none = np.zeros(target.shape, dtype=bool)
    without = none.copy()
    without[list(no_evidence)] = True
    parts = (likelihood, likelihood, none[..., None], none, without, likelihood, np.array(counterpart, dtype=float))
    return Ranked(target, *parts)


def answers(task: Task, found: Ranked, lost: Sequence[int] = (), fallback: FallbackTargets | None = None) -> Answers:
    """Answers about the sources of a task without a training link, where those of the rows `lost` got no target."""
    source_index = np.setdiff1d(np.arange(task.source.n_entities), task.train[:, 0])
    is_assigned = ~np.isin(np.arange(len(source_index)), list(lost))
    return Answers(task, ("names",), source_index, found, {}, found, is_assigned, {}, fallback)
