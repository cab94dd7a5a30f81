"""CSV and Parquet into columns of labels, as text.py does for tab-separated text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from mixtea.data.files import UnreadableError, read_bytes
from mixtea.data.text import Table, decoded, read_table, without_empty_labels
from mixtea.errors import Problems

Headers = Sequence[tuple[str, ...]]
TRIPLE_HEADERS: Headers = (
    ("head", "relation", "tail"),
    ("subject", "predicate", "object"),
    ("source", "relation", "target"),
    ("subject", "relation", "object"),
    ("head", "predicate", "tail"),
    ("h", "r", "t"),
    ("s", "p", "o"),
)
LINK_HEADERS: Headers = (
    ("source", "target"),
    ("subject", "object"),
    ("subject_id", "object_id"),
    ("head", "tail"),
    ("left", "right"),
    ("entity1", "entity2"),
)


def read_columns(path: Path, kind: str, headers: Headers, problems: Problems) -> Table:
    """The columns that one of the headers names; in a file without a header all, and there must be as many."""
    if kind == "Parquet":
        return _parquet(path, headers, problems)
    return _csv(path, headers, problems) if kind == "CSV" else read_table(path, len(headers[0]), problems)


def header_places(names: Sequence[str], headers: Headers) -> list[int] | None:
    """Where the columns of the first fitting header are; None if no header fits."""
    found = [name.strip().lower() for name in names]
    for header in headers:
        if set(header) <= set(found):
            return [found.index(name) for name in header]
    return None


def csv_rows(
    path: Path, text: str, problems: Problems, *, delimiter: str = ",", lines_before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """(the line where it starts, the fields) of each row that is not blank; a broken quote is a problem."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            what = "an open quote" if "unexpected end" in str(error) else f"broken quoting ({error})"
            todo = 'Quote a field as "...", and write a quote inside it twice.'
            problems.add(path, line + lines_before, _line(text, line), what, todo)
            continue
        if row:
            yield line + lines_before, row


def _line(text: str, number: int) -> str:
    return next((one for n, one in enumerate(io.StringIO(text, newline=""), 1) if n == number), "").rstrip("\r\n")


def _csv(path: Path, headers: Headers, problems: Problems) -> Table:
    n, before = len(headers[0]), len(problems.found)
    text, _ = decoded(path, problems)
    fields: list[str] = []
    lines: list[int] = []
    rows = csv_rows(path, text, problems)
    first = next(rows, None)
    places = header_places(first[1], headers) if first else None
    width = len(first[1]) if first and places else n
    for line, row in rows if places else chain([first] if first else [], rows):
        if len(row) == width:
            fields.extend([row[place] for place in places] if places else row)
            lines.append(line)
        else:
            found = f"{len(row)} column{'s' if len(row) > 1 else ''}"
            problems.add(path, line, ",".join(row), found, f"Write {width} columns separated by commas.")
    if not lines and len(problems.found) == before:
        problems.add(path, None, "", "the file is empty", f"It needs lines of {n} columns separated by commas.")
    flat = np.empty(len(fields), dtype=object)
    flat[:] = fields
    table = Table(path, tuple(flat[i::n] for i in range(n)), np.array(lines, dtype=np.int64))
    return without_empty_labels(table, problems)


def _parquet(path: Path, headers: Headers, problems: Problems) -> Table:
    """Rows are counted from 1 and stand for lines."""
    from pyarrow import ArrowException

    try:
        columns = _parquet_columns(path, headers)
    except UnreadableError:
        raise
    except (ArrowException, OSError, ValueError, KeyError) as error:  # of whatever is damaged where
        what = f"not Parquet ({(str(error).splitlines() or ['damaged'])[0].rstrip('.')})"
        raise UnreadableError(path, None, "", what, "Write the file again, or correct its ending.") from None
    n = len(columns[0])
    if not n:
        problems.add(path, None, "", "the file is empty", f"It needs rows of {len(columns)} columns.")
    return without_empty_labels(Table(path, columns, np.arange(1, n + 1)), problems)


def _parquet_columns(path: Path, headers: Headers) -> tuple[np.ndarray, ...]:
    """The columns that a header names, else the first."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = len(headers[0])
    file = pq.ParquetFile(pa.BufferReader(read_bytes(path)))
    names = file.schema_arrow.names
    if len(names) < n:
        what = f"{len(names)} column{'s' if len(names) != 1 else ''}"
        todo = f"It needs {n}: {' or '.join(', '.join(header) for header in headers[:2])}."
        raise UnreadableError(path, None, ", ".join(names), what, todo)
    wanted = [names[place] for place in header_places(names, headers) or range(n)]
    read = file.read(columns=wanted)
    return tuple(_texts(path, name, read.column(name)) for name in wanted)


def _texts(path: Path, name: str, column: Any) -> np.ndarray:
    """Text, or whole numbers as text; empty where there is nothing."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not (is_text or pa.types.is_integer(kind)):
        todo = "Labels are text; whole numbers become text."
        raise UnreadableError(path, None, name, f"a column of type {kind}:", todo)
    coded = column.cast(pa.large_string()).fill_null("").combine_chunks().dictionary_encode()
    return coded.dictionary.to_numpy(zero_copy_only=False).astype(object)[coded.indices.to_numpy()]
