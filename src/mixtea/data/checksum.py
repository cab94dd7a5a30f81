"""Whether two tasks are the same to a training."""

from __future__ import annotations

import hashlib

import numpy as np

from mixtea.data.task import Task


def checksum(task: Task) -> str:
    """Of all that training sees: graphs with texts and vectors, training and validation links, what people said."""
    found = hashlib.sha256()
    for graph in (task.source, task.target):
        found.update("\n".join((*graph.ids, "", *graph.relations)).encode("utf-8", "surrogatepass"))
        arrays = [graph.triples, *graph.attributes.arrays().values(), *graph.labels.arrays().values()]
        _add(found, [*arrays, graph.vectors] if graph.vectors.size else arrays)
    _add(found, [task.train, task.valid, task.rejected])
    if len(task.reviewed.pairs):
        _add(found, [*task.reviewed])
    return found.hexdigest()[:16]


def _add(found: hashlib._Hash, arrays: list[np.ndarray]) -> None:
    """Each with its length, so that none runs into the next."""
    for array in arrays:
        found.update(len(array).to_bytes(8, "big"))
        found.update(np.ascontiguousarray(array).data if array.size else b"")
