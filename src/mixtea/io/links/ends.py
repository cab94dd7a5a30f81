"""Which entities the ends of links are, by the ways in which people write ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from mixtea.graph.graph import Graph
from mixtea.graph.prefixes import expand
from mixtea.io.formats.link_tables import LinkTable
from mixtea.io.formats.table_columns import BETWEEN
from mixtea.io.rdf.mend import NO_BASE, SCHEME, resolved
from mixtea.text.names import last_part

UNKNOWN, LEFT_OUT, OBSOLETE = -1, -2, -3  # in place of an index
LONGEST_PREFIX = 50


@dataclass(frozen=True, eq=False)
class Ends:
    """`indices` [2, p] of the ends of each link, `ids` as they are written, and which links are `turned`."""

    indices: np.ndarray
    ids: tuple[np.ndarray, ...]
    turned: np.ndarray


def find_ends(table: LinkTable, source: Graph, target: Graph) -> Ends:
    """Each link the way in which more of its ends fit, where it may stand either way."""
    straight, ids = np.stack([_find(source, table, 0), _find(target, table, 1)]), table.columns
    if not table.either_way or (straight != UNKNOWN).all():
        return Ends(straight, ids, np.zeros(len(table), dtype=bool))
    back = np.stack([_find(source, table, 1), _find(target, table, 0)])
    turned = (back != UNKNOWN).sum(axis=0) > (straight != UNKNOWN).sum(axis=0)
    ids = tuple(np.where(turned, ids[1 - side], ids[side]) for side in range(2))
    return Ends(np.where(turned, back, straight), ids, turned)


def ids_in(table: LinkTable, graphs: Sequence[Graph]) -> tuple[np.ndarray, ...]:
    """The columns with ids as one of the graphs has them; others in full, as far as the file says what that is."""
    columns = [column.copy() for column in (table.columns if table.in_full is None else table.in_full)]
    for place, ids in enumerate(columns):
        for graph in graphs:
            found = _find(graph, table, place)
            ids[found >= 0] = graph.ids[found[found >= 0]]
    return tuple(columns)


def _find(graph: Graph, table: LinkTable, column: int) -> np.ndarray:
    """The index of each id, as written, else in full, else of a CURIE's, else by the base of relative IRIs.

    UNKNOWN, LEFT_OUT or OBSOLETE if not.
    """
    written = table.columns[column]
    found = _places(graph, written)
    if table.in_full is not None:
        rows = np.flatnonzero(found == UNKNOWN)
        found[rows] = _places(graph, table.in_full[column][rows])
    for meaning in (_by_prefixes, _by_last_parts):
        if short := [i for i in np.flatnonzero(found == UNKNOWN) if _is_curie(written[i])]:
            meant = meaning(graph)
            found[short] = _places(graph, np.array([meant(written[i]) for i in short], dtype=object))
    bases = sorted({file.base for file in graph.files if file.base})
    relative = [partial(_by_base, base=base, sign=sign) for base in bases for sign in ("", "#")]
    ways: list[Callable[[Graph, np.ndarray], np.ndarray]] = [*relative, _by_end] if bases else []
    for entities in [*ways, _by_tables] if graph.kept_apart else ways:
        if len(rows := np.flatnonzero(found == UNKNOWN)):
            found[rows] = entities(graph, written[rows])
    return found


def _by_base(graph: Graph, ids: np.ndarray, *, base: str, sign: str) -> np.ndarray:
    """The entities that relative IRIs stand for in a graph whose file has a base of ours."""
    short = [id.removeprefix(NO_BASE) for id in ids]
    meant = [id if SCHEME.match(end) else resolved(sign + end, base) for id, end in zip(ids, short, strict=True)]
    return _places(graph, np.array(meant, dtype=object))


def _by_end(graph: Graph, ids: np.ndarray) -> np.ndarray:
    """The entities by the ends of IRIs, where the graph's file names no namespace: links do, if all name the same."""
    ends = [id[id.rfind("#" if "#" in id else "/") + ("#" not in id) :] for id in ids]
    found = _places(graph, np.array([NO_BASE + end for end in ends], dtype=object))
    starts = {id.removesuffix(end) for id, end, place in zip(ids, ends, found, strict=True) if place != UNKNOWN}
    return found if len(starts) == 1 else np.full(len(ids), UNKNOWN)


def _by_tables(graph: Graph, ids: np.ndarray) -> np.ndarray:
    """Return the entities by ids without the name of their table, where only one table has such a row."""
    found = np.stack([_places(graph, name + BETWEEN + ids) for name in graph.kept_apart])
    return np.where((found >= 0).sum(axis=0) == 1, found.max(axis=0), UNKNOWN)


def _places(graph: Graph, ids: np.ndarray) -> np.ndarray:
    found = graph.find(ids)
    for why, left_out in ((LEFT_OUT, graph.left_out), (OBSOLETE, graph.obsolete)):
        if len(left_out):
            out = pd.Index(left_out, dtype=object).get_indexer(pd.Index(ids, dtype=object)) >= 0
            found[(found < 0) & out] = why
    return found


def _is_curie(text: str) -> bool:
    return ":" in text[:LONGEST_PREFIX] and "://" not in text


def _by_prefixes(graph: Graph) -> Callable[[str], str]:
    """What an id with a prefix stands for, as the graph's files say."""
    return lambda text: expand(text, graph.prefixes)


def _by_last_parts(graph: Graph) -> Callable[[str], str]:
    """The same where only the ids tell: `MA:0000072` is the one entity whose id ends with `/MA_0000072`."""
    ids = [str(id) for id in (*graph.ids, *graph.left_out)]
    n = Counter(map(last_part, ids))
    only = {last: id for id in ids if n[last := last_part(id)] == 1}
    return lambda text: only.get(text.replace(":", "_", 1), text)
