"""Read, check and split links between two graphs. A link is a pair (source index, target index).

A rejected pair, which a file marks as not the same, must not be a link elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mixtea.errors import MAX_VALUE_KEPT, ConfigError, DataError, Problems, shorten
from mixtea.graph.graph import Graph
from mixtea.io.formats.link_tables import LinkTable, parse_confidences
from mixtea.io.formats.registry import detect_format, format_row, format_warnings
from mixtea.io.formats.tsv import drop_empty_labels
from mixtea.io.formats.typed_tables import CONFIDENCE_NAMES
from mixtea.io.links.diagnose import (
    confidence_warnings,
    count,
    filtered_warnings,
    outside_warnings,
    replace_labels,
    report_outside,
)
from mixtea.io.links.resolve import UNKNOWN, resolve_ends
from mixtea.io.memory.objects import Input
from mixtea.io.safe.limits import collect_unreadable, current_limits
from mixtea.io.table_layout import LINK_HEADERS
from mixtea.messages import visible

CONFIDENCE_HEADERS = [(*ends, name) for name in CONFIDENCE_NAMES for ends in LINK_HEADERS]
REJECTED = "rejected"  # in place of a split


@dataclass(frozen=True, eq=False)
class LinkFile:
    """The resolved pairs of one file with their lines; `rejected` marks those that are not links."""

    split: str
    path: Path
    pairs: np.ndarray
    lines: np.ndarray
    rejected: np.ndarray
    warnings: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)


def read_links(
    path: Path, split: str, source: Graph, target: Graph, problems: Problems, *, strict: bool = False
) -> LinkFile:
    """Read links in whatever format the file has; see `find_links`."""
    return find_links(read_link_table(path, problems), split, source, target, problems, strict=strict)


def read_link_table(path: Path, problems: Problems) -> LinkTable:
    """Read the links as ids; none where the file cannot be read, which is a problem."""
    with collect_unreadable(problems):
        kind = detect_format(path)
        table = format_row(kind).read_links(path, kind, problems)
        warnings, confidences = (*format_warnings(path, kind), *table.warnings), _confidences(table, kind)
        return replace(table, warnings=warnings, confidences=confidences)
    return _empty_table(path)


def _confidences(table: LinkTable, kind: str) -> np.ndarray | None:
    """Return the confidences [p], NaN where missing; None if the file has none. A table is read again for it."""
    read_columns = format_row(kind).read_columns
    if table.confidences is not None or read_columns is None:
        return table.confidences
    ignored = Problems(current_limits().max_problems)  # which were reported before
    with collect_unreadable(ignored):
        found = drop_empty_labels(read_columns(table.path, kind, CONFIDENCE_HEADERS, ignored, links=True), ignored, n=2)
        by_line = dict(zip(found.lines.tolist(), found.columns[2].tolist(), strict=True))
        return parse_confidences([by_line.get(line, "") for line in table.lines.tolist()])
    return None


def read_given_links(one: Input, problems: Problems) -> LinkTable:
    """Return the links of a file or of an object in memory, as ids or labels; none where it cannot be read."""
    if isinstance(one, Path):
        return read_link_table(one, problems)
    with collect_unreadable(problems):
        return one.links(problems)
    return _empty_table(one.path)


def _empty_table(path: Path) -> LinkTable:
    return LinkTable(path, (np.empty(0, dtype=object),) * 2, np.empty(0, dtype=np.int64))


def find_links(
    table: LinkTable, split: str, source: Graph, target: Graph, problems: Problems, *, strict: bool = False
) -> LinkFile:
    """Resolve links to indices. Those with an end outside its graph are left out with a warning; all is an error.

    So are links of entities that the user filtered out. With `strict` each end outside is a problem.
    """
    table = replace_labels(table, source, target)
    ends = resolve_ends(table, source, target)
    unwanted: np.ndarray = np.any(ends.indices < UNKNOWN, axis=0)
    outside = (ends.indices == UNKNOWN) & ~unwanted
    for graph, out in zip((source, target), outside, strict=True):
        out &= graph.n_entities > 0  # else its files are reported already, and every link would follow
    known, warnings = (ends.indices >= 0).all(axis=0), [*table.warnings]
    rejected = np.zeros(len(table), dtype=bool) if table.rejected is None else table.rejected
    what = "pair" if rejected.any() else "link"
    warnings += confidence_warnings(table, known & ~rejected)
    if strict:
        report_outside(table, ends, outside, problems)
    elif outside.any():
        warnings += outside_warnings(table, ends, outside, (source, target), what, problems)
    if (ends.turned & known).any():
        n = count((ends.turned & known).sum(), what)
        warnings.append(f"{table.path}: {n} turned round, to go from source to target")
    if unwanted.any():
        warnings += filtered_warnings(table.path, ends.indices, what)
    if (~rejected).any() and unwanted[~rejected].all():
        todo = "Keep entities that have links; obsolete ones are kept by --keep-obsolete."
        problems.add(table.path, None, "", "no link is left with these options", todo)
    pairs, lines = ends.indices.T[known], table.lines[known]
    return LinkFile(split, table.path, pairs, lines, rejected[known], tuple(warnings), table.prefixes)


def check_links(
    files: list[LinkFile], source: Graph, target: Graph, problems: Problems
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the distinct links of each split, the rejected pairs as one more split, and warnings.

    A link in two splits is a problem, and so is one that is rejected elsewhere.
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
    _report_conflicts(rows, files, source, target, problems)
    splits = {
        split: rows.loc[rows["split"] == split, ["source", "target"]].to_numpy(np.int64, copy=True)
        for split in (*dict.fromkeys(f.split for f in files), REJECTED)
    }
    return splits, warnings


def _report_conflicts(
    rows: pd.DataFrame, files: list[LinkFile], source: Graph, target: Graph, problems: Problems
) -> None:
    """Report one problem per two files that share links."""
    again = rows[rows.duplicated(["source", "target"])]
    first = rows[~rows.duplicated(["source", "target"])]
    both = again.merge(first, on=["source", "target"], suffixes=("", "_first"))
    both["contradict"] = (both["split"] == REJECTED) | (both["split_first"] == REJECTED)
    for _, alike in both.groupby(["file", "file_first", "contradict"], sort=False):
        row, n = next(alike.itertuples()), len(alike)
        ends = (str(source.ids[row.source]), str(target.ids[row.target]))
        there = f"{visible(files[row.file_first].path.name)}, line {row.line_first}"
        there += f", and {n - 1:,} more such:" if n > 1 else ":"
        what, todo = f"the link is also in {there}", "A link belongs to one split; remove one of the two."
        if row.contradict:
            here, other = ("rejected", "a link") if row.split == REJECTED else ("a link", "rejected")
            what, todo = (
                f"{here} here, and {other} in {there}",
                "Two are the same or they are not; remove one of the rows.",
            )
        elif files[row.file].path == files[row.file_first].path:
            todo = "The same file is given for two purposes: name different ones."
        problems.add(files[row.file].path, int(row.line), "\t".join(end[:MAX_VALUE_KEPT] for end in ends), what, todo)


def multiple_link_warnings(files: list[LinkFile], source: Graph, target: Graph) -> list[str]:
    """Warn about entities that have more than one link."""
    found = []
    links = np.unique(
        np.concatenate([np.empty((0, 2), dtype=np.int64), *(f.pairs[~f.rejected] for f in files)]), axis=0
    )
    for column, (side, other, graph) in enumerate((("source", "targets", source), ("target", "sources", target))):
        entities, counts = np.unique(links[:, column], return_counts=True)
        several = entities[counts > 1]
        if len(several):
            are = f"{len(several):,} {side} entities are" if len(several) > 1 else f"1 {side} entity is"
            such = shorten(str(graph.ids[several[0]]))
            found.append(f"{are} linked to several {other}, such as {such}: all these links are kept")
    return found


def split_validation(links: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (the rest, a seeded random `share` of the links); at least one link stays in the rest."""
    order = np.random.default_rng(seed).permutation(len(links))
    n = min(round(share * len(links)), max(len(links) - 1, 0))
    return links[np.sort(order[n:])], links[np.sort(order[:n])]


