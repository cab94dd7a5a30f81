"""Read tables with one entity per row and one column per property, as spreadsheets and queries give them.

In whatever holds a table, the column names decide whether a row is an entity or a triple.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from mixtea.errors import Problems
from mixtea.graph.builder import GraphData, triple_data
from mixtea.graph.literal_columns import id_form
from mixtea.io.columns.rows import RowTable
from mixtea.io.formats.cell_values import Column
from mixtea.io.formats.tsv import Table, drop_empty_labels
from mixtea.io.head import Head
from mixtea.io.safe.limits import HALF_A_CHARACTER, MEND, UnreadableError
from mixtea.io.safe.sandboxed.table_child import find_header
from mixtea.io.table_layout import (
    EDGE_HEADERS,
    LINK_HEADERS,
    TRIPLE_HEADERS,
    Layout,
    check_names,
    find_id_column,
    first_rows,
    is_id_name,
    is_triple_header,
    no_relation_error,
    possible_headers,
    possible_separators,
    too_few_columns,
)
from mixtea.messages import is_whole

OF_PANDAS = re.compile(r"__index_level_\d+__")  # a column of Parquet with the numbers of the rows
MIN_ENTITY_ROWS, MIN_ROWS_OF_THREE = 2, 3  # the least below a first line that is a header by what is not below it


def is_entity_table(path: Path, names: Sequence[str]) -> bool:
    """Return whether columns of these names hold an entity per row; if not, a row is a triple."""
    if is_triple_header(names):
        return False
    if find_id_column(names) is None:
        if len(names) > 2 and find_header(names, EDGE_HEADERS):
            raise no_relation_error(path, None, ", ".join(names))
        if (len(names) < 2 and (not names or is_id_name(names[0]))) or (
            len(names) == 2 and find_header(names, LINK_HEADERS)
        ):  # fmt: skip
            raise too_few_columns(path, names, TRIPLE_HEADERS)
    check_names(path, None, names, range(len(names)), ", ")
    if half := next((name for name in names if not is_whole(name)), ""):
        raise UnreadableError(path, None, half, f"{HALF_A_CHARACTER} the name of a column,", MEND)
    return True


def find_wide_header(head: Head, kind: str) -> tuple[Layout, list[str]] | None:
    """Return the layout and the column names, if the first line is a header and each row is an entity."""
    for separator, number, found in possible_headers(kind, head):
        names = [name.strip() for name in found]
        if find_id_column(names, certain=False) is not None:
            return Layout(separator, tuple(range(len(names))), len(names), number), names
    return _without_ids(head, kind)


def _without_ids(head: Head, kind: str) -> tuple[Layout, list[str]] | None:
    """Find the header of a table without a column of ids, by its words and those below it."""
    if any(find_header(names, (*TRIPLE_HEADERS, *EDGE_HEADERS)) for _, _, names in possible_headers(kind, head)):
        return None
    first = next((number for number, line in head.numbered if not line.startswith("#")), 0)
    for separator in possible_separators(kind, head):
        is_plain = kind == "TSV" and separator == "\t"
        rows = [line.split(separator) for line in head.lines] if is_plain else first_rows(head, separator)
        if rows and _is_header(names := [name.strip() for name in rows[0]], rows[1:]):
            return Layout(separator, tuple(range(len(names))), len(names), first), names
    return None


def _is_header(names: list[str], rows: list[list[str]]) -> bool:
    """Return whether more than three names are above the rows; of three, none may be a relation."""
    n = len(names)
    alike = [row for row in rows if len(row) == n]
    if n < 3 or len(set(names)) < n or not all(names) or len(alike) <= len(rows) / 2:
        return False
    if any(id_form(name) in ("number", "id") for name in names) or not set(names).isdisjoint(chain(*alike)):
        return False
    if n > 3:
        return len(alike) >= MIN_ENTITY_ROWS
    heads, words, tails = ([cell for cell in column if cell] for column in zip(*alike, strict=True))
    none_twice = len(set(words)) == len(words) and set(heads).isdisjoint(tails)
    return len(rows) >= MIN_ROWS_OF_THREE and len(alike) == len(rows) and none_twice


def columns_to_graph(
    path: Path, columns: Sequence[Column], lines: np.ndarray, problems: Problems
) -> GraphData | RowTable:
    """Return what columns hold that have names: triples or entities; `lines` [n] are where the rows stand."""
    columns = [column for column in columns if not OF_PANDAS.fullmatch(column.name)]
    if not len(lines):
        what = "empty" if path in problems.by_row else "the file is empty"
        problems.add(path, None, "", what, "It needs rows: triples, or an entity in each.")
    names = [column.name for column in columns]
    if is_entity_table(path, names):
        return RowTable(path, tuple(columns), lines)
    places = find_header(names, TRIPLE_HEADERS) or range(3)
    check_names(path, None, names, places, ", ")
    for place in places:
        if not columns[place].is_single:
            rows = columns[place].rows
            line = int(lines[rows[1:][rows[1:] == rows[:-1]][0]])
            todo = "Write a triple for each."
            problems.add(path, line, names[place], "several values in a triple, in", todo)
    table = Table(path, tuple(columns[place].cells(len(lines)) for place in places), lines)
    return triple_data(drop_empty_labels(table, problems))
