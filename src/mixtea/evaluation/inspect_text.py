"""Count the names and values of a task, and what voters could make of them. No torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mixtea.evaluation.inspect_columns import candidate_lines, candidate_summary, column_summary, has_tables
from mixtea.graph.graph import Graph
from mixtea.graph.labels import TRANSLATION_RANK
from mixtea.graph.task import Task
from mixtea.text.equality import equal_name_pairs
from mixtea.text.names import entity_names
from mixtea.voters.attributes.opinions import AttributeOpinions
from mixtea.voters.names.opinions import NameOpinions
from mixtea.voters.similarity import SimilarityOpinions


def text_summary(task: Task) -> dict[str, Any]:
    """Count names and values of each side, equal ones of both, and the training links whose names are equal.

    `judged` are the pairs of equal names of which an end has a training link, `right` those that are such a link.
    Values are counted as the voter of attributes compares them: labels are left out, and one value may be written in
    many ways. `compared` are the entities that it has an opinion about before it has learned.
    """
    source, target = entity_names(task.source), entity_names(task.target)
    n_equal, pairs = equal_name_pairs(source, target)
    right = len(set(map(tuple, pairs.tolist())) & set(map(tuple, task.train.tolist())))
    judged = np.isin(pairs[:, 0], task.train[:, 0]) | np.isin(pairs[:, 1], task.train[:, 1])
    values = AttributeOpinions(task) if _has_values(task) else None
    sides, equal_values = _values(values)
    views: dict[str, SimilarityOpinions] = {"names": NameOpinions(task)} if len(source[0]) and len(target[0]) else {}
    views |= {"values": values} if values is not None and values.has_both_sides else {}
    return {
        "source": _side(task.source, source[0]) | sides[0],
        "target": _side(task.target, target[0]) | sides[1],
        "equal_names": n_equal,
        "unique_pairs": len(pairs),
        "judged": int(judged.sum()),
        "right": right,
        "share_right": right / int(judged.sum()) if judged.any() else None,
        "train_links": len(task.train),
        "equal_values": equal_values,
        "columns": column_summary(task, values),
        "candidates": candidate_summary(task, views) if has_tables(task) else [],
    }


def _has_values(task: Task) -> bool:
    return any(graph.n_attribute_triples for graph in (task.source, task.target))


def _values(opinions: AttributeOpinions | None) -> tuple[list[dict[str, int]], int]:
    """Count the values of each side; and those that both have, as a literal on one side at least."""
    if opinions is None:
        return [dict.fromkeys(("values", "with_values", "compared"), 0)] * 2, 0
    found, stated, literals = [], [], []
    for of, has in zip(opinions.sides, opinions.has, strict=True):
        whole = opinions.values.wholes[of.value]
        literal = (of.predicate < of.n_literal) & (whole >= 0)
        stated.append({*whole[whole >= 0].tolist()})
        literals.append({*whole[literal].tolist()})
        n_with = len(np.unique(of.entity[literal]))
        found.append({"values": len(literals[-1]), "with_values": n_with, "compared": int(has.sum())})
    return found, len(stated[0] & stated[1] & (literals[0] | literals[1]))


def _side(graph: Graph, entity: np.ndarray) -> dict[str, int]:
    """Count the names of a graph, whose named entities are these."""
    n_translations = int((graph.labels.rank == TRANSLATION_RANK).sum())
    own = entity_names(graph, translated=False)[0] if n_translations else entity
    return {
        "entities": graph.n_entities,
        "named": len(np.unique(entity)),
        "named_by_themselves": len(np.unique(own)),
        "names": len(entity),
        "translations": n_translations,
    }


def text_summary_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Format the summary in sentences, as `inspect` prints it."""
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
    n_pairs = found["source"]["entities"] * found["target"]["entities"]
    yield from candidate_lines(found["candidates"], n_pairs)
    source, target = found["source"], found["target"]
    unnamed = " and in the ".join(side for side in ("source", "target") if not found[side]["named"])
    why = f"there is none in the {unnamed} graph"
    yield f"the voter names could use {_usable(source['named'], target['named'], '', why)}"
    shared = f"{found['equal_values']:,} values on both sides"
    why = f"no two predicates have enough in common, {shared}" if source["values"] or target["values"] else "none there"
    yield f"the voter attributes could use {_usable(source['compared'], target['compared'], f', {shared}', why)}"


def _usable(n_source: int, n_target: int, more: str, why_not: str) -> str:
    both = f"{n_source:,} source and {n_target:,} target entities{more}"
    return both if n_source and n_target else f"nothing: {why_not}"
