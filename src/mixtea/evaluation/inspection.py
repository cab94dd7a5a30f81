"""Inspect the names, values and table columns of a task, and what voters could make of them. No torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mixtea.errors import shorten
from mixtea.graph.builder import ColumnRead
from mixtea.graph.graph import Graph
from mixtea.graph.labels import PLAIN_LABEL_PREDICATES, TRANSLATION_RANK
from mixtea.graph.task import SPLITS, Task
from mixtea.io.columns.kinds import NAME, TEXT
from mixtea.io.columns.rows import name_of_table
from mixtea.text.names import entity_names, equal_name_pairs
from mixtea.voters.attributes import AttributeOpinions, Attributes
from mixtea.voters.base import Voter
from mixtea.voters.names import NameOpinions
from mixtea.voters.similarity import SimilarityOpinions

MAX_PARTNERS_SHOWN = 4
HEADER = ("side", "column", "taken as", "compared with", "filled", "distinct")


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
    has_values = any(graph.n_attribute_triples for graph in (task.source, task.target))
    values = AttributeOpinions(task) if has_values else None
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


# Columns of tables


def has_tables(task: Task) -> bool:
    """Return whether a side was read from a table with an entity per row."""
    return any(file.columns for graph in (task.source, task.target) for file in graph.files)


def column_summary(task: Task, opinions: AttributeOpinions | None) -> list[dict[str, Any]]:
    """Return a row per column of the tables of both sides, with the columns of the other side that it is compared with.

    Names are compared with names, values as `opinions` has it.
    """
    partners: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})
    for ends in [] if opinions is None else opinions.columns_compared:
        for side in (0, 1):
            partners[side].setdefault(ends[side].name, []).append(ends[1 - side].name)
    found = []
    sides = (("source", task.source, task.target), ("target", task.target, task.source))
    for (name, graph, other), known in zip(sides, partners, strict=True):
        several = sum(bool(file.columns) for file in graph.files) > 1  # then tables are named
        for file in graph.files:
            about = {"side": name, "file": str(file.path), "table": name_of_table(file.path) if several else ""}
            found += [about | _row(column, graph, other, known) for column in file.columns]
    return found


def _row(column: ColumnRead, graph: Graph, other: Graph, partners: Mapping[str, list[str]]) -> dict[str, Any]:
    predicate = PLAIN_LABEL_PREDICATES.get(column.name.casefold(), column.name)
    is_name = graph.is_name(predicate)
    taken = NAME if is_name else TEXT if column.kind == NAME else column.kind
    found = partners.get(column.name, [])
    if is_name:
        there = dict.fromkeys(column.name for file in other.files for column in file.columns)
        found = [name for name in there if other.is_name(PLAIN_LABEL_PREDICATES.get(name.casefold(), name))]
    return {
        "column": column.name,
        "taken_as": taken,
        "refers_to": column.refers_to,
        "by_hint": column.is_hint,
        "compared_with": found,
        "filled": column.filled,
        "distinct": column.distinct,
    }


def column_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Format the summary as a table of text under a header; nothing where there are no tables."""
    if not rows:
        return []
    cells = [HEADER, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    taken = row["taken_as"] + (f" to {row['refers_to']}" if row["refers_to"] else "")
    taken += " (as you say)" if row["by_hint"] else ""
    shown, more = row["compared_with"][:MAX_PARTNERS_SHOWN], len(row["compared_with"]) - MAX_PARTNERS_SHOWN
    partners = ", ".join(shorten(name, 40) for name in shown) or "–"
    partners += f" and {more} more" if more > 0 else ""
    side = f"{row['side']} {shorten(row['table'], 40)}" if row["table"] else row["side"]
    return (side, shorten(row["column"], 40), taken, partners, f"{row['filled']:.0%}", f"{row['distinct']:.0%}")


def candidate_summary(task: Task, views: Mapping[str, SimilarityOpinions]) -> list[dict[str, Any]]:
    """Count the pairs that each view brings together before anything is learned, and the links among them."""
    links = np.concatenate([getattr(task, split) for split in SPLITS])
    found = []
    for name, opinions in views.items():
        n_found = int(opinions.found.find(links[:, 0], links[:, 1])[1].sum())
        found.append({"by": name, "pairs": len(opinions.found), "links": len(links), "links_found": n_found})
    return found


def candidate_lines(found: Sequence[Mapping[str, Any]], n_pairs: int) -> Iterator[str]:
    """Format the summary in sentences; `n_pairs` are all that there could be.

    >>> [*candidate_lines([{"by": "names", "pairs": 40, "links": 5, "links_found": 4}], 1000)]
    ['names bring together 40 of 1,000 pairs; 4 of 5 links are among them (80%)']
    """
    for one in found:
        line = f"{one['by']} bring together {one['pairs']:,} of {n_pairs:,} pairs"
        n, of = one["links_found"], one["links"]
        yield line + (f"; {n:,} of {of:,} links are among them ({n / of:.0%})" if of else "")


def columns_by_voters(task: Task, voters: Sequence[Voter]) -> list[str]:
    """Return the lines of `column_lines` with what the voter of values compares, if it takes part."""
    if not has_tables(task):
        return []
    of_values = [voter.opinions() for voter in voters if isinstance(voter, Attributes) and voter.is_applicable()]
    return column_lines(column_summary(task, next(iter(of_values), None)))
