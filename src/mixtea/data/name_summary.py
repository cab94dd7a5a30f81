"""What names and values a task holds, in numbers, and what voters could make of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mixtea.data.equal_names import equal_among
from mixtea.data.graph import Graph
from mixtea.data.labels import TRANSLATED
from mixtea.data.names import entity_names
from mixtea.data.task import Task


def text_summary(task: Task) -> dict[str, Any]:
    """Of each side who has names and values, and of both what is equal; of the training links, how many say the same.

    `judged` are the pairs of equal names of which an end has a training link, `right` those that are such a link.
    """
    source, target = entity_names(task.source), entity_names(task.target)
    n_equal, pairs = equal_among(source, target)
    right = len(set(map(tuple, pairs.tolist())) & set(map(tuple, task.train.tolist())))
    judged = np.isin(pairs[:, 0], task.train[:, 0]) | np.isin(pairs[:, 1], task.train[:, 1])
    values = [set(graph.attributes.value.texts()) for graph in (task.source, task.target)]
    return {
        "source": _side(task.source, source[0]),
        "target": _side(task.target, target[0]),
        "equal_names": n_equal,
        "unique_pairs": len(pairs),
        "judged": int(judged.sum()),
        "right": right,
        "share_right": right / int(judged.sum()) if judged.any() else None,
        "train_links": len(task.train),
        "equal_values": len(values[0] & values[1]),
    }


def _side(graph: Graph, entity: np.ndarray) -> dict[str, int]:
    """Of a graph, whose named entities are these."""
    n_translations = int((graph.labels.rank == TRANSLATED).sum())
    own = entity_names(graph, translated=False)[0] if n_translations else entity
    return {
        "entities": graph.n_entities,
        "named": len(np.unique(entity)),
        "named_by_themselves": len(np.unique(own)),
        "names": len(entity),
        "translations": n_translations,
        "values": graph.attributes.value.n_texts,
        "with_values": len(np.unique(graph.attributes.entity)),
    }


def text_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The same in sentences, as `inspect` prints it."""
    for side in ("source", "target"):
        has = found[side]
        translated = f", {has['translations']:,} of them translations" if has["translations"] else ""
        yield (
            f"names in the {side} graph: {has['names']:,}, of {has['named']:,} of {has['entities']:,} entities"
            f"{translated}; attribute values: {has['values']:,}, of {has['with_values']:,} entities"
        )
    yield f"equal names: {found['equal_names']:,}; pairs of entities that they single out: {found['unique_pairs']:,}"
    if found["judged"]:
        yield (
            f"of {found['judged']:,} such pairs the training links know an end; {found['right']:,} "
            f"({found['share_right']:.1%}) are links, of {found['train_links']:,}"
        )
    source, target = found["source"], found["target"]
    for voter, what in (("names", "named"), ("attributes", "with_values")):
        shared = f", {found['equal_values']:,} values on both sides" if voter == "attributes" else ""
        if source[what] and target[what]:
            yield f"the voter {voter} could use {source[what]:,} source and {target[what]:,} target entities{shared}"
        else:
            sides = [side for side in ("source", "target") if not found[side][what]]
            yield f"the voter {voter} could use nothing: there is none in the {' and in the '.join(sides)} graph"
