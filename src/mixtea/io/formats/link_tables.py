"""Read the links of a table, and share what the readers of links have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.errors import Problems
from mixtea.graph.iris import NOTES, decode_id
from mixtea.graph.prefixes import BUILT_IN, expand
from mixtea.io.formats.headers import LINK_HEADERS, squeezed
from mixtea.io.formats.table_process import NUMBERS
from mixtea.io.formats.tables import read_columns, read_laid_out
from mixtea.io.formats.tsv import Table
from mixtea.io.formats.typed_tables import TYPED
from mixtea.io.head import head_of
from mixtea.io.safe.limits import in_force
from mixtea.io.safe.problems import UnreadableError, collected
from mixtea.io.separators import separators_of
from mixtea.io.table_layout import cells, first_lines, layout_of

IDENTITY_NAMES = ("owl:sameAs", "owl:equivalentClass", "owl:equivalentProperty", "skos:exactMatch", "skos:closeMatch")
LONGEST_REASON = 200
NO_LINKS = "Name a file of links; is this a graph?"
EQUAL = frozenset(
    ["", "=", "==", "≡", "equivrelation", "equivalence", "equivalent", "equal", "exact"]
    + [name.partition(":")[2].lower() for name in IDENTITY_NAMES]
)
IDENTITY = frozenset(expand(name, BUILT_IN) for name in IDENTITY_NAMES)
CLOSE = expand("skos:closeMatch", BUILT_IN)
NO_NOTES: Mapping[str, str] = {}
HEADERS = [(*ends, name) for name in NUMBERS for ends in LINK_HEADERS]
BETWEEN = "/"  # the name of a table and an id that another table has too
TABLES = ("source_table", "target_table")


@dataclass(frozen=True, eq=False)
class LinkTable(Table):
    """`in_full` are the ids that the columns stand for: without prefixes, and plain where an IRI holds a plain id.

    `rejected` (bool) are the rows that say two are not the same; None if no row does. With `either_way` a link may
    stand the other way round: the format says that two are the same, not whose is first. `measures` say how sure who
    wrote them was, NaN where he does not say; None if he never does.
    """

    in_full: tuple[np.ndarray, ...] | None = None
    either_way: bool = False
    warnings: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    rejected: np.ndarray | None = None
    measures: np.ndarray | None = None

    def where(self, kept: np.ndarray) -> LinkTable:
        """Some of the rows."""
        columns, full = (None if ids is None else tuple(id[kept] for id in ids) for ids in (self.columns, self.in_full))
        rejected, measures = (None if of is None else of[kept] for of in (self.rejected, self.measures))
        rows = dict(columns=columns, in_full=full, lines=self.lines[kept], rejected=rejected, measures=measures)
        return replace(self, **rows)


def equal_only(table: Table) -> LinkTable:
    """The rows of a table of links whose relation, if there is such a column, says that two are the same."""
    ends, relations = table.columns[:2], table.columns[2:]
    notes = tuple(f"{table.path}: {note}" for note in table.notes)
    if not relations:
        return LinkTable(table.path, ends, table.lines, warnings=notes)
    relation = relations[0]
    same = np.array([is_equal(text) for text in relation], dtype=bool)
    others = Counter(f"of the relation {text}" for text in relation[~same])
    if not same.any() and len(table):
        raise UnreadableError(
            table.path, None, "", f"no links among its {len(table):,} rows, by their relation", NO_LINKS
        )
    warnings = (*notes, *left_out_warning(table.path, "row", others))
    return LinkTable(table.path, tuple(end[same] for end in ends), table.lines[same], warnings=warnings)


def is_equal(relation: str) -> bool:
    """Whether a relation in an alignment says that two are the same; nothing said is that too."""
    return relation.strip().rpartition(".")[2].rpartition(":")[2].lower() in EQUAL


def columns_of(rows: Sequence[tuple[str, str]]) -> tuple[np.ndarray, ...]:
    """Two equally long arrays of str."""
    return tuple(np.array(rows, dtype=object).reshape(-1, 2).T)


def in_full(
    columns: Sequence[np.ndarray], prefixes: Mapping[str, str], notes: Mapping[str, str] = NO_NOTES
) -> tuple[np.ndarray, ...]:
    """The ids that IRIs and CURIEs stand for; `notes` are the file's on the namespaces of plain ids, by side."""
    found = []
    for column, note in zip(columns, NOTES, strict=True):
        full, namespace = np.empty(len(column), dtype=object), notes.get(note, "")
        full[:] = [decode_id(iri, namespace) or iri for iri in (expand(text, prefixes) for text in column)]
        found.append(full)
    return tuple(found)


