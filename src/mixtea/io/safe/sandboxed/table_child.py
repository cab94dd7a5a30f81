"""Choose the columns of a table, and write rows of values as Arrow's stream.

Each column of the stream is a dictionary of texts, empty where a cell is missing. Where each cell has its own type, the
column is of the kind `CELLS`, texts begin with the letter of their type, and a last column has the row numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from .restrict import WrongError

MAX_SHOWN = 400  # characters of a name, a type or an error shown
CELLS = "cells"
LETTERS: dict[type, str] = {str: "t", bool: "b", int: "n", float: "f", datetime: "m"}
ONE_SELECT = "Give one statement that begins with SELECT, or WITH."
OTHER = "o"  # whose str() is what a CSV file holds
RELATIONS = ("relation", "relationship")
MAX_BATCH_CELLS = 1 << 16  # of a batch
CELL_BYTES = 24  # what a cell takes in a file beside its text


def choose_columns(names: list[str], wanted: dict[str, Any]) -> tuple[list[int], bool]:
    """Return the places of the wanted columns, and whether these are all: if no header fits and all may be taken."""
    or_all = wanted.get("or_all", False) and not find_header(names, wanted["headers"])
    if len(names) < (1 if or_all else wanted["n"]):
        raise WrongError("columns", names=[name[:MAX_SHOWN] for name in names[: wanted["n"]]])
    return check_unique(names) if or_all else wanted_columns(names, wanted), or_all


def wanted_columns(names: list[str], wanted: dict[str, Any]) -> list[int]:
    """Return the positions of a fitting header's columns, else the first ones; of links also their relation."""
    places, normalised = find_header(names, wanted["headers"]), [normalise_header(name) for name in names]
    if not places:
        return list(range(wanted["n"]))
    if twice := [normalised[place] for place in places if normalised.count(normalised[place]) > 1]:
        raise WrongError(f"two columns named {twice[0]}", todo="Name each column once.")
    of_links = enumerate(normalised) if wanted.get("links", False) else ()
    also = [place for place, name in of_links if name in RELATIONS and place not in places]
    return [*places, *also[:1]]


def check_unique(names: list[str]) -> list[int]:
    """Return the places of all columns, if each has a name of its own."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise WrongError(f"two columns named {name[:MAX_SHOWN]}", todo="Name each column once.")
        seen.add(name)
    return list(range(len(names)))


def find_header(names: Sequence[str], headers: Sequence[Sequence[str]]) -> list[int]:
    """Return the positions of the columns of the first fitting header; [] if no header fits."""
    found = [normalise_header(name) for name in names]
    fitting = next((header for header in headers if set(header) <= set(found)), ())
    return [found.index(name) for name in fitting]


def normalise_header(name: str) -> str:
    """Return a column name in lower case, without spaces, hyphens and underscores.

    >>> normalise_header(" Source-URI"), normalise_header("source_uri")
    ('sourceuri', 'sourceuri')
    """
    return "".join(sign for sign in name.lower() if not (sign.isspace() or sign in "_-"))


def cell_text(value: Any) -> str:
    """Write a value as a text that begins with its type; "" for a missing one.

    >>> [cell_text(value) for value in (None, "", "x", 5, 2.5, True, False, datetime(2020, 1, 31))]
    ['', '', 'tx', 'n5', 'f2.5', 'b1', 'b', 'm2020-01-31 00:00:00']
    """
    if value is None or value == "":
        return ""
    letter = LETTERS.get(type(value), OTHER)
    return letter + (("1" if value else "") if letter == "b" else str(value))


class ArrowWriter:
    """A writer of rows as Arrow's stream, within the limits: use as a context."""

    def __init__(self, names: Sequence[str], sink: Any, wanted: dict[str, Any], go_on: Any) -> None:
        import pyarrow as pa

        kind = pa.dictionary(pa.int32(), pa.large_string())
        fields = [pa.field(name, kind, metadata={"kind": CELLS}) for name in names]
        self.schema = pa.schema([*fields, pa.field("", pa.int64())])
        self.stream = pa.ipc.new_stream(sink, self.schema)
        self.wanted, self.go_on, self.n, self.size, self.held = wanted, go_on, 0, 0, 0
        self.lines: list[int] = []
        self.columns: list[list[str]] = [[] for _ in names]

    def add(self, line: int, values: Sequence[Any]) -> None:
        """Write a row and its line number."""
        self.n += 1
        if self.n > self.wanted["max_rows"]:
            raise WrongError(f"more than {self.wanted['max_rows']:,} rows", limit="max_rows")
        self.lines.append(line)
        for column, value in zip(self.columns, values, strict=True):
            column.append(text := cell_text(value))
            if len(text) > self.wanted["max_token"]:
                raise WrongError("a label longer than a token may be", limit="max_token_mib", line=line)
            self.held += (len(text) + CELL_BYTES) * bool(text)
        if len(self.lines) * len(self.columns) >= MAX_BATCH_CELLS or self.held >= self.wanted["max_token"]:
            self.flush()

    def flush(self) -> None:
        import pyarrow as pa

        self.size += self.held
        if self.size > self.wanted["max_bytes"]:
            raise WrongError(f"cells of {self.size:,} bytes and more", limit=self.wanted["bytes_limit"])
        self.go_on(self.held)
        texts = [pa.array(column, pa.large_string()).dictionary_encode() for column in self.columns]
        self.stream.write_batch(pa.record_batch([*texts, pa.array(self.lines, pa.int64())], schema=self.schema))
        self.held, self.lines, self.columns = 0, [], [[] for _ in self.columns]

    def __enter__(self) -> ArrowWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.flush()
            self.stream.close()
