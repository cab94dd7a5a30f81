"""Read the links of a table and recognise their header, and share what the readers of links have in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.errors import Problems, shorten
from mixtea.graph.iris import NOTES, decode_id
from mixtea.graph.prefixes import BUILT_IN, expand
from mixtea.io.formats.tables import read_layout
from mixtea.io.formats.tsv import Table
from mixtea.io.head import head_of
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.safe.sandboxed.table_child import normalise_header
from mixtea.io.table_layout import ID_NAME, find_layout, possible_headers

IDENTITY_NAMES = ("owl:sameAs", "owl:equivalentClass", "owl:equivalentProperty", "skos:exactMatch", "skos:closeMatch")
MAX_REASON = 200
NO_LINKS = "Name a file of links; is this a graph?"
EQUAL_RELATIONS = frozenset(
    ["", "=", "==", "≡", "equivrelation", "equivalence", "equivalent", "equal", "exact"]
    + [name.partition(":")[2].lower() for name in IDENTITY_NAMES]
)
IDENTITY = frozenset(expand(name, BUILT_IN) for name in IDENTITY_NAMES)
CLOSE = expand("skos:closeMatch", BUILT_IN)
NO_NOTES: Mapping[str, str] = {}
TABLE_SEPARATOR = "/"  # the name of a table and an id that another table has too
TABLE_COLUMNS = ("source_table", "target_table")


@dataclass(frozen=True, eq=False)
class LinkTable(Table):
    """Links of one file, before their ends are resolved.

    `full_ids` are the ids that the columns stand for: without prefixes, and plain where an IRI encodes a plain id.
    `rejected` (bool) marks pairs that are not the same; None if there are none. `undirected` links may have source and
    target swapped: the format states identity, not direction. `confidences` are those of the author of the links, NaN
    where missing; None if the file has none. `slots` are what SSSOM says of a pair, by the full ids of both.
    """

    full_ids: tuple[np.ndarray, ...] | None = None
    undirected: bool = False
    warnings: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    rejected: np.ndarray | None = None
    confidences: np.ndarray | None = None
    slots: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)

    def where(self, kept: np.ndarray) -> LinkTable:
        """Return some of the rows."""
        columns, full = (
            None if ids is None else tuple(id[kept] for id in ids) for ids in (self.columns, self.full_ids)
        )
        rejected, confidences = (None if of is None else of[kept] for of in (self.rejected, self.confidences))
        rows = dict(columns=columns, full_ids=full, lines=self.lines[kept], rejected=rejected, confidences=confidences)
        return replace(self, **rows)


def identity_links(table: Table) -> LinkTable:
    """Return the rows of a link table whose relation, if it has such a column, is identity."""
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
    """Return whether a relation of an alignment is identity; an empty one is too."""
    return relation.strip().rpartition(".")[2].rpartition(":")[2].lower() in EQUAL_RELATIONS


def link_columns(rows: Sequence[tuple[str, str]]) -> tuple[np.ndarray, ...]:
    """Return two equally long arrays of str."""
    return tuple(np.array(rows, dtype=object).reshape(-1, 2).T)


def full_id(text: str, prefixes: Mapping[str, str], namespace: str) -> str:
    iri = expand(text, prefixes)
    return decode_id(iri, namespace) or iri


def expand_ids(
    columns: Sequence[np.ndarray], prefixes: Mapping[str, str], notes: Mapping[str, str] = NO_NOTES
) -> tuple[np.ndarray, ...]:
    """Return the ids that IRIs and CURIEs stand for; `notes` are the file's namespaces of plain ids, by side."""
    found = []
    for column, note in zip(columns, NOTES, strict=True):
        full, namespace = np.empty(len(column), dtype=object), notes.get(note, "")
        full[:] = [full_id(text, prefixes, namespace) for text in column]
        found.append(full)
    return tuple(found)


def parse_confidences(texts: Sequence[str]) -> np.ndarray | None:
    """Return shares as floats, NaN for other texts; None if no text is a share.

    >>> parse_confidences(["0.5", "", "high", "7"]), parse_confidences([""])
    (array([0.5, nan, nan, nan]), None)
    """
    shares = pd.Series([text.replace(",", ".") for text in texts], dtype=object)
    numbers = pd.to_numeric(shares, errors="coerce").to_numpy(np.float64, copy=True)
    numbers[~((numbers >= 0) & (numbers <= 1))] = np.nan
    return None if np.isnan(numbers).all() else numbers


