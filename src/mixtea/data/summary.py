"""What a task holds, in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixtea.data.graph import Graph
from mixtea.data.task import SPLITS, Task

FEW_LINKS = 100


def summary(task: Task) -> dict[str, Any]:
    """Counts of both graphs and of the links, and warnings about what will hurt."""
    return {
        "task": task.name,
        "fold": task.fold,
        "source": _graph(task.source),
        "target": _graph(task.target),
        "links": {split: len(getattr(task, split)) for split in SPLITS},
        "shared_relations": len(set(task.source.relations) & set(task.target.relations)),
        "warnings": [*task.warnings, *doubts(task)],
    }


def _graph(graph: Graph) -> dict[str, Any]:
    degree = degrees(graph)
    return {
        "entities": graph.n_entities,
        "relations": graph.n_relations,
        "triples": graph.n_triples,
        "attribute_triples": graph.n_attribute_triples,
        "isolated_entities": int(graph.isolated().sum()),
        "degree": {"median": float(np.median(degree)), "mean": float(degree.mean()), "max": int(degree.max())},
    }


def degrees(graph: Graph) -> np.ndarray:
    """[n]: how many different neighbours each entity has."""
    head, tail = graph.triples[:, 0], graph.triples[:, 2]
    n = graph.n_entities
    pairs = np.unique(np.concatenate([head * n + tail, tail * n + head]))
    return np.bincount(pairs // n, minlength=n)


def doubts(task: Task) -> list[str]:
    """What will hurt the learning."""
    found = [
        f"{int(graph.isolated().sum()):,} {side} entities have no relation triple: structure cannot map them"
        for side, graph in (("source", task.source), ("target", task.target))
        if graph.isolated().any()
    ]
    if len(task.train) < FEW_LINKS:
        found.append(f"only {len(task.train)} train links: expect low accuracy")
    if not len(task.valid):
        found.append("no validation links: training runs to max_epochs and all voters weigh the same")
    elif len(task.valid) < FEW_LINKS:
        found.append(f"only {len(task.valid)} valid links: their scores are rough")
    return found
