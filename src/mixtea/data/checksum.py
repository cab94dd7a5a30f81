"""Whether two tasks are the same to a training."""

from __future__ import annotations

import hashlib

from mixtea.data.task import Task


def checksum(task: Task) -> str:
    """Of everything that training sees: both graphs, training and validation links."""
    found = hashlib.sha256()
    for graph in (task.source, task.target):
        found.update("\n".join((*graph.ids, "", *graph.relations)).encode("utf-8", "surrogatepass"))
        found.update(graph.triples.tobytes())
    for links in (task.train, task.valid):
        found.update(len(links).to_bytes(8, "big") + links.tobytes())
    return found.hexdigest()[:16]