def left_out_warning(
    path: Path, what: str, reasons: Counter[str], shown: Callable[[str], str] = lambda reason: reason
) -> tuple[str, ...]:
    """Warn how many rows or statements are not links, with the most frequent reasons."""
    if not reasons:
        return ()
    n = reasons.total()
    most = [f"{count:,} {shown(reason)[:MAX_REASON]}" for reason, count in reasons.most_common(3)]
    more = ", ..." if len(reasons) > len(most) else ""
    is_are = f"{what} is" if n == 1 else f"{what}s are"
    return (f"{path}: {n:,} {is_are} left out, not stating that two are the same ({', '.join(most)}{more})",)


def close_warning(path: Path, n: int) -> tuple[str, ...]:
    """Warn that some links are skos:closeMatch, taken as identity."""
    links = "1 link is" if n == 1 else f"{n:,} links are"
    return (f"{path}: {links} skos:closeMatch, nearly the same, and taken as such",) if n else ()


def prefix_tables(table: LinkTable, path: Path, kind: str, problems: Problems) -> LinkTable:
    """Prefix the ids of a text table with table names, where columns give them."""
    head = head_of(path)
    names = {normalise_header(name) for _, _, found in possible_headers(kind, head) for name in found}
    columns = list(table.columns)
    for side, name in enumerate(TABLE_COLUMNS):
        if normalise_header(name) in names:
            layout = find_layout(path, head, kind, ((normalise_header(name),),))
            found = read_layout(path, kind, replace(layout, places=layout.places * 2), problems)  # two at least
            of_line = dict(zip(found.lines.tolist(), found.columns[0].tolist(), strict=True))
            prefixes = [of_line.get(line, "") for line in table.lines.tolist()]
            pairs = zip(prefixes, columns[side].tolist(), strict=True)
            columns[side] = np.array(
                [f"{prefix}{TABLE_SEPARATOR}{id}" if prefix else id for prefix, id in pairs], dtype=object
            )
    return replace(table, columns=tuple(columns))


TABLE_FORMATS = ("TSV", "CSV")  # formats whose first row may be a header
ID_FIRST = re.compile(r"(?:id|ID|Id)[A-Z_ -][\w -]*")  # idAbt
NUMBERED = re.compile(r"(\D+)(\d)")  # D1
ONE_WORD = re.compile(r"[^\W\d]*")


def can_have_header(table: LinkTable, kind: str) -> bool:
    """Return whether the first line of the file is among the links, and is not the only one."""
    return kind in TABLE_FORMATS and len(table) > 1 and int(table.lines[0]) == 1


def drop_header_link(table: LinkTable) -> LinkTable:
    """Return the links without the first row, and a warning that it is read as a header."""
    words = ", ".join(str(column[0]) for column in table.columns)
    warning = f"{table.path}: line {table.lines[0]}, {shorten(words)}, is read as a header, not as a link"
    return replace(table.where(np.arange(len(table)) > 0), warnings=(*table.warnings, warning))


def is_header(columns: Sequence[np.ndarray]) -> bool:
    """Return whether the first row names columns: its words are plain, in no other row, and different in form.

    They differ where all other cells of a column are numbers or IRIs, where both are called ids and others are more
    than one word, and where they number the sides.

    >>> rows = np.array([["D1", "D2"], ["ab", "cd"]], dtype=object)
    >>> is_header(rows.T), is_header(rows[1:].T)
    (True, False)
    """
    if len(columns[0]) < 2:
        return False
    first, others = [str(column[0]) for column in columns], [column[1:].astype(str) for column in columns]
    if any(_is_plain_id(word) for word in first) or any((column == word).any() for word in first for column in others):
        return False
    if any(all(map(_is_plain_id, column)) for column in others):
        return True
    if all(ID_NAME.fullmatch(word) or ID_FIRST.fullmatch(word) for word in first):
        return any(not ONE_WORD.fullmatch(word) for column in others for word in column)
    return _number_sides(first, others)


def _is_plain_id(word: str) -> bool:
    """Return whether a word is a number or an IRI, with a prefix or in full, and so not a column name."""
    return ":" in word or bool(re.fullmatch(r"-?\d+(?:\.0)?", word.strip()))


def _number_sides(first: Sequence[str], others: Sequence[np.ndarray]) -> bool:
    """Return whether the words are one word with 1 and 2, and no other id begins so."""
    found = [NUMBERED.fullmatch(word) for word in first]
    if not all(found) or [one[2] for one in found if one] != ["1", "2"]:
        return False
    words = {one[1] for one in found if one}
    called = re.compile(re.escape(next(iter(words))) + r"\d")
    return len(words) == 1 and not any(called.match(word) for column in others for word in column)
