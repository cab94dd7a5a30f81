"""Read the columns of text tables: those that a header names, or all.

Plain ones are read by Arrow; tables with anything unusual are left to the careful readers. Both give the same cells.
Arrow parses in this process, unlike Parquet: text has no sizes or offsets that could be wrong. It gets blocks of whole
lines within the limits, after checks of encoding, line ends and quotes; the number of rows is checked afterwards.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mixtea.errors import Problems
from mixtea.graph.text_column import TextColumn
from mixtea.io.formats.cell_values import CodedColumn, Column, text_column
from mixtea.io.formats.tsv import Row, Table, drop_empty_labels, object_array, text_lines, tsv_rows
from mixtea.io.head import HEAD_BYTES, head_of, text_encoding
from mixtea.io.safe.limits import MIB, current_limits, limit_exceeded
from mixtea.io.safe.lines import ASCII, UTF_8, encoding_notes, line_blocks
from mixtea.io.safe.open import BYTE_ORDER_MARK
from mixtea.io.table_layout import Headers, Layout, check_separator, find_layout, separator_name, separator_note


def read_text_columns(path: Path, kind: str, headers: Headers, problems: Problems, *, links: bool = False) -> Table:
    """Read the columns of a fitting header; without a header all, which must be as many.

    Of `links` a third column may come back, their relation.
    """
    head = head_of(path)
    check_separator(path, head)
    return read_layout(path, kind, find_layout(path, head, kind, headers, links=links), problems)


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
    encoding, before = text_encoding(path), len(problems.found)
    if _has_no_quotes(kind, layout):
        rows = tsv_rows(path, problems, encoding)
    else:
        rows = csv_rows(path, text_lines(path, problems, encoding), problems, delimiter=layout.separator)
    return replace(_collect(path, rows, layout, problems, before), notes=_notes(kind, layout, encoding))


def read_table(
    path: Path, n: int, problems: Problems, *, rest_is_value: bool = False, may_be_empty: bool = False
) -> Table:
    """Read n tab-separated columns of a file without a header; whatever is wrong with it goes to `problems`.

    With `rest_is_value` the last column is all that follows, tabs included, or nothing (attribute values).
    """
    layout, before = Layout("\t", tuple(range(n)), n), len(problems.found)
    if fast := read_fast(path, layout, quoted=False, encoding=UTF_8):
        table = Table(path, tuple(column.array() for column in fast.columns), fast.lines)
    else:
        rows = tsv_rows(path, problems, most=n - 1 if rest_is_value else -1)
        table = _collect(path, rows, layout, problems, before, comments=False, may_be_empty=may_be_empty)
    return drop_empty_labels(table, problems, n=n - rest_is_value)


def _has_no_quotes(kind: str, layout: Layout) -> bool:
    return layout.separator == "\t" and kind == "TSV"


def _notes(kind: str, layout: Layout, encoding: str) -> tuple[str, ...]:
    return (*separator_note(layout.separator, kind), *encoding_notes(encoding))


def csv_rows(
    path: Path, lines: Iterator[str], problems: Problems, *, delimiter: str = ",", lines_before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, fields) of each row that is not blank; a broken quote is a problem."""
    records, max_columns = CsvRecords(path, lines, delimiter, lines_before), current_limits().max_columns
    while True:
        try:
            row = records.read()
        except QuoteError as error:
            todo = 'Quote a field as "...", and write a quote inside it twice.'
            problems.add(path, records.line, records.first.rstrip("\r\n"), str(error), todo)
            continue
        if row is None:
            return
        if len(row) > max_columns:
            raise limit_exceeded(path, records.line, f"{len(row):,} columns", "max_columns")
        if row:
            yield records.line, row


class QuoteError(ValueError):
    """A quote that is not closed, or text after one that is."""


