"""CSV and Parquet into columns of labels, as text.py does for tab-separated text."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator
from itertools import chain
from operator import itemgetter
from pathlib import Path

import numpy as np

from mixtea.data.formats.headers import Headers, header_places
from mixtea.data.formats.parquet import parquet_columns
from mixtea.data.formats.tsv import Table, as_array, read_table, text_lines, without_empty_labels
from mixtea.data.safe.limits import MIB, in_force
from mixtea.data.safe.problems import beyond
from mixtea.errors import Problems


def read_columns(
    path: Path, kind: str, headers: Headers, problems: Problems, *, last_may_be_empty: bool = False
) -> Table:
    """The columns that one of the headers names; in a file without a header all, and there must be as many."""
    if kind == "TSV":
        return read_table(path, len(headers[0]), problems, last_may_be_empty=last_may_be_empty)
    table = _parquet(path, headers, problems) if kind == "Parquet" else _csv(path, headers, problems)
    return without_empty_labels(table, problems, last_may_be_empty=last_may_be_empty)


def csv_rows(
    path: Path, lines: Iterator[str], problems: Problems, *, delimiter: str = ",", lines_before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """(the line where it starts, the fields) of each row that is not blank; a broken quote is a problem."""
    record, limits = Record(path, lines, lines_before), in_force()
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
                raise beyond(path, record.line, f"{len(row):,} columns", "max_columns")
            if row:
                yield record.line, row
    finally:
        csv.field_size_limit(allowed)


class Record:
    """Hands the lines of a file to the module csv, and knows where the record began that they belong to."""

    def __init__(self, path: Path, lines: Iterator[str], lines_before: int) -> None:
        self.path, self.lines, self.n, self.longest = path, lines, lines_before, in_force().max_token_mib * MIB
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
                raise beyond(self.path, self.line, what, "max_token_mib")
            yield line


def _csv(path: Path, headers: Headers, problems: Problems) -> Table:
    n, before = len(headers[0]), len(problems.found)
    fields: list[str] = []
    labels: dict[str, str] = {}
    lines, shared = array("q"), labels.setdefault
    rows = csv_rows(path, text_lines(path, problems), problems)
    first = next(rows, None)
    places = header_places(first[1], headers) if first else None
    width, wanted = len(first[1]) if first and places else n, itemgetter(*(places or range(n)))
    for line, row in rows if places else chain([first] if first else [], rows):
        if len(row) == width:
            found = wanted(row)
            fields.extend(map(shared, found, found))
            lines.append(line)
        else:
            what = f"{len(row)} column{'s' if len(row) > 1 else ''}"
            problems.add(path, line, ",".join(row), what, f"Write {width} columns separated by commas.")
    if not lines and len(problems.found) == before:
        problems.add(path, None, "", "the file is empty", f"It needs lines of {n} columns separated by commas.")
    flat = as_array(fields)
    return Table(path, tuple(flat[i::n] for i in range(n)), np.array(lines, dtype=np.int64))


def _parquet(path: Path, headers: Headers, problems: Problems) -> Table:
    """Rows are counted from 1 and stand for lines."""
    columns = parquet_columns(path, headers)
    n = len(columns[0])
    if not n:
        problems.add(path, None, "", "the file is empty", f"It needs rows of {len(columns)} columns.")
    return Table(path, columns, np.arange(1, n + 1))
