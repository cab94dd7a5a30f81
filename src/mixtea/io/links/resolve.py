"""Entities by what a person calls them: their id, their id with a prefix, or a label that no other entity has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mixtea.errors import DataError, Problems, shorten
from mixtea.graph.graph import Graph
from mixtea.graph.labels import TRANSLATION_RANK
from mixtea.graph.prefixes import expand
from mixtea.io.formats.headers import LINK_HEADERS, header_places
from mixtea.io.formats.link_tables import LinkTable
from mixtea.io.links.ends import UNKNOWN, find_ends
from mixtea.io.memory.frames import id_text
from mixtea.io.safe.problems import told

if TYPE_CHECKING:
    from mixtea.graph.task import Task

SHOWN = 3  # names that are shown of several
LINKS = "Give pairs: [(source, target), ...]."
MOST_COMPARED = 500_000  # names that the nearest are looked for among


def entities(graph: Graph, names: Any, side: str) -> np.ndarray:
    """int64 [n]: the number of each entity, by number, by id or by unique label; whoever is unknown is an error."""
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, Iterable) or isinstance(names, Mapping | pd.DataFrame):
        raise DataError(f"The {side}s are a list of ids or labels, not an object of type {type(names).__name__}.")
    asked = list(names)
    if asked and all(map(is_number, asked)):
        return _by_number(graph, np.array(asked, dtype=np.int64), side)
    texts = [id_text(name) for name in asked]
    if None in texts:
        wrong = asked[texts.index(None)]
        raise DataError(f"The {side}s are ids or labels, which are text, not {type(wrong).__name__} {wrong!s:.100}.")
    return _by_name(graph, np.array(texts, dtype=object), side)


def links_of(task: Task, links: Any) -> np.ndarray:
    """int64 [p, 2]: links by numbers, as in a task, or by ids or unique labels; the test links where none are given."""
    found = task.test if links is None else links
    if isinstance(found, str):
        raise DataError(f"Links are pairs of source and target, not the text {shorten(found)}. {LINKS}")
    if links is None and not len(found):
        raise DataError(f"The task has no test links. {LINKS}")
    if isinstance(found, Mapping):
        found = list(found.items())
    rows = as_rows(found)
    if rows is None or not len(rows):
        raise DataError(f"Links to score are [p, 2], source and target as numbers or ids, at least one. {LINKS}")
    if not all(is_number(name) for column in rows for name in column):
        rows = tuple([id_text(name) if is_number(name) else name for name in column] for column in rows)
    sides = ((task.source, "source"), (task.target, "target"))
    return np.stack([entities(graph, rows[place], side) for place, (graph, side) in enumerate(sides)], axis=1)


def is_number(name: Any) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool)


def as_rows(links: Any) -> tuple[list[Any], ...] | None:
    """The two columns of links; None if they have not two."""
    if isinstance(links, pd.DataFrame):
        places = header_places([str(name) for name in links.columns], LINK_HEADERS) or [0, 1]
        links = links.iloc[:, places].to_numpy(dtype=object) if links.shape[1] > 1 else []
    try:
        rows = [list(row) for row in links]
    except TypeError:
        return None
    if not rows or any(len(row) != 2 for row in rows):
        return None
    return [row[0] for row in rows], [row[1] for row in rows]


def _by_number(graph: Graph, numbers: np.ndarray, side: str) -> np.ndarray:
    outside = (numbers < 0) | (numbers >= graph.n_entities)
    if outside.any():
        first = numbers[outside][0]
        raise DataError(
            f"The {side} graph has no entity of number {first}: they are 0 to {graph.n_entities - 1:,}. "
            f"If it is an id, write it as text: '{first}'."
        )
    return numbers


def _by_name(graph: Graph, texts: np.ndarray, side: str) -> np.ndarray:
    found = graph.find(texts)
    missing = np.flatnonzero(found < 0)
    wanted = [str(text) for text in texts[missing]]
    in_full = graph.find(np.array([expand(text, graph.prefixes) for text in wanted], dtype=object))
    for place, text, called, other in zip(missing, wanted, labelled(graph, wanted), in_full, strict=True):
        if len(called) > 1:
            raise DataError(_ambiguous(graph, text, called, side))
        found[place] = called[0] if len(called) else other
        if found[place] < 0:
            near = ", ".join(map(shorten, nearest_names(graph, text)))
            raise DataError(f"The {side} graph has no entity {shorten(text)}." + (f" Near it: {near}." if near else ""))
    return found


def without_labels(table: LinkTable, source: Graph, target: Graph, problems: Problems) -> LinkTable:
    """The links with ids in place of labels that one entity has; a label of several entities is a problem."""
    found, several = by_labels(table, source, target)
    keep = np.ones(len(table), dtype=bool)
    for side, graph in enumerate((source, target)):
        rows = np.array([*several[side]], dtype=np.int64)
        for row in told(problems, table.path, rows).tolist():
            what = _ambiguous(graph, str(table.columns[side][row]), several[side][row], ("source", "target")[side])
            problems.add(table.path, int(table.lines[row]), "", what.rstrip("."), "Name it by its id.")
        keep[rows] = False
    return found.where(keep)


def by_labels(
    table: LinkTable, source: Graph, target: Graph
) -> tuple[LinkTable, tuple[dict[int, np.ndarray], ...]]:  # fmt: skip
    """The links with ids in place of labels that one entity has; and the rows of a side whose label several have.

    Formats that say what is an id are left as they are.
    """
    columns, several = list(table.columns), (dict[int, np.ndarray](), dict[int, np.ndarray]())
    if table.either_way:
        return table, several
    unknown = find_ends(table, source, target).indices == UNKNOWN
    for side, graph in enumerate((source, target)):
        rows, columns[side] = np.flatnonzero(unknown[side]), columns[side].copy()
        for row, called in zip(rows.tolist(), labelled(graph, columns[side][rows].tolist()), strict=True):
            if len(called) == 1:
                columns[side][row] = graph.ids[called[0]]
            elif len(called):
                several[side][row] = called
    return replace(table, columns=tuple(columns)), several


def labelled(graph: Graph, texts: Sequence[str]) -> list[np.ndarray]:
    """For each text the numbers of the entities that have it as a label of their own."""
    if not texts:
        return []
    labels = graph.labels
    own = labels.rank != TRANSLATION_RANK
    codes, owners = labels.text.codes[own], labels.entity[own]
    order = np.argsort(codes, kind="stable")
    code_of = {text: code for code, text in enumerate(labels.text.texts())}
    wanted = np.array([code_of.get(text, UNKNOWN) for text in texts], dtype=np.int64)
    ends, nobody = (np.searchsorted(codes[order], wanted, side).tolist() for side in ("left", "right")), owners[:0]
    return [
        np.unique(owners[order[start:end]]) if start < end else nobody for start, end in zip(*ends, strict=True)
    ]  # fmt: skip


def nearest_names(graph: Graph, text: str, n: int = SHOWN) -> list[str]:
    """The ids and labels that share most of their letters, three in a row, with the text."""
    wanted = _threes(text)
    names = {*graph.ids[:MOST_COMPARED].tolist(), *graph.labels.text.texts()[:MOST_COMPARED]}
    shares = ((len(wanted & (own := _threes(name))) / len(wanted | own), name) for name in names)
    return [name for share, name in sorted(shares, key=lambda one: (-one[0], one[1]))[:n] if share > 0.2]


def _threes(text: str) -> set[str]:
    padded = f" {text.casefold()} "
    return {padded[i : i + 3] for i in range(len(padded) - 2)}


def _ambiguous(graph: Graph, text: str, called: np.ndarray, side: str) -> str:
    shown = ", ".join(shorten(str(graph.ids[i])) for i in called[:SHOWN])
    more = ", ..." if len(called) > SHOWN else ""
    return f"{len(called):,} entities of the {side} graph are called {shorten(text)}: {shown}{more}."
