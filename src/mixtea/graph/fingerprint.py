"""Checksums of what a training depends on in a task."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from mixtea.graph.graph import Graph
from mixtea.graph.task import Task


def checksum(task: Task) -> str:
    """Return the checksum of the whole task, as training sees it."""
    return hashlib.sha256("".join(checksums(task).values()).encode()).hexdigest()[:16]


def checksums(task: Task) -> dict[str, str]:
    """Return a checksum per part that training sees: graphs with texts and vectors, links to learn from, decisions.

    What few tasks have is "" where there is none, so that the checksum of the whole does not depend on it then.
    """
    return {
        "source graph": _of_graph(task.source),
        "target graph": _of_graph(task.target),
        "training links": _of([task.train]),
        "validation links": _of([task.valid]),
        "rejected pairs": _of([task.rejected]),
        "opinions of people": _of([*task.reviewed]),
        "columns to compare": _of([], _words(map(str, task.compared))) if task.compared else "",
        "entities that are asked about": _of([task.asked]) if task.asked is not None else "",
        "synonyms": _of([], _words(map("\t".join, task.synonyms))) if task.synonyms else "",
    }


def _of_graph(graph: Graph) -> str:
    arrays = [graph.triples, *graph.attributes.arrays().values(), *graph.labels.arrays().values()]
    named = ("", "", *graph.name_predicates) if graph.name_predicates else ()
    words = _words((*graph.ids, "", *graph.relations, *named))
    return _of([*arrays, graph.vectors] if graph.vectors.size else arrays, words)


def _words(texts: Iterable[str]) -> bytes:
    return "\n".join(texts).encode("utf-8", "surrogatepass")


def _of(arrays: list[np.ndarray], words: bytes = b"") -> str:
    """Hash each array with its length, so that none runs into the next."""
    found = hashlib.sha256(words)
    for array in arrays:
        found.update(len(array).to_bytes(8, "big"))
        found.update(np.ascontiguousarray(array).data if array.size else b"")
    return found.hexdigest()[:16]
