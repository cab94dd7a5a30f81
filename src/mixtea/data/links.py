"""Links between two graphs: read, check, split. A link is a pair (source index, target index).

A pair of which a file says that it is not the same is rejected: no link, and no link of anybody else's either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.data.formats.endings import format_of
from mixtea.data.formats.link_tables import LEFT_OUT, UNKNOWN, LinkTable, find_ends
from mixtea.data.formats.registry import FORMATS
from mixtea.data.graph import Graph
from mixtea.data.safe.problems import collected, told
from mixtea.errors import KEPT, Problems, shorten
from mixtea.text import visible

REJECTED = "rejected"  # in place of a split


@dataclass(frozen=True, eq=False)
class LinkFile:
    """The pairs of one file that name known entities, with where they stand; `rejected` says which are no links."""

    split: str
    path: Path
    pairs: np.ndarray
    lines: np.ndarray
    rejected: np.ndarray
    warnings: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)


def read_links(path: Path, split: str, source: Graph, target: Graph, problems: Problems) -> LinkFile:
    """Read links in the format that the file's ending means; an id outside its graph is a problem."""
    return find_links(read_link_table(path, problems), split, source, target, problems)


def read_link_table(path: Path, problems: Problems) -> LinkTable:
    """The links as ids; none where the file cannot be read, which is a problem."""
    with collected(problems):
        kind = format_of(path)
        return FORMATS[kind].read_links(path, kind, problems)
    return LinkTable(path, (np.empty(0, dtype=object),) * 2, np.empty(0, dtype=np.int64))


def find_links(table: LinkTable, split: str, source: Graph, target: Graph, problems: Problems) -> LinkFile:
    """The links as numbers. An entity that the user left out of a graph takes its links along, with a warning."""
    found, ids, turned = find_ends(table, source, target)
    unwanted = (found == LEFT_OUT).any(axis=0)
    for graph, indices, ends, side in zip((source, target), found, ids, ("source", "target"), strict=True):
        if not graph.n_entities:
            continue  # its files are reported already, and every link would follow
        for i in told(problems, table.path, np.flatnonzero((indices == UNKNOWN) & ~unwanted)):
            problems.add(
                table.path, int(table.lines[i]), ends[i], f"the {side} graph has no entity",
                "Correct the id, remove the link, or check that the columns are source, then target.",
            )  # fmt: skip
    known, warnings = (found >= 0).all(axis=0), [*table.warnings]
    rejected = np.zeros(len(table), dtype=bool) if table.rejected is None else table.rejected
    what = "pair" if rejected.any() else "link"
    if (turned & known).any():
        n = _count((turned & known).sum(), what)
        warnings.append(f"{table.path}: {n} turned round, to go from source to target")
    if unwanted.any():
        n = _count(unwanted.sum(), what)
        warnings.append(f"{table.path}: {n} left out, of entities that the options leave out")
    if (~rejected).any() and unwanted[~rejected].all():
        problems.add(table.path, None, "", "no link is left with these options", "Keep entities that have links.")
    pairs, lines = found.T[known], table.lines[known]
    return LinkFile(split, table.path, pairs, lines, rejected[known], tuple(warnings), table.prefixes)


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' if n != 1 else ''}"


def check_links(
    files: list[LinkFile], source: Graph, target: Graph, problems: Problems, *, one_to_many: bool
) -> tuple[dict[str, np.ndarray], list[str]]:
    """The links of each split without repetitions, the rejected pairs as one split more, and warnings.

    A link in two splits is a problem, and so is one that is rejected elsewhere; so is an entity with two different
    links, unless `one_to_many`.
    """
    if not files:
        return {}, []
    split_of = np.array([f.split for f in files], dtype=object)
    rows = pd.DataFrame(
        {
            "source": np.concatenate([f.pairs[:, 0] for f in files]),
            "target": np.concatenate([f.pairs[:, 1] for f in files]),
            "file": np.repeat(np.arange(len(files)), [len(f.pairs) for f in files]),
            "line": np.concatenate([f.lines for f in files]),
        }
    )
    rows["split"] = np.where(np.concatenate([f.rejected for f in files]), REJECTED, split_of[rows["file"]])
    repeated = rows.duplicated(["source", "target", "split"])
    warnings = [warning for file in files for warning in file.warnings]
    warnings += [
        f"{files[f].path}: {n} repeated link{'s' if n > 1 else ''}, used once"
        for f, n in rows.loc[repeated & (rows["split"] != REJECTED), "file"].value_counts(sort=False).items()
    ]
    rows = rows[~repeated]
    _report_second_places(rows, files, source, target, problems)
    if not one_to_many:
        once = rows[(rows["split"] != REJECTED) & ~rows.duplicated(["source", "target"])]
        for side, other, graph, other_graph in (
            ("source", "target", source, target),
            ("target", "source", target, source),
        ):
            _report_contradictions(once, side, other, files, graph, other_graph, problems)
    splits = {
        split: rows.loc[rows["split"] == split, ["source", "target"]].to_numpy(np.int64, copy=True)
        for split in (*dict.fromkeys(f.split for f in files), REJECTED)
    }
    return splits, warnings


def _report_second_places(
    rows: pd.DataFrame, files: list[LinkFile], source: Graph, target: Graph, problems: Problems
) -> None:
    again = rows[rows.duplicated(["source", "target"])]
    first = rows[~rows.duplicated(["source", "target"])]
    both = again.merge(first, on=["source", "target"], suffixes=("", "_first"))
    for row in _told_rows(both, files, problems).itertuples():
        ends = (str(source.ids[row.source]), str(target.ids[row.target]))
        there = f"{visible(files[row.file_first].path.name)}, line {row.line_first}:"
        what, todo = f"the link is also in {there}", "A link belongs to one split; remove one of the two."
        if REJECTED in (row.split, row.split_first):
            here, said = ("rejected", "a link") if row.split == REJECTED else ("a link", "rejected")
            what, todo = (
                f"{here} here, and {said} in {there}",
                "Two are the same or they are not; remove one of the rows.",
            )
        problems.add(files[row.file].path, int(row.line), "\t".join(end[:KEPT] for end in ends), what, todo)


def _report_contradictions(
    rows: pd.DataFrame, side: str, other: str, files: list[LinkFile], graph: Graph, other_graph: Graph,
    problems: Problems,
) -> None:  # fmt: skip
    again = rows[rows.duplicated(side)]
    first = rows[~rows.duplicated(side)]
    for row in _told_rows(again.merge(first, on=side, suffixes=("", "_first")), files, problems).itertuples():
        here, there = (shorten(str(other_graph.ids[getattr(row, name)])) for name in (other, f"{other}_first"))
        name = visible(files[row.file_first].path.name)
        problems.add(
            files[row.file].path, int(row.line), str(graph.ids[getattr(row, side)]),
            f"linked to {here} here and to {there} in {name}, line {row.line_first}:",
            "Keep one of the two links, or ask for one-to-many (--one-to-many).",
        )  # fmt: skip


def _told_rows(rows: pd.DataFrame, files: list[LinkFile], problems: Problems) -> pd.DataFrame:
    """Of each file the first rows, as many as are told one by one."""
    places = [told(problems, f.path, np.flatnonzero(rows["file"] == i)) for i, f in enumerate(files)]
    return rows.iloc[np.sort(np.concatenate(places))]


def split_off(links: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(the rest, a seeded random `share` of the links): at least one link stays in the rest."""
    order = np.random.default_rng(seed).permutation(len(links))
    n = min(round(share * len(links)), max(len(links) - 1, 0))
    return links[np.sort(order[n:])], links[np.sort(order[:n])]
