"""Report how columns of tables were read, what they are compared with, and which candidates values propose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mixtea.errors import shorten
from mixtea.graph.builder import ColumnRead, FileRead
from mixtea.graph.graph import Graph
from mixtea.graph.labels import PLAIN_LABEL_PREDICATES
from mixtea.graph.task import SPLITS, Task
from mixtea.io.columns.kinds import NAME, TEXT
from mixtea.io.columns.rows import name_of_table
from mixtea.voters.attributes.opinions import AttributeOpinions
from mixtea.voters.attributes.voter import Attributes
from mixtea.voters.base import Voter
from mixtea.voters.similarity import SimilarityOpinions

MAX_PARTNERS_SHOWN = 4
HEADER = ("side", "column", "taken as", "compared with", "filled", "distinct")


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
    graphs = {"source": task.source, "target": task.target}
    return [
        {"side": side, "file": str(file.path), "table": _table(file, graph)}
        | _row(column, graph, other, partners[place])
        for place, (side, graph) in enumerate(graphs.items())
        for other in (graphs[("target", "source")[place]],)
        for file in graph.files
        for column in file.columns
    ]


def _table(file: FileRead, graph: Graph) -> str:
    """Return the name of a table where its side has several."""
    several = sum(bool(other.columns) for other in graph.files) > 1
    return name_of_table(file.path) if several else ""


def _row(column: ColumnRead, graph: Graph, other: Graph, partners: Mapping[str, list[str]]) -> dict[str, Any]:
    predicate = PLAIN_LABEL_PREDICATES.get(column.name.casefold(), column.name)
    is_name = graph.is_name(predicate)
    taken = NAME if is_name else TEXT if column.kind == NAME else column.kind
    found = _names_of(other) if is_name else partners.get(column.name, [])
    return {
        "column": column.name,
        "taken_as": taken,
        "refers_to": column.refers_to,
        "by_hint": column.is_hint,
        "compared_with": found,
        "filled": column.filled,
        "distinct": column.distinct,
    }


def _names_of(graph: Graph) -> list[str]:
    columns = [column.name for file in graph.files for column in file.columns]
    return [name for name in dict.fromkeys(columns) if graph.is_name(PLAIN_LABEL_PREDICATES.get(name.casefold(), name))]


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
