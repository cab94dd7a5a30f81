"""What fuzz.py does with files that were read: their names, values and vectors are compared, as voters do."""

from __future__ import annotations

import numpy as np

from mixtea.evaluation.inspection import text_summary, text_summary_lines
from mixtea.graph.graph import Graph
from mixtea.graph.task import Task
from mixtea.voters.attributes import AttributeOpinions
from mixtea.voters.names import NameOpinions
from mixtea.voters.user_vectors import VectorOpinions

LINKED = 3  # entities that are taken to be the same, by which it is judged what likeness is worth


def compare(source: Graph, target: Graph | None = None) -> None:
    """Ask everyone who finds entities alike about two graphs; of one, what it has in common with itself."""
    target = source if target is None else target
    n = min(LINKED, source.n_entities, target.n_entities)
    links = np.repeat(np.arange(n)[:, None], 2, axis=1)
    compare_task(Task.of_two("damaged", source, target, links, links[:0], links[:0]))


def compare_task(task: Task) -> None:
    """All opinions about all entities once, in order and turned, before and after learning; none is infinite."""
    n = min(task.source.n_entities, task.target.n_entities)
    for kind in (NameOpinions, AttributeOpinions, VectorOpinions):
        opinions = kind(task)
        for _ in range(2):
            found = opinions.log_odds(np.arange(n).repeat(2), np.stack([np.arange(n), np.arange(n)[::-1]], 1).ravel())
            values = opinions.found.columns.values()
            if np.isinf(found).any() or not all(np.isfinite(part).all() for part in values):
                raise ArithmeticError(f"{kind.__name__} has an opinion without measure")
            opinions.learn(np.empty((0, 2), dtype=np.int64))
    list(text_summary_lines(text_summary(task)))
