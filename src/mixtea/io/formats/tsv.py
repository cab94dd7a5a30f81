"""Read tab-separated text into columns of labels. Labels stay text: nothing is guessed, stripped or unquoted."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from mixtea.errors import Problems
from mixtea.io.safe.limits import truncate_rows
from mixtea.io.safe.lines import UTF_8, line_blocks


@dataclass(frozen=True, eq=False)
class Table:
    """The good rows of a file: `columns` are equally long arrays of str, `lines` their line numbers (from 1).

    `notes` describe how the file was read.
    """

    path: Path
    columns: tuple[np.ndarray, ...]
    lines: np.ndarray
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __len__(self) -> int:
        return len(self.lines)


def read_table(
    path: Path, n_columns: int, problems: Problems, *, rest_is_value: bool = False, may_be_empty: bool = False
) -> Table:
    """Read a tab-separated file without a header; whatever is wrong with it goes to `problems`.

    With `rest_is_value` the last column is all that follows, tabs included, or nothing (attribute values).
    """
    table = read_rows(path, n_columns, problems, rest_is_value=rest_is_value, may_be_empty=may_be_empty)
    return drop_empty_labels(table, problems, n=n_columns - rest_is_value)


def read_rows(
    path: Path, n_columns: int, problems: Problems, *, rest_is_value: bool = False, may_be_empty: bool = False,
    comments: bool = False, encoding: str = UTF_8,
) -> Table:  # fmt: skip
    """Read rows whose labels may be empty; with `comments`, a line after # counts only if it is a whole row."""
    rows = RowCollector(path, n_columns, rest_is_value, problems, comments=comments)
    for block in text_blocks(path, problems, encoding):
        rows.add(*block)
    if not rows.any and not may_be_empty:
        problems.add(path, None, "", "the file is empty", f"It needs lines of {n_columns} tab-separated columns.")
    return rows.table()


class RowCollector:
    """The good rows of a file, from blocks of its lines. Blank lines at the end do not count.

    Equal labels become one object: most stand in many rows, and a file can hold billions of them in few bytes.
    """

    def __init__(
        self, path: Path, n_columns: int, rest_is_value: bool, problems: Problems, *, comments: bool = False
    ) -> None:
        self.path, self.n_columns, self.rest_is_value, self.problems = path, n_columns, rest_is_value, problems
        self.comments = comments
        self.columns: list[list[np.ndarray]] = [[np.empty(0, dtype=object)] for _ in range(n_columns)]
        self.lines = [np.empty(0, dtype=np.int64)]
        self.labels: dict[str, str] = {}
        self.any, self.blank_from = False, 0

    def add(self, start: int, text: str, unreadable: set[int]) -> None:
        """Take the lines from number `start` on; `unreadable` ones are reported already."""
        text = text.replace("\r\n", "\n") if "\r\n" in text else text
        lines = text.split("\n")
        end = start + len(lines) - (not lines[-1])
        while lines and not lines[-1] and start + len(lines) - 1 not in unreadable:
            lines.pop()
        if lines:
            self._bad(np.arange(self.blank_from or start, start), lambda _: ("", "a blank line"))
            self._add(start, text, lines, unreadable)
            self.any, self.blank_from = True, 0
        self.blank_from = self.blank_from or (start + len(lines)) * (start + len(lines) < end)

    def _add(self, start: int, text: str, lines: list[str], unreadable: set[int]) -> None:
        n = self.n_columns
        tabs = _tabs_per_line(text, len(lines))
        good = tabs >= n - 1 if self.rest_is_value else tabs == n - 1

        def found(line: int) -> tuple[str, str]:
            content, n_tabs = lines[line - start], tabs[line - start]
            return content, f"{n_tabs + 1} column{'s' if n_tabs else ''}" if content else "a blank line"

        bad = np.flatnonzero(~good) + start
        if self.comments and len(bad):
            bad = bad[[not lines[line - start].startswith("#") for line in bad]]
        self._bad(bad[~np.isin(bad, list(unreadable))] if unreadable else bad, found)
        columns = _split_lines(lines, good, n, exact=bool((tabs[good] == n - 1).all()))
        shared = self.labels.setdefault
        for number, column in enumerate(columns):
            is_value = self.rest_is_value and number == n - 1
            self.columns[number].append(object_array(column if is_value else list(map(shared, column, column))))
        self.lines.append(np.flatnonzero(good) + start)

    def _bad(self, lines: np.ndarray, found: Callable[[int], tuple[str, str]]) -> None:
        for line in truncate_rows(self.problems, self.path, lines).tolist():
            self.problems.add(self.path, line, *found(line), f"Write {self.n_columns} columns separated by tabs.")

    def table(self) -> Table:
        return Table(self.path, tuple(map(np.concatenate, self.columns)), np.concatenate(self.lines))


def text_blocks(path: Path, problems: Problems, encoding: str = UTF_8) -> Iterator[tuple[int, str, set[int]]]:
    """Yield (first line number, whole lines, numbers of lines that are not UTF-8) for each block of a file.

    Lines that are not UTF-8, unless the file has another encoding, are reported, and are empty in the text.
    """
    for start, data in line_blocks(path, encoding):
        unreadable: set[int] = set()
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            lines = [_decode_line(path, i, line, problems) for i, line in enumerate(data.split(b"\n"), start)]
            unreadable = {i for i, line in enumerate(lines, start) if line is None}
            text = "\n".join(line or "" for line in lines)
        yield start, text, unreadable


def text_lines(path: Path, problems: Problems, encoding: str = UTF_8) -> Iterator[str]:
    """Yield the lines of a file with their ends, as the module csv needs them."""
    for _, text, _ in text_blocks(path, problems, encoding):
        yield from io.StringIO(text, newline="")


def _decode_line(path: Path, number: int, line: bytes, problems: Problems) -> str | None:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = line[error.start : error.end].hex(" ")
        problems.add(path, number, repr(line[:80])[2:-1], f"byte {bad} is not UTF-8 in", "Save the file as UTF-8.")
        return None


def drop_empty_labels(table: Table, problems: Problems, *, n: int | None = None) -> Table:
    """Leave out rows with an empty label, which are problems; of n columns, if others may be empty."""
    empty = np.zeros(len(table), dtype=bool)
    for number, column in enumerate(table.columns[:n], 1):
        here = column == ""
        for i in truncate_rows(problems, table.path, np.flatnonzero(here)):
            problems.add(table.path, int(table.lines[i]), "", f"column {number} is empty", "Write a label there.")
        empty |= here
    if not empty.any():
        return table
    return replace(table, columns=tuple(c[~empty] for c in table.columns), lines=table.lines[~empty])


def _tabs_per_line(text: str, n_lines: int) -> np.ndarray:
    """Count the tabs of each line, on the bytes at once."""
    raw = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    ends = np.append(np.flatnonzero(raw == ord("\n")), len(raw))[:n_lines]
    return np.diff(np.searchsorted(np.flatnonzero(raw == ord("\t")), ends), prepend=0)


def _split_lines(lines: list[str], good: np.ndarray, n_columns: int, exact: bool) -> list[list[str]]:
    kept = lines if good.all() else [lines[i] for i in np.flatnonzero(good)]
    if exact:  # one split of the whole text is several times faster than one for each line
        fields = "\t".join(kept).split("\t") if kept else []
    else:
        fields = [field for line in kept for field in line.split("\t", n_columns - 1)]
    return [fields[i::n_columns] for i in range(n_columns)]


def object_array(texts: list[str]) -> np.ndarray:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array
