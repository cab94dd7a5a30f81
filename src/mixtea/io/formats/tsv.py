"""Read tab-separated text into columns of labels. Labels stay text: nothing is guessed, stripped or unquoted."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from mixtea.errors import Problems
from mixtea.io.safe.limits import truncate_rows
from mixtea.io.safe.lines import UTF_8, line_blocks

Row = tuple[int, list[str]]  # its line, and its fields


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


def tsv_rows(path: Path, problems: Problems, encoding: str = UTF_8, *, most: int = -1) -> Iterator[Row]:
    """Yield (line, fields) of each line that is not blank, at `most` so many tabs dividing it.

    A blank line is a problem, except at the end.
    """
    blank_from = 0
    for start, text, unreadable in text_blocks(path, problems, encoding):
        for number, line in enumerate(text.replace("\r\n", "\n").removesuffix("\n").split("\n"), start):
            if not line and number not in unreadable:
                blank_from = blank_from or number
                continue
            if blank_from:
                for blank in truncate_rows(problems, path, np.arange(blank_from, number)).tolist():
                    problems.add(path, blank, "", "a blank line", "Write a row there, or remove it.")
                blank_from = 0
            if line:
                yield number, line.split("\t", most)


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


def object_array(texts: list[str]) -> np.ndarray:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array
