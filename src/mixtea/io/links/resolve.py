"""Resolve ids, prefixed ids and unique labels to entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mixtea.errors import DataError, Problems, listed, shorten
from mixtea.graph.graph import Graph
from mixtea.graph.labels import TRANSLATION_RANK
from mixtea.graph.prefixes import expand
from mixtea.io.formats.link_tables import TABLE_SEPARATOR, LinkTable
from mixtea.io.memory.objects import id_text
from mixtea.io.rdf.mend import NO_BASE, SCHEME, resolve_iri
from mixtea.io.safe.limits import truncate_rows
from mixtea.io.safe.sandboxed.table_child import find_header
from mixtea.io.table_layout import LINK_HEADERS
from mixtea.text.names import last_part

if TYPE_CHECKING:
    from mixtea.graph.task import Task

MAX_NAMES_SHOWN = 3  # names that are shown of several
GIVE_PAIRS = "Give pairs: [(source, target), ...]."
MAX_COMPARED = 500_000  # names that the nearest are looked for among
UNKNOWN, LEFT_OUT, OBSOLETE = -1, -2, -3  # in place of an index
MAX_PREFIX = 50


def resolve_entities(graph: Graph, names: Any, side: str) -> np.ndarray:
    """Return int64 [n], the index of each entity given by index, id or unique label; an unknown one is an error."""
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


def resolve_links(task: Task, links: Any) -> np.ndarray:
    """Return int64 [p, 2], links given by indices, ids or unique labels; the test links where none are given."""
    found = task.test if links is None else links
    if isinstance(found, str):
        raise DataError(f"Links are pairs of source and target, not the text {shorten(found)}. {GIVE_PAIRS}")
    if links is None and not len(found):
        raise DataError(f"The task has no test links. {GIVE_PAIRS}")
    if isinstance(found, Mapping):
        found = list(found.items())
    rows = as_rows(found)
    if rows is None or not len(rows):
        raise DataError(f"Links to score are [p, 2], source and target as numbers or ids, at least one. {GIVE_PAIRS}")
    if not all(is_number(name) for column in rows for name in column):
        rows = tuple([id_text(name) if is_number(name) else name for name in column] for column in rows)
    sides = ((task.source, "source"), (task.target, "target"))
    return np.stack([resolve_entities(graph, rows[place], side) for place, (graph, side) in enumerate(sides)], axis=1)


def is_number(name: Any) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool)


def as_rows(links: Any) -> tuple[list[Any], ...] | None:
    """Return the two columns of links; None if there are not two."""
    if isinstance(links, pd.DataFrame):
        places = find_header([str(name) for name in links.columns], LINK_HEADERS) or [0, 1]
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
    for place, text, called, other in zip(missing, wanted, entities_by_label(graph, wanted), in_full, strict=True):
        if len(called) > 1:
            raise DataError(_ambiguity(graph, text, called, side))
        found[place] = called[0] if len(called) else other
        if found[place] < 0:
            near = ", ".join(map(shorten, nearest_names(graph, text)))
            raise DataError(f"The {side} graph has no entity {shorten(text)}." + (f" Near it: {near}." if near else ""))
    return found


def require_unique_labels(table: LinkTable, source: Graph, target: Graph, problems: Problems) -> LinkTable:
    """Replace labels by ids; a label of several entities is a problem."""
    found, several = unique_labels_to_ids(table, source, target)
    keep = np.ones(len(table), dtype=bool)
    for side, graph in enumerate((source, target)):
        rows = np.array([*several[side]], dtype=np.int64)
        for row in truncate_rows(problems, table.path, rows).tolist():
            what = _ambiguity(graph, str(table.columns[side][row]), several[side][row], ("source", "target")[side])
            problems.add(table.path, int(table.lines[row]), "", what.rstrip("."), "Name it by its id.")
        keep[rows] = False
    return found.where(keep)


def unique_labels_to_ids(
    table: LinkTable, source: Graph, target: Graph
) -> tuple[LinkTable, tuple[dict[int, np.ndarray], ...]]:  # fmt: skip
    """Replace unique labels by ids; also return the ambiguous rows of each side.

    Formats that mark ids as such are left as they are.
    """
    columns, several = list(table.columns), (dict[int, np.ndarray](), dict[int, np.ndarray]())
    if table.undirected:
        return table, several
    unknown = resolve_ends(table, source, target).indices == UNKNOWN
    for side, graph in enumerate((source, target)):
        rows, columns[side] = np.flatnonzero(unknown[side]), columns[side].copy()
        for row, called in zip(rows.tolist(), entities_by_label(graph, columns[side][rows].tolist()), strict=True):
            if len(called) == 1:
                columns[side][row] = graph.ids[called[0]]
            elif len(called):
                several[side][row] = called
    return replace(table, columns=tuple(columns)), several


def entities_by_label(graph: Graph, texts: Sequence[str]) -> list[np.ndarray]:
    """Return for each text the indices of the entities that have it as a label of their own."""
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


def nearest_names(graph: Graph, text: str, n: int = MAX_NAMES_SHOWN) -> list[str]:
    """Return the ids and labels that share most trigrams with the text."""
    wanted = _trigrams(text)
    names = {*graph.ids[:MAX_COMPARED].tolist(), *graph.labels.text.texts()[:MAX_COMPARED]}
    shares = ((len(wanted & (own := _trigrams(name))) / len(wanted | own), name) for name in names)
    return [name for share, name in sorted(shares, key=lambda one: (-one[0], one[1]))[:n] if share > 0.2]


def _trigrams(text: str) -> set[str]:
    padded = f" {text.casefold()} "
    return {padded[i : i + 3] for i in range(len(padded) - 2)}


def _ambiguity(graph: Graph, text: str, called: np.ndarray, side: str) -> str:
    shown = listed(graph.ids[called].tolist(), MAX_NAMES_SHOWN)
    return f"{len(called):,} entities of the {side} graph are called {shorten(text)}: {shown}."


@dataclass(frozen=True, eq=False)
class LinkEnds:
    """The `indices` [2, p] and written `ids` of the ends of links, and which links are `turned`."""

    indices: np.ndarray
    ids: tuple[np.ndarray, ...]
    turned: np.ndarray


def resolve_ends(table: LinkTable, source: Graph, target: Graph) -> LinkEnds:
    """Resolve each link in the direction in which more of its ends fit, if it is undirected."""
    straight, ids = np.stack([_resolve(source, table, 0), _resolve(target, table, 1)]), table.columns
    if not table.undirected or (straight != UNKNOWN).all():
        return LinkEnds(straight, ids, np.zeros(len(table), dtype=bool))
    back = np.stack([_resolve(source, table, 1), _resolve(target, table, 0)])
    turned = (back != UNKNOWN).sum(axis=0) > (straight != UNKNOWN).sum(axis=0)
    ids = tuple(np.where(turned, ids[1 - side], ids[side]) for side in range(2))
    return LinkEnds(np.where(turned, back, straight), ids, turned)


def resolve_ids(table: LinkTable, graphs: Sequence[Graph]) -> tuple[np.ndarray, ...]:
    """Return the columns with ids as one of the graphs has them; others in full, as far as the file defines that."""
    columns = [column.copy() for column in (table.columns if table.full_ids is None else table.full_ids)]
    for place, ids in enumerate(columns):
        for graph in graphs:
            found = _resolve(graph, table, place)
            ids[found >= 0] = graph.ids[found[found >= 0]]
    return tuple(columns)


def _resolve(graph: Graph, table: LinkTable, column: int) -> np.ndarray:
    """Return the index of each id: as written, in full, as a CURIE, or by the base of relative IRIs.

    Others are UNKNOWN, LEFT_OUT or OBSOLETE.
    """
    written = table.columns[column]
    found = _find_ids(graph, written)
    if table.full_ids is not None:
        rows = np.flatnonzero(found == UNKNOWN)
        found[rows] = _find_ids(graph, table.full_ids[column][rows])
    meanings: tuple[Callable[[Graph], Callable[[str], str]], ...] = (
        lambda graph: lambda text: expand(text, graph.prefixes), _by_last_part
    )  # fmt: skip
    for meaning in meanings:
        unknown = np.flatnonzero(found == UNKNOWN)
        if short := [i for i in unknown if ":" in written[i][:MAX_PREFIX] and "://" not in written[i]]:
            meant = meaning(graph)
            found[short] = _find_ids(graph, np.array([meant(written[i]) for i in short], dtype=object))
    bases = sorted({file.base for file in graph.files if file.base})
    relative = [partial(_by_base, base=base, sign=sign) for base in bases for sign in ("", "#")]
    ways: list[Callable[[Graph, np.ndarray], np.ndarray]] = [*relative, _by_end] if bases else []
    for entities in [*ways, _by_tables] if graph.kept_apart else ways:
        if len(rows := np.flatnonzero(found == UNKNOWN)):
            found[rows] = entities(graph, written[rows])
    return found


def _by_base(graph: Graph, ids: np.ndarray, *, base: str, sign: str) -> np.ndarray:
    """Find the entities of relative IRIs in a graph whose base was supplied by mixtea."""
    short = [id.removeprefix(NO_BASE) for id in ids]
    meant = [id if SCHEME.match(end) else resolve_iri(sign + end, base) for id, end in zip(ids, short, strict=True)]
    return _find_ids(graph, np.array(meant, dtype=object))


def _by_end(graph: Graph, ids: np.ndarray) -> np.ndarray:
    """Find entities by the ends of IRIs in a graph without a namespace, if all links share one."""
    ends = [id[id.rfind("#" if "#" in id else "/") + ("#" not in id) :] for id in ids]
    found = _find_ids(graph, np.array([NO_BASE + end for end in ends], dtype=object))
    starts = {id.removesuffix(end) for id, end, place in zip(ids, ends, found, strict=True) if place != UNKNOWN}
    return found if len(starts) == 1 else np.full(len(ids), UNKNOWN)


def _by_tables(graph: Graph, ids: np.ndarray) -> np.ndarray:
    """Find entities by ids without their table's name, where only one table has such a row."""
    found = np.stack([_find_ids(graph, name + TABLE_SEPARATOR + ids) for name in graph.kept_apart])
    return np.where((found >= 0).sum(axis=0) == 1, found.max(axis=0), UNKNOWN)


def _find_ids(graph: Graph, ids: np.ndarray) -> np.ndarray:
    found = graph.find(ids)
    for why, left_out in ((LEFT_OUT, graph.left_out), (OBSOLETE, graph.obsolete)):
        if len(left_out):
            out = pd.Index(left_out, dtype=object).get_indexer(pd.Index(ids, dtype=object)) >= 0
            found[(found < 0) & out] = why
    return found


def _by_last_part(graph: Graph) -> Callable[[str], str]:
    """Return a function from `MA:0000072` to the one id that ends with `/MA_0000072`."""
    ids = [str(id) for id in (*graph.ids, *graph.left_out)]
    n = Counter(map(last_part, ids))
    only = {last: id for id in ids if n[last := last_part(id)] == 1}
    return lambda text: only.get(text.replace(":", "_", 1), text)