class CsvRecords:
    """A reader of records, which may go over several lines, with the line where the current one began.

    Unlike the module csv it needs no limit of the whole process for the length of a field.
    """

    def __init__(self, path: Path, lines: Iterator[str], delimiter: str, lines_before: int) -> None:
        self.path, self.lines, self.delimiter, self.n = path, lines, delimiter, lines_before
        self.longest = current_limits().max_token_mib * MIB
        self.line, self.first = 0, ""

    def read(self) -> list[str] | None:
        """Return the fields of the next record, none of a blank line; None at the end."""
        self.line, fields, text, size = self.n + 1, list[str](), list[str](), 0  # the text is of an open quote
        for line in self.lines:
            self.first = line if not size else self.first
            self.n, size = self.n + 1, size + len(line)
            if size > self.longest:
                what = f"an open quote, or a record of more than {self.longest // MIB} MiB"
                raise limit_exceeded(self.path, self.line, what, "max_token_mib")
            if not text and '"' not in line:
                return line.rstrip("\r\n").split(self.delimiter) if line.rstrip("\r\n") else []
            if self._add_fields(line, fields, text):
                return fields
        if text:
            raise QuoteError("an open quote")
        return None

    def _add_fields(self, line: str, fields: list[str], text: list[str]) -> bool:
        """Add the fields of a line; False if its last quote stays open."""
        place = 0
        while True:
            if not text and not line.startswith('"', place):
                end = line.find(self.delimiter, place)
                fields.append(line[place:end] if end >= 0 else line[place:].rstrip("\r\n"))
                sign, place = self.delimiter if end >= 0 else "", end + 1
            else:
                start = place if text else place + 1
                end = IN_QUOTES.match(line, start).end()  # type: ignore[union-attr] # it matches nothing, too
                text.append(line[start:end])
                if end == len(line):
                    return False
                fields.append("".join(text).replace('""', '"'))
                text.clear()
                sign, place = line[end + 1 : end + 2], end + 2
                if sign not in (self.delimiter, "\r", "\n", ""):
                    raise QuoteError(f"broken quoting ('{self.delimiter}' expected after '\"')")
            if sign != self.delimiter:
                return True


def _collect(
    path: Path, rows: Iterator[Row], layout: Layout, problems: Problems, before: int, *, comments: bool = True,
    may_be_empty: bool = False,
) -> Table:  # fmt: skip
    """Return the requested columns of rows; `before` so many problems were there. Equal labels become one object."""
    n, todo = len(layout.places), f"{layout.width} columns separated by {separator_name(layout.separator)}."
    fields, lines = list[str](), array("q")
    shared, wanted = dict[str, str]().setdefault, itemgetter(*layout.places)
    for line, row in rows:
        if line <= layout.header_line or (comments and row[0].startswith("#") and len(row) != layout.width):
            continue
        if len(row) == layout.width:
            found = wanted(row)
            fields.extend(map(shared, found, found))
            lines.append(line)
        else:
            what = f"{len(row)} column{'s' if len(row) > 1 else ''}"
            problems.add(path, line, layout.separator.join(row), what, f"Write {todo}")
    if not (lines or may_be_empty) and len(problems.found) == before:
        what = "no row below its header" if layout.header_line else "the file is empty"
        problems.add(path, None, "", what, f"It needs lines of {todo}")
    flat = object_array(fields)
    return Table(path, tuple(flat[i::n] for i in range(n)), np.array(lines, dtype=np.int64))


IN_QUOTES = re.compile(r'(?:[^"]++|"")*+')
MIN_BYTES = HEAD_BYTES  # of a file: smaller ones are read soon enough
ARROW_BLOCK_BYTES = 1 << 20  # bytes that Arrow parses at once: few enough to stay in the cache of the processor
QUOTE, LINE_END = b'"'[0], b"\n"[0]
LINE_ENDS = b"\r\n"
ODD_FIRST = np.isin(np.arange(256), [*b"#\r\n"])  # bytes at the beginning of a line


class OddError(Exception):
    """A block that needs the careful reader."""


class FastTable(NamedTuple):
    """The requested columns and their line numbers (from 1)."""

    columns: tuple[TextColumn, ...]
    lines: np.ndarray


