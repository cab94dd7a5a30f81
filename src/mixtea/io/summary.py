"""Summarise a task in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from mixtea.graph.builder import FileRead
from mixtea.graph.graph import Graph
from mixtea.graph.labels import TRANSLATION_RANK, Labels
from mixtea.graph.task import SPLITS, Task
from mixtea.io.checks import task_warnings
from mixtea.io.naming import name_coverage
from mixtea.text.synonyms import Synonyms

TOP_RELATIONS, TOP_LANGUAGES = 5, 20


def summary(task: Task) -> dict[str, Any]:
    """Return counts of both graphs and of the links, and warnings."""
    return {
        "task": task.name,
        "fold": task.fold,
        "source": _graph(task.source),
        "target": _graph(task.target),
        "links": {split: len(getattr(task, split)) for split in SPLITS},
        "links_from": task.links_from,
        "rejected": len(task.rejected),
        "synonyms": synonym_counts(task),
        "shared_relations": len(set(task.source.relations) & set(task.target.relations)),
        "warnings": [*task.warnings, *task_warnings(task)],
    }


def _graph(graph: Graph) -> dict[str, Any]:
    degree = degrees(graph)
    own = graph.labels.take(graph.labels.rank != TRANSLATION_RANK)
    return {
        "entities": graph.n_entities,
        "relations": graph.n_relations,
        "triples": graph.n_triples,
        "attribute_triples": graph.n_attribute_triples,
        "isolated_entities": int(graph.isolated().sum()),
        "kinds": graph.kind_counts(),
        "labels": len(own),
        "names": name_coverage(graph),
        "vectors": int(graph.has_vector().sum()),
        "label_coverage": len(np.unique(own.entity)) / max(graph.n_entities, 1),
        "languages": languages(own),
        "files": [_file(file) for file in graph.files],
        "top_relations": top_relations(graph),
        "degree": {"median": float(np.median(degree)), "mean": float(degree.mean()), "max": int(degree.max())},
    }


def synonym_counts(task: Task) -> dict[str, Any]:
    """Count the groups of synonyms, and of each side the names that have a member of one."""
    if not task.synonyms:
        return {"groups": 0}
    synonyms = Synonyms(task.synonyms)
    counted = {side: synonyms.count(graph) for side, graph in (("source", task.source), ("target", task.target))}
    return {"groups": len(task.synonyms)} | {side: {"with": n, "names": of} for side, (n, of) in counted.items()}


def synonyms_line(found: Mapping[str, Any]) -> str:
    """Return what `synonym_counts` has found in words, empty without groups.

    >>> synonyms_line({"groups": 2, "source": {"with": 3, "names": 10}, "target": {"with": 0, "names": 9}})
    'synonyms: 2 groups; in 3 of 10 names of the source and 0 of 9 of the target'
    """
    if not found["groups"]:
        return ""
    source, target = (f"{found[side]['with']:,} of {found[side]['names']:,}" for side in ("source", "target"))
    groups = f"{found['groups']:,} group{'s' if found['groups'] > 1 else ''}"
    return f"synonyms: {groups}; in {source} names of the source and {target} of the target"


def _file(file: FileRead) -> dict[str, Any]:
    return {
        "path": str(file.path),
        "format": file.format,
        "triples": file.n_triples,
        "attribute_triples": file.n_attribute_triples,
    }


def degrees(graph: Graph) -> np.ndarray:
    """Return [n], the number of distinct neighbours of each entity."""
    head, tail = graph.triples[:, 0], graph.triples[:, 2]
    n = graph.n_entities
    pairs = np.unique(np.concatenate([head * n + tail, tail * n + head]))
    return np.bincount(pairs // n, minlength=n)


def languages(labels: Labels) -> dict[str, int]:
    """Count the labels in each language, the most frequent first; "" is none."""
    column = labels.language
    counts = np.bincount(column.codes, minlength=column.n_texts).tolist()
    return dict(Counter(dict(zip(column.texts(), counts, strict=True))).most_common(TOP_LANGUAGES))


def top_relations(graph: Graph, n: int = TOP_RELATIONS) -> list[dict[str, Any]]:
    """Return the relations with the most triples, for display."""
    counts = np.bincount(graph.triples[:, 1], minlength=graph.n_relations)
    most = np.argsort(-counts, kind="stable")[:n]
    return [{"relation": graph.shorten(str(graph.relations[i])), "triples": int(counts[i])} for i in most]
