"""Tab-separated text into columns of labels. Labels stay text: nothing is guessed, stripped or unquoted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mixtea.data.files import read_bytes
from mixtea.errors import Problems


@dataclass(frozen=True, eq=False)
class Table:
    """The good rows of a file: `columns` are equally long arrays of str, `lines` their line numbers (from 1)."""

    path: Path
    columns: tuple[np.ndarray, ...]
    lines: np.ndarray

    def __len__(self) -> int:
        return len(self.lines)


def read_table(
    path: Path, n_columns: int, problems: Problems, *, rest_is_value: bool = False, may_be_empty: bool = False
) -> Table:
    """Read a tab-separated file without a header; whatever is wrong with it goes to `problems`.

    With `rest_is_value` the last column is all that follows, tabs included (attribute values).
    """
    text, unreadable = decoded(path, problems)
    text = text.replace("\r\n", "\n") if "\r\n" in text else text
    lines = text.split("\n")
    while lines and not lines[-1]:
        lines.pop()
    if not lines and not may_be_empty:
        problems.add(path, None, "", "the file is empty", f"It needs lines of {n_columns} tab-separated columns.")
    tabs = _tabs_per_line(text, len(lines))
    good = tabs >= n_columns - 1 if rest_is_value else tabs == n_columns - 1
    for i in np.flatnonzero(~good):
        if i not in unreadable:
            found = f"{tabs[i] + 1} column{'s' if tabs[i] else ''}" if lines[i] else "a blank line"
            problems.add(path, int(i) + 1, lines[i], found, f"Write {n_columns} columns separated by tabs.")
    columns = _split(lines, good, n_columns, exact=bool((tabs[good] == n_columns - 1).all()))
    table = Table(path, columns, np.flatnonzero(good) + 1)
    return without_empty_labels(table, problems, last_may_be_empty=rest_is_value)


def decoded(path: Path, problems: Problems) -> tuple[str, set[int]]:
    """The file's text, and the places of lines that are not UTF-8, which are reported and stand empty in the text."""
    data = read_bytes(path)
    unreadable: set[int] = set()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        lines = [_decode_line(path, i, line, problems) for i, line in enumerate(data.split(b"\n"))]
        unreadable = {i for i, line in enumerate(lines) if line is None}
        text = "\n".join(line or "" for line in lines)
    return text, unreadable


def _decode_line(path: Path, place: int, line: bytes, problems: Problems) -> str | None:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = line[error.start : error.end].hex(" ")
        problems.add(path, place + 1, repr(line[:80])[2:-1], f"byte {bad} is not UTF-8 in", "Save the file as UTF-8.")
        return None


def without_empty_labels(table: Table, problems: Problems, *, last_may_be_empty: bool = False) -> Table:
    checked = table.columns[:-1] if last_may_be_empty else table.columns
    empty = np.zeros(len(table), dtype=bool)
    for number, column in enumerate(checked, 1):
        here = column == ""
        for i in np.flatnonzero(here):
            problems.add(table.path, int(table.lines[i]), "", f"column {number} is empty", "Write a label there.")
        empty |= here
    if not empty.any():
        return table
    return Table(table.path, tuple(c[~empty] for c in table.columns), table.lines[~empty])


def _tabs_per_line(text: str, n_lines: int) -> np.ndarray:
    """How many tabs each line has, counted on the bytes at once."""
    raw = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    ends = np.append(np.flatnonzero(raw == ord("\n")), len(raw))[:n_lines]
    return np.diff(np.searchsorted(np.flatnonzero(raw == ord("\t")), ends), prepend=0)


def _split(lines: list[str], good: np.ndarray, n_columns: int, exact: bool) -> tuple[np.ndarray, ...]:
    kept = lines if good.all() else [lines[i] for i in np.flatnonzero(good)]
    if exact:  # one split of the whole text is several times faster than one for each line
        fields = "\t".join(kept).split("\t") if kept else []
    else:
        fields = [field for line in kept for field in line.split("\t", n_columns - 1)]
    flat = np.empty(len(fields), dtype=object)
    flat[:] = fields
    return tuple(flat[i::n_columns] for i in range(n_columns))