def read_fast(path: Path, layout: Layout, *, quoted: bool, encoding: str) -> FastTable | None:
    """Return the cells of a table, or None if there is anything that the careful reader should see."""
    is_small = len(head_of(path).data) < MIN_BYTES
    if is_small or layout.width > current_limits().max_columns or ord(layout.separator) >= ASCII:
        return None
    try:
        found = [_parsed(*block, layout, quoted=quoted) for block in _blocks(path, layout, encoding)]
    except OddError:
        return None
    if not found:
        return None
    columns = (_joined([table[place] for table, _ in found]) for place in range(len(layout.places)))
    return FastTable(tuple(columns), np.concatenate([lines for _, lines in found]))


def _blocks(path: Path, layout: Layout, encoding: str) -> Iterator[tuple[int, bytes]]:
    """Yield the blocks without the header and the lines above it."""
    for start, block in line_blocks(path, encoding):
        for _ in range(start, layout.header_line + 1):
            above, _, block = block.partition(b"\n")
            start += 1
            if above.count(b'"') % 2 or b"\r" in above[:-1]:  # it goes on in the next line, or is more than one
                raise OddError
        if block:
            yield start, block


def _parsed(start: int, block: bytes, layout: Layout, *, quoted: bool) -> tuple[list[Any], np.ndarray]:
    """Return the columns of a block as bytes, and its line numbers; an OddError if it is not plain."""
    import pyarrow as pa
    from pyarrow import csv

    n = _plain_lines(block, layout.separator, quoted=quoted)
    names = [str(place) for place in range(layout.width)]
    wanted = [str(place) for place in layout.places]
    try:
        table = csv.read_csv(
            pa.BufferReader(block),
            read_options=csv.ReadOptions(use_threads=False, block_size=ARROW_BLOCK_BYTES, column_names=names),
            parse_options=csv.ParseOptions(delimiter=layout.separator, quote_char='"' if quoted else False),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_binary()), include_columns=wanted, strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:  # a row of another width
        raise OddError from None
    if table.num_rows != n:
        raise OddError
    return table.columns, np.arange(start, start + n)


def _plain_lines(block: bytes, separator: str, *, quoted: bool) -> int:
    """Count the lines of a plain block; an OddError for others.

    A plain block is UTF-8 without NUL, comments, blank lines and unusual line ends, and quotes only whole fields.
    """
    is_other_text = b"\0" in block or block.startswith(BYTE_ORDER_MARK) or not _is_utf_8(block)
    if is_other_text or (b"\r" in block and block.count(b"\r") != block.count(b"\r\n")):
        raise OddError
    raw = np.frombuffer(b"\n" + block, dtype=np.uint8)
    lines = np.flatnonzero(raw == LINE_END)
    lines = lines[: len(lines) - block.endswith(b"\n")]
    if ODD_FIRST[raw[lines + 1]].any() or (quoted and b'"' in block and not _quotes_are_plain(block, separator)):
        raise OddError
    return len(lines)


def _is_utf_8(block: bytes) -> bool:
    try:
        return block.isascii() or block.decode() is not None
    except UnicodeDecodeError:
        return False


def _quotes_are_plain(block: bytes, separator: str) -> bool:
    """Return whether quotes enclose whole fields, and no line ends between them.

    A doubled quote closes a field and opens it again. Where no field begins with a quote, all quotes are text.
    """
    raw = np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)
    ends = np.isin(np.arange(256), [ord(separator), *LINE_ENDS])
    quotes = np.flatnonzero(raw == QUOTE)
    if not ends[raw[quotes - 1]].any():
        return True
    opening, closing = quotes[::2], quotes[1::2]
    if len(quotes) % 2 or (np.searchsorted(quotes, np.flatnonzero(raw == LINE_END)) % 2).any():
        return False
    again = opening[1:] - 1 == closing[:-1]
    before, after = ends[raw[opening - 1]], ends[raw[closing + 1]]
    return bool(before[0] and after[-1] and (before[1:] | again).all() and (after[:-1] | again).all())


def _joined(chunks: list[Any]) -> TextColumn:
    import pyarrow as pa

    return TextColumn.of_arrow(pa.chunked_array([part for chunk in chunks for part in chunk.chunks]).combine_chunks())
