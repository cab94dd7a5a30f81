"""Read the columns of tables: those that a header names, or all."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import numpy as np

from mixtea.errors import Problems
from mixtea.io.formats.cell_values import CodedColumn, Column, text_column
from mixtea.io.formats.fast_tables import FastTable, read_fast
from mixtea.io.formats.headers import Headers
from mixtea.io.formats.tsv import Table, drop_empty_labels, object_array, read_rows, text_lines
from mixtea.io.formats.typed_tables import TYPED_FORMATS, read_typed_columns
from mixtea.io.head import head_of, text_encoding
from mixtea.io.safe.encoding import encoding_notes
from mixtea.io.safe.limits import MIB, current_limits
from mixtea.io.safe.problems import limit_exceeded
from mixtea.io.separators import check_separator, separator_name, separator_note
from mixtea.io.table_layout import Layout, find_layout


def read_columns(
    path: Path, kind: str, headers: Headers, problems: Problems, *, links: bool = False, last_may_be_empty: bool = False
) -> Table:
    """Read the columns of a fitting header; without a header all, which must be as many.

    Of `links` a third column may come back, their relation.
    """
    if kind in TYPED_FORMATS:
        table = read_typed_columns(path, kind, headers, problems, links=links)
    else:
        head = head_of(path)
        check_separator(path, head)
        table = read_layout(path, kind, find_layout(path, head, kind, headers, links=links), problems)
    return drop_empty_labels(
        table, problems, last_may_be_empty=last_may_be_empty or len(table.columns) > len(headers[0])
    )


def read_layout(path: Path, kind: str, layout: Layout, problems: Problems) -> Table:
    """Read the columns of the layout, with their empty fields."""
    if found := _read_fast(path, kind, layout):
        fast, notes = found
        return Table(path, tuple(column.array() for column in fast.columns), fast.lines, notes=notes)
    return _read_carefully(path, kind, layout, problems)


def read_named(
    path: Path, kind: str, layout: Layout, names: Sequence[str], problems: Problems
) -> tuple[list[Column], np.ndarray, tuple[str, ...]]:
    """Read all columns of a table by name, the line numbers, and notes."""
    if found := _read_fast(path, kind, layout):
        fast, notes = found
        columns: list[Column] = [CodedColumn(*named) for named in zip(names, fast.columns, strict=True)]
        return columns, fast.lines, notes
    table = _read_carefully(path, kind, layout, problems)
    return [text_column(*named) for named in zip(names, table.columns, strict=True)], table.lines, table.notes


def _read_fast(path: Path, kind: str, layout: Layout) -> tuple[FastTable, tuple[str, ...]] | None:
    """Return the table and notes, or None if it needs the careful reader."""
    encoding = head_of(path).encoding
    fast = read_fast(path, layout, quoted=not _has_no_quotes(kind, layout), encoding=encoding)
    return (fast, _notes(kind, layout, encoding)) if fast else None


def _read_carefully(path: Path, kind: str, layout: Layout, problems: Problems) -> Table:
    encoding = text_encoding(path)
    table = (_read_tsv if _has_no_quotes(kind, layout) else _read_csv)(path, layout, problems, encoding)
    return replace(table, notes=_notes(kind, layout, encoding))


def _has_no_quotes(kind: str, layout: Layout) -> bool:
    return layout.separator == "\t" and kind == "TSV"


def _notes(kind: str, layout: Layout, encoding: str) -> tuple[str, ...]:
    return (*separator_note(layout.separator, kind), *encoding_notes(encoding))


def csv_rows(
    path: Path, lines: Iterator[str], problems: Problems, *, delimiter: str = ",", lines_before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, fields) of each row that is not blank; a broken quote is a problem."""
    record, limits = RecordLines(path, lines, lines_before), current_limits()
    allowed = csv.field_size_limit(limits.max_token_mib * MIB)
    try:
        reader = csv.reader(record, delimiter=delimiter, strict=True)
        while True:
            record.begin()
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                what = "an open quote" if "unexpected end" in str(error) else f"broken quoting ({error})"
                todo = 'Quote a field as "...", and write a quote inside it twice.'
                problems.add(path, record.line, record.first.rstrip("\r\n"), what, todo)
                continue
            if len(row) > limits.max_columns:
                raise limit_exceeded(path, record.line, f"{len(row):,} columns", "max_columns")
            if row:
                yield record.line, row
    finally:
        csv.field_size_limit(allowed)


class RecordLines:
    """Lines of a file for the module csv, with the line where the current record began."""

    def __init__(self, path: Path, lines: Iterator[str], lines_before: int) -> None:
        self.path, self.lines, self.n, self.longest = path, lines, lines_before, current_limits().max_token_mib * MIB
        self.line, self.first, self.size = 0, "", 0

    def begin(self) -> None:
        self.line, self.first, self.size = self.n + 1, "", 0

    def __iter__(self) -> Iterator[str]:
        for line in self.lines:
            if not self.size:
                self.first = line
            self.n += 1
            self.size += len(line)
            if self.size > self.longest:
                what = f"an open quote, or a record of more than {self.longest // MIB} MiB"
                raise limit_exceeded(self.path, self.line, what, "max_token_mib")
            yield line


def _read_tsv(path: Path, layout: Layout, problems: Problems, encoding: str) -> Table:
    """Read a table without quoting: a field is what is between two tabs."""
    before = len(problems.found)
    table = read_rows(path, layout.width, problems, comments=True, encoding=encoding)
    rows = table.lines > layout.header_line
    if len(table) and not rows.any() and len(problems.found) == before:
        problems.add(path, None, "", "no row below its header", "It needs lines after its header.")
    return Table(path, tuple(table.columns[place][rows] for place in layout.places), table.lines[rows])


def _read_csv(path: Path, layout: Layout, problems: Problems, encoding: str) -> Table:
    n, before = len(layout.places), len(problems.found)
    fields: list[str] = []
    labels: dict[str, str] = {}
    lines, shared, wanted = array("q"), labels.setdefault, itemgetter(*layout.places)
    todo = f"{layout.width} columns separated by {separator_name(layout.separator)}."
    for line, row in csv_rows(path, text_lines(path, problems, encoding), problems, delimiter=layout.separator):
        if line <= layout.header_line or (row[0].startswith("#") and len(row) != layout.width):
            continue
        if len(row) == layout.width:
            found = wanted(row)
            fields.extend(map(shared, found, found))
            lines.append(line)
        else:
            what = f"{len(row)} column{'s' if len(row) > 1 else ''}"
            problems.add(path, line, layout.separator.join(row), what, f"Write {todo}")
    if not lines and len(problems.found) == before:
        what = "no row below its header" if layout.header_line else "the file is empty"
        problems.add(path, None, "", what, f"It needs lines of {todo}")
    flat = object_array(fields)
    return Table(path, tuple(flat[i::n] for i in range(n)), np.array(lines, dtype=np.int64))
