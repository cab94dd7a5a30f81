"""What is said of the links of a file that are not as they should be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from mixtea.errors import Problems, shorten
from mixtea.graph.graph import Graph
from mixtea.io.formats.link_tables import LinkTable
from mixtea.io.links.diagnose import SIDES, cause_of
from mixtea.io.links.ends import LEFT_OUT, OBSOLETE, Ends
from mixtea.io.links.resolve import by_labels
from mixtea.io.safe.problems import told

EXAMPLES = 3  # of ends outside their graphs
MEND = "Correct the ids, or name the links between these two graphs."


def with_ids(table: LinkTable, source: Graph, target: Graph) -> LinkTable:
    """The links with ids in place of labels that one entity has, and a warning that counts these."""
    found, _ = by_labels(table, source, target)
    written, ids = (np.stack(one.columns) for one in (table, found))
    if not (changed := np.argwhere(written != ids)).size:
        return table
    side, row = changed[0]
    ends = "1 end is a label" if len(changed) == 1 else f"{len(changed):,} ends are labels"
    such = f"{shorten(written[side, row])} for {shorten(ids[side, row])}"
    said = f"{table.path}: {ends} in place of an id, such as {such}: taken as the entity that alone is called so"
    return replace(found, warnings=(*table.warnings, said))


def less_sure(table: LinkTable, known: np.ndarray) -> list[str]:
    """That links count alike, however sure who wrote them was."""
    measures = np.empty(0) if table.measures is None else table.measures[known]
    if not (low := measures[measures < 1]).size:
        return []
    links = f"{low.size:,} of {count(len(measures), 'link')} {'has' if low.size == 1 else 'have'} a confidence below 1"
    todo = "all count alike. Remove those that are not sure enough"
    return [f"{table.path}: {links}, the least {low.min():g}: {todo}."]


def of_unwanted(path: Path, indices: np.ndarray, what: str) -> Iterator[str]:
    """How many links go with entities that are left out of the graphs, and why these are."""
    obsolete = (indices == OBSOLETE).any(axis=0)
    others = (indices == LEFT_OUT).any(axis=0) & ~obsolete
    for rows, why in ((obsolete, "are obsolete"), (others, "the options leave out")):
        if rows.any():
            yield f"{path}: {count(rows.sum(), what)} left out, of entities that {why}"


def report_each(table: LinkTable, ends: Ends, outside: np.ndarray, problems: Problems) -> None:
    for out, ids, side in zip(outside, ends.ids, ("source", "target"), strict=True):
        for i in told(problems, table.path, np.flatnonzero(out)):
            problems.add(
                table.path, int(table.lines[i]), ids[i], f"the {side} graph has no entity",
                "Correct the id, remove the link, or leave such links out (without --strict).",
            )  # fmt: skip


def left_outside(
    table: LinkTable, ends: Ends, outside: np.ndarray, graphs: tuple[Graph, Graph], what: str, problems: Problems
) -> list[str]:
    """A warning that counts the links with an end outside, with examples and the cause; a problem if all are so."""
    cause = cause_of(ends.ids, table.lines, outside, graphs, set(table.prefixes))
    n, total = int(outside.any(axis=0).sum()), len(table)
    places = np.argwhere(outside.T)[:EXAMPLES]
    named = [f"{shorten(ends.ids[k][i])} ({SIDES[k]}, line {table.lines[i]})" for i, k in places]
    such = f"such as {', '.join(named)}"
    if n < total:
        said = (
            f"{n:,} of {count(total, what)} {'is' if n == 1 else 'are'} left out, with ends outside the graphs, {such}"
        )
        why = (
            f"{cause.what[:1].upper()}{cause.what[1:]}. {cause.todo}" if cause else "Correct the ids; the others count."
        )
        return [f"{table.path}: {said}. {why}"]
    first = (
        f"none of its {total:,} {what}s fits the graphs" if total > 1 else f"its only {what} does not fit the graphs"
    )
    problems.add(
        table.path, None, "", *((f"{first}: {cause.what}", cause.todo) if cause else (f"{first}, {such}", MEND))
    )
    return []


def count(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' if n != 1 else ''}"
