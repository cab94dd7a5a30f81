"""Candidates of chosen sources, those with a training link among them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from mixtea.compute.arrays import as_numpy
from mixtea.compute.similarity import nearness, unit
from mixtea.config import Config
from mixtea.decide.candidates import Candidates
from mixtea.errors import DataError
from mixtea.graph.task import Task
from mixtea.messages import visible

SOURCE_FIELDS = ("source_index", "target_index", "score", "probability", "voters", "counterpart")  # one row per source


def candidates_of(
    found: Candidates, sources: np.ndarray, vectors: Tensor, task: Task, config: Config, k: int
) -> Candidates:
    """Return the candidates of these sources [p], in this order, with and without a training link."""
    linked = np.intersect1d(sources, task.train[:, 0])
    if not (is_asked := task.is_asked(0)[sources]).all():
        context = task.source.display(int(sources[~is_asked][0]))
        raise DataError(f"{visible(context)}: context of this task, which does not ask about it.")
    if len(linked):
        found = _concatenate(found, _linked_candidates(found, linked, vectors, task, config, k))
    row = np.full(task.source.n_entities, -1, dtype=np.int64)
    row[found.source_index] = np.arange(len(found))
    return _select(found, row[sources])


def _select(found: Candidates, rows: np.ndarray) -> Candidates:
    """Select rows."""
    return replace(found, **{name: getattr(found, name)[rows] for name in SOURCE_FIELDS})


def _concatenate(one: Candidates, other: Candidates) -> Candidates:
    """Join the rows of both, which have as many candidates each."""
    both: dict[str, Any] = {n: np.concatenate([getattr(one, n), getattr(other, n)]) for n in SOURCE_FIELDS}
    return replace(one, **both)


def _linked_candidates(
    found: Candidates, sources: np.ndarray, vectors: Tensor, task: Task, config: Config, k: int
) -> Candidates:
    """Return the targets of training links, which are sure, then the student's nearest; rejected ones come last.

    The score is the student's nearness: no other voter was asked.
    """
    shape = len(sources), min(k, task.target.n_entities)
    target, score, probability = np.empty(shape, dtype=np.int64), np.empty(shape), np.zeros(shape)
    own, others = vectors[: task.source.n_entities], vectors[task.source.n_entities :]
    if config.metric == "cosine":
        own, others = unit(own), unit(others)
    for row, source in enumerate(sources.tolist()):
        near = as_numpy(nearness(own[source][None], others, config.metric)[0].double())
        given, rejected = (_targets_of(links, source, len(near)) for links in (task.train, task.rejected))
        best = np.lexsort((-near, rejected, ~given))[: shape[1]]
        target[row], score[row], probability[row] = best, near[best], given[best] / given.sum()
    voters = np.zeros((*shape, len(found.voter_names)), dtype=bool)
    return replace(
        found, source_index=sources, target_index=target, score=score, probability=probability, voters=voters,
        counterpart=np.ones(len(sources)),
    )  # fmt: skip


def _targets_of(links: np.ndarray, source: int, n: int) -> np.ndarray:
    """Return bool [n]: the targets of the links of a source."""
    found = np.zeros(n, dtype=bool)
    found[links[links[:, 0] == source, 1]] = True
    return found