SHARES = {"train": 0.2, "valid": 0.1, "test": 0.7}  # as the benchmarks have it


def assign_splits(source: np.ndarray, target: np.ndarray, shares: Mapping[str, float], seed: int = 1) -> np.ndarray:
    """Return [p] the split of each link; links that share an entity stay together.

    >>> assign_splits(np.array(list("aabcd")), np.array(list("ABCDE")), {"train": 0.4, "test": 0.6}).tolist()
    ['train', 'train', 'test', 'test', 'test']
    """
    check_shares(shares)
    if not len(source):
        return np.empty(0, dtype=object)
    group = _groups(source, target)
    size = np.bincount(group)
    order = np.random.default_rng(seed).permutation(len(size))
    middle = np.empty(len(size))
    middle[order] = np.cumsum(size[order]) - size[order] / 2
    ends = np.cumsum(list(shares.values())) * len(source)
    ends[-1] = math.inf
    part = np.array(list(shares), dtype=object)[np.searchsorted(ends, middle, side="right")][group]
    for name in (name for name, share in shares.items() if share and not (part == name).any()):
        raise DataError(f"{len(source):,} links are too few for {name} links. Give it a share of 0, or add links.")
    return part


def check_shares(shares: Mapping[str, float]) -> None:
    """Raise a ConfigError unless each share is from 0 to 1 and their sum is 1."""
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ConfigError(f"{name} must be a share from 0 to 1, not {share:g}.")
    if not math.isclose(sum(shares.values()), 1, abs_tol=1e-6):
        total = " + ".join(f"{share:g}" for share in shares.values())
        raise ConfigError(f"The shares {' '.join(shares)} must come to 1: {total} is {sum(shares.values()):g}.")


def _groups(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return [p] group numbers, the same for links that are connected by entities."""
    first, left = pd.factorize(source)
    second, right = pd.factorize(target)
    n = len(left) + len(right)
    links = coo_array((np.ones(len(first), dtype=np.int8), (first, second + len(left))), shape=(n, n))
    _, found = connected_components(links, directed=False)
    return np.unique(found[first], return_inverse=True)[1]