def as_measures(texts: Sequence[str]) -> np.ndarray | None:
    """Shares as a file writes them, NaN for what is none; None if no text is one.

    >>> as_measures(["0.5", "", "high", "7"]), as_measures([""])
    (array([0.5, nan, nan, nan]), None)
    """
    shares = pd.Series([text.replace(",", ".") for text in texts], dtype=object)
    numbers = pd.to_numeric(shares, errors="coerce").to_numpy(np.float64, copy=True)
    numbers[~((numbers >= 0) & (numbers <= 1))] = np.nan
    return None if np.isnan(numbers).all() else numbers


def left_out_warning(
    path: Path, what: str, reasons: Counter[str], shown: Callable[[str], str] = lambda reason: reason
) -> tuple[str, ...]:
    """How many rows or statements are no links, with the most frequent reasons; nothing if all are links."""
    if not reasons:
        return ()
    n = reasons.total()
    most = [f"{count:,} {shown(reason)[:LONGEST_REASON]}" for reason, count in reasons.most_common(3)]
    more = ", ..." if len(reasons) > len(most) else ""
    is_are = f"{what} is" if n == 1 else f"{what}s are"
    return (f"{path}: {n:,} {is_are} left out, not saying that two are the same ({', '.join(most)}{more})",)


def close_warning(path: Path, n: int) -> tuple[str, ...]:
    """That some links say a little less than the others."""
    links = "1 link is" if n == 1 else f"{n:,} links are"
    return (f"{path}: {links} skos:closeMatch, nearly the same, and taken as such",) if n else ()


def confidence_of(table: LinkTable, kind: str) -> np.ndarray | None:
    """[p] shares, NaN where none is said; None if the file never says any. A table is read again for it."""
    if table.measures is not None or kind not in ("TSV", "CSV", *TYPED):
        return table.measures
    unsaid = Problems(in_force().max_problems)  # whatever is wrong with the file has been told
    with collected(unsaid):
        found = read_columns(table.path, kind, HEADERS, unsaid, links=True, last_may_be_empty=True)
        by_line = dict(zip(found.lines.tolist(), found.columns[2].tolist(), strict=True))
        return as_measures([by_line.get(line, "") for line in table.lines.tolist()])
    return None


def with_tables(table: LinkTable, path: Path, kind: str, problems: Problems) -> LinkTable:
    """Return links of a table of text with the names of tables before their ids, where columns say so."""
    head = head_of(path)
    names = {
        squeezed(name) for separator in separators_of(kind, head) for _, line in first_lines(head)
        for name in cells(line.removeprefix("#"), separator)
    }  # fmt: skip
    columns = list(table.columns)
    for side, name in enumerate(TABLES):
        if squeezed(name) in names:
            layout = layout_of(path, head, kind, ((squeezed(name),),))
            found = read_laid_out(path, kind, replace(layout, places=layout.places * 2), problems)  # two at least
            of_line = dict(zip(found.lines.tolist(), found.columns[0].tolist(), strict=True))
            prefixes = [of_line.get(line, "") for line in table.lines.tolist()]
            pairs = zip(prefixes, columns[side].tolist(), strict=True)
            columns[side] = np.array([f"{prefix}{BETWEEN}{id}" if prefix else id for prefix, id in pairs], dtype=object)
    return replace(table, columns=tuple(columns))
