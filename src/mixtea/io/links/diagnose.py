"""Find why links do not fit their graphs, and report links that are left out."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np

from mixtea.errors import Problems, shorten
from mixtea.graph.graph import SIDES, Graph
from mixtea.io.formats.link_tables import LinkTable
from mixtea.io.links.resolve import LEFT_OUT, OBSOLETE, LinkEnds, entities_by_label, unique_labels_to_ids
from mixtea.io.safe.limits import truncate_rows
from mixtea.text.names import last_part

MAX_LINKS_TRIED = 2000  # links that are tried
MAX_ID_LENGTH = 2000  # characters of an id that is looked at closely
MIN_EXPLAINED = 0.5  # the share of them that a cause must explain
CURIE = re.compile(r"(?P<prefix>[A-Za-z_][\w.-]*|):(?!//)(?P<rest>.+)", re.DOTALL)
WRITE_ALIKE = "Write both alike."
MAX_EXAMPLES = 3  # of ends outside their graphs
CORRECT_IDS = "Correct the ids, or name the links between these two graphs."


class Cause(NamedTuple):
    """A root cause: what is wrong, and what to do."""

    what: str
    todo: str


class Spelling(NamedTuple):
    """A difference in how an id is written: ids with the same key are the same."""

    what: str
    key: Callable[[str], str]
    todo: str = WRITE_ALIKE


SPELLINGS = (
    Spelling("spaces around the ids", str.strip, "Remove them."),
    Spelling("angle brackets or quotes around the ids", lambda id: id.strip("<>\"'"), "Remove them."),
    Spelling("http against https", lambda id: re.sub(r"\Ahttps?://", "", id)),
    Spelling("a slash or # at the end", lambda id: id.rstrip("/#")),
    Spelling("percent-encoding", unquote),
    Spelling("capital and small letters", str.casefold),
    Spelling("spaces against underscores", lambda id: id.replace(" ", "_")),
    Spelling("composed and decomposed letters (Unicode NFC, NFD)", lambda id: unicodedata.normalize("NFC", id)),
)


def find_cause(
    ids: Sequence[np.ndarray], lines: np.ndarray, outside: np.ndarray, graphs: tuple[Graph, Graph], prefixes: set[str]
) -> Cause | None:
    """Return the cause for links with an end outside its graph (bool [2, p]), if one explains half of them or more.

    `prefixes` are those that the links declare.
    """
    rows = np.flatnonzero(outside.any(axis=0))[:MAX_LINKS_TRIED]
    ends = [column[rows] for column in ids]
    if found := _cause_of_pairs(ends, lines[rows], outside[:, rows], graphs, n=outside.shape[1]):
        return found
    of_sides = [
        cause
        for side, column, out, graph in zip(SIDES, ids, outside, graphs, strict=True)
        if out.any()
        and (cause := _cause_on_side(column[np.flatnonzero(out)[:MAX_LINKS_TRIED]].tolist(), side, graph, prefixes))
    ]
    return of_sides[0] if of_sides else None


def _cause_of_pairs(
    ends: list[np.ndarray], lines: np.ndarray, outside: np.ndarray, graphs: tuple[Graph, Graph], n: int
) -> Cause | None:
    """Find what is wrong with both ends together."""
    inside = [[graph.find(column) >= 0 for graph in graphs] for column in ends]
    if _is_common(inside[0][1] & inside[1][0]):
        what = f"source and target are swapped, as in line {lines[0]}"
        return Cause(what, "Exchange the columns, or --source and --target.")
    for number, side in enumerate(SIDES):
        if _is_common(inside[0][number] & inside[1][number]):
            todo = "Name the file of links between the two graphs; is this a graph?"
            return Cause(f"both ends are entities of the {side} graph, as in line {lines[0]}", todo)
    if len(lines) == 1 < n and outside.all() and lines[0] == 1:
        return Cause("the first line may be a header", "Remove it, or name the columns source and target.")
    return None


def _cause_on_side(ids: list[str], side: str, graph: Graph, prefixes: set[str]) -> Cause | None:
    """Find what is wrong with the ids of one side."""
    ids = [id for id in ids if len(id) <= MAX_ID_LENGTH]
    if not ids:
        return None
    there = [str(id) for id in graph.ids if len(id) <= MAX_ID_LENGTH]
    for way in SPELLINGS:
        keys = {way.key(id): id for id in there}
        if found := _explains(ids, lambda id, key=way.key, keys=keys: keys.get(key(id))):  # type: ignore[misc]
            return Cause(f"{way.what}, {_compare(*found, side)}", way.todo)
    if _explains(ids, {str(name): str(name) for name in (*graph.relations, *graph.attributes.predicate.texts())}.get):
        what = f"ids such as {shorten(ids[0])} are relations of the {side} graph, and links are between entities"
        return Cause(what, "Leave them out; `mixtea export --relations` compares relations.")
    return (
        _unknown_prefix(ids, side, graph, prefixes)
        or _labels_for_ids(ids, side, graph)
        or _other_namespace(ids, side, graph)
    )


def _unknown_prefix(ids: list[str], side: str, graph: Graph, declared: set[str]) -> Cause | None:
    """Find a prefix that neither the links nor the graph declares."""
    parts = [found for id in ids if (found := CURIE.fullmatch(id)) and found["prefix"] not in graph.prefixes]
    strange = Counter(found["prefix"] for found in parts if found["prefix"] not in declared)
    if strange.total() < MIN_EXPLAINED * len(ids) or graph.find(np.array([parts[0]["rest"]], dtype=object))[0] >= 0:
        return None
    name = strange.most_common(1)[0][0]
    by_last = {last_part(id): id for id in graph.ids}
    meant = next((by_last[found["rest"]] for found in parts if found["rest"] in by_last), "")
    todo = "Declare it (in SSSOM by curie_map), or write the ids in full"
    todo += f", as {shorten(meant)}." if meant else f", as the {side} graph has them."
    return Cause(f"the prefix {shorten(name + ':')} is declared nowhere, as in {shorten(parts[0][0])}", todo)


def _labels_for_ids(ids: list[str], side: str, graph: Graph) -> Cause | None:
    """Find labels in place of ids."""
    called = dict(zip(ids, entities_by_label(graph, ids), strict=True))
    if not (found := _explains(ids, lambda id: str(graph.ids[called[id][0]]) if len(called[id]) else "")):
        return None
    several = " that several entities have" if len(called[found[0]]) > 1 else ""
    return Cause(f"labels{several} in place of ids, {_compare(*found, side)}", "Write ids.")


def _other_namespace(ids: list[str], side: str, graph: Graph) -> Cause | None:
    """Find the same names under another namespace; else only other namespaces, as of another graph."""
    by_last = {last_part(id): id for id in graph.ids}
    if found := _explains(ids, lambda id: by_last.get(last_part(id), "") if last_part(id) else ""):
        return Cause(f"another namespace, {_compare(*found, side)}", "Write the ids as the graph does.")
    here, there = (Counter(id[: len(id) - len(last_part(id))] for id in many) for many in (ids, graph.ids))
    if here.keys() & there.keys():
        return None
    what = f"ids such as {shorten(ids[0])}, while the {side} graph has such as {shorten(str(graph.ids[0]))}"
    return Cause(what, "Is it the file of another pair, or of another version of the graph?")


def _explains(ids: list[str], meant: Callable[[str], str | None]) -> tuple[str, str] | None:
    """Return the first id with its meaning, if enough of the ids have one."""
    found = [(id, other) for id in ids if (other := meant(id))]
    return found[0] if len(found) >= MIN_EXPLAINED * len(ids) else None


def _is_common(fits: np.ndarray) -> bool:
    return bool(fits.mean() >= MIN_EXPLAINED)


def _compare(here: str, there: str, side: str) -> str:
    return f"{shorten(here)} in the links and {shorten(there)} in the {side} graph"


def replace_labels(table: LinkTable, source: Graph, target: Graph) -> LinkTable:
    """Replace labels that only one entity has by its id, with a warning that counts them."""
    found, _ = unique_labels_to_ids(table, source, target)
    written, ids = (np.stack(one.columns) for one in (table, found))
    if not (changed := np.argwhere(written != ids)).size:
        return table
    side, row = changed[0]
    ends = "1 end is a label" if len(changed) == 1 else f"{len(changed):,} ends are labels"
    such = f"{shorten(written[side, row])} for {shorten(ids[side, row])}"
    warning = f"{table.path}: {ends} in place of an id, such as {such}: taken as the only entity with this label"
    return replace(found, warnings=(*table.warnings, warning))


def confidence_warnings(table: LinkTable, known: np.ndarray) -> list[str]:
    """Warn that links count alike, whatever their confidence."""
    confidences = np.empty(0) if table.confidences is None else table.confidences[known]
    if not (low := confidences[confidences < 1]).size:
        return []
    links = (
        f"{low.size:,} of {count(len(confidences), 'link')} {'has' if low.size == 1 else 'have'} a confidence below 1"
    )
    todo = "all have the same weight. Remove those whose confidence is too low"
    return [f"{table.path}: {links}, the least {low.min():g}: {todo}."]


def filtered_warnings(path: Path, indices: np.ndarray, what: str) -> Iterator[str]:
    """Warn how many links belong to entities that are left out of the graphs, and why."""
    obsolete = (indices == OBSOLETE).any(axis=0)
    others = (indices == LEFT_OUT).any(axis=0) & ~obsolete
    for rows, why in ((obsolete, "are obsolete"), (others, "the options leave out")):
        if rows.any():
            yield f"{path}: {count(rows.sum(), what)} left out, of entities that {why}"


def report_outside(table: LinkTable, ends: LinkEnds, outside: np.ndarray, problems: Problems) -> None:
    for out, ids, side in zip(outside, ends.ids, ("source", "target"), strict=True):
        for i in truncate_rows(problems, table.path, np.flatnonzero(out)):
            problems.add(
                table.path, int(table.lines[i]), ids[i], f"the {side} graph has no entity",
                "Correct the id, remove the link, or leave such links out (without --strict).",
            )  # fmt: skip


def outside_warnings(
    table: LinkTable, ends: LinkEnds, outside: np.ndarray, graphs: tuple[Graph, Graph], what: str, problems: Problems
) -> list[str]:
    """Warn about links with an end outside, with examples and the cause; a problem if all are so."""
    cause = find_cause(ends.ids, table.lines, outside, graphs, set(table.prefixes))
    n, total = int(outside.any(axis=0).sum()), len(table)
    places = np.argwhere(outside.T)[:MAX_EXAMPLES]
    named = [f"{shorten(ends.ids[k][i])} ({SIDES[k]}, line {table.lines[i]})" for i, k in places]
    such = f"such as {', '.join(named)}"
    if n < total:
        counted = (
            f"{n:,} of {count(total, what)} {'is' if n == 1 else 'are'} left out, with ends outside the graphs, {such}"
        )
        why = (
            f"{cause.what[:1].upper()}{cause.what[1:]}. {cause.todo}" if cause else "Correct the ids; the others count."
        )
        return [f"{table.path}: {counted}. {why}"]
    first = (
        f"none of its {total:,} {what}s fits the graphs" if total > 1 else f"its only {what} does not fit the graphs"
    )
    problems.add(
        table.path, None, "", *((f"{first}: {cause.what}", cause.todo) if cause else (f"{first}, {such}", CORRECT_IDS))
    )
    return []


def count(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' if n != 1 else ''}"
