"""Parquet into columns of labels. Another process reads it: damaged files can crash the reader, and lie about sizes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from mixtea.data.formats.cell_values import Column, column_of_texts, typed_texts
from mixtea.data.formats.headers import TRIPLE_HEADERS, Headers, too_few
from mixtea.data.formats.tsv import as_array
from mixtea.data.safe.limits import MIB, in_force
from mixtea.data.safe.open import BLOCK, COMPRESSED, opened
from mixtea.data.safe.problems import UnreadableError
from mixtea.data.safe.sandbox import Process
from mixtea.data.safe.sandboxed.parquet_child import MAGIC
from mixtea.text import visible

NEEDS_NO_NUMPY = 18  # pyarrow since then
TIMES_ITS_SIZE = 32  # memory for a dictionary of labels, which a column may hold as a whole, compressed
LONGEST_TYPE = 100  # characters
WRITE_AGAIN = "Write the file again, or correct its ending."
NUMBERS = ("confidence", "probability", "measure", "similarity", "score")
T = TypeVar("T")


def parquet_columns(path: Path, headers: Headers) -> tuple[np.ndarray, ...]:
    """The columns that a header names, else the first; numbers as text, empty where there is nothing.

    Only what a header calls by a name of `NUMBERS` may have a point.
    """
    return parquet_parsed(path, "parquet_child", headers, lambda process: _columns(process, len(headers[0])))


def parquet_table(path: Path) -> tuple[list[Column], int]:
    """The columns that a header of triples names, else all of them, by their names; and how many rows there are."""
    return parquet_parsed(path, "parquet_child", TRIPLE_HEADERS, _named_columns, or_all=True)


def parquet_parsed(
    path: Path, script: str, headers: Headers, take: Callable[[Process], T], *, or_all: bool = False
) -> T:
    """What `take` makes of the stream of the process that parses the file; `or_all` columns, if no header fits."""
    import pyarrow as pa

    libraries = [Path(module.__file__ or "").parent.parent for module in (pa, np)]
    with (
        unpacked(path) as file,
        Process(path, script, "Parquet", wanted(file, headers, or_all), libraries).start(file, feed=False) as process,
    ):
        try:
            taken = take(process)
        except (pa.ArrowException, OSError, ValueError):  # of a stream that the end of the process has cut
            taken = None
        found = process.result()
    what = found.get("what")
    if "todo" in found:
        raise UnreadableError(path, found.get("line"), "", visible(what), found["todo"])
    if what == "columns":
        raise too_few(path, found["names"], headers)
    if what == "type":
        todo = "Write it as text, or leave it out." if or_all else "Labels are text; whole numbers become text."
        raise UnreadableError(
            path, None, found["name"], f"a column of type {visible(found['type'], LONGEST_TYPE)}:", todo
        )
    if what or taken is None:
        raise UnreadableError(path, None, "", f"not Parquet ({visible(what or 'damaged')})", WRITE_AGAIN)
    return taken


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """The file as one of the system's, with what is compressed unpacked into one without a name."""
    with opened(path) as file:
        if path.suffix.lower() not in COMPRESSED:
            yield file
            return
        if file.peek(len(MAGIC))[: len(MAGIC)] != MAGIC:
            raise UnreadableError(path, None, "", "not Parquet (it does not begin as Parquet does)", WRITE_AGAIN)
        with _temporary(path) as copy:
            while rest := memoryview(file.read(BLOCK)):
                with _told_as_ours(path):
                    while rest:
                        rest = rest[copy.write(rest) :]
            copy.seek(0)
            yield copy


@contextmanager
def _temporary(path: Path) -> Iterator[Any]:
    """A file without a name and without a buffer, which could not be closed where a disk is full."""
    with _told_as_ours(path):
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed below
    with file:
        yield file


@contextmanager
def _told_as_ours(path: Path) -> Iterator[None]:
    """What fails in the block is no fault of the file."""
    try:
        yield
    except OSError as error:
        what = f"cannot be unpacked into the temporary folder {visible(tempfile.tempdir or '')} ({error.strerror})"
        todo = "Make room there, name another folder by TMPDIR, or unpack the file yourself."
        raise UnreadableError(path, None, "", what, todo) from None


def wanted(file: IO[bytes], headers: Headers, or_all: bool = False) -> dict[str, object]:
    """What the other process is to read, and how much of it."""
    import pyarrow as pa

    limits, size = in_force(), os.fstat(file.fileno()).st_size
    most = limits.bytes_for(size)
    return {
        "mib": limits.max_parser_mib + TIMES_ITS_SIZE * size // MIB,
        "n": len(headers[0]), "headers": list(headers), "max_token": limits.max_token_mib * MIB, "max_bytes": most,
        "max_columns": limits.max_columns, "max_rows": limits.max_rows,
        "numbers": NUMBERS, "or_all": or_all,
        "without_numpy": int(pa.__version__.partition(".")[0]) >= NEEDS_NO_NUMPY,
        "bytes_limit": "max_gib" if most >= limits.max_gib * 1024 * MIB else "max_expansion",
    }  # fmt: skip


def _columns(process: Process, n: int) -> tuple[np.ndarray, ...]:
    import pyarrow as pa

    return _texts(pa.ipc.open_stream(process.out), n)


def _named_columns(process: Process) -> tuple[list[Column], int]:
    import pyarrow as pa

    stream = pa.ipc.open_stream(process.out)
    fields = list(stream.schema)
    columns = _texts(stream, len(fields))
    named = [
        column_of_texts(field.name, typed_texts(field.metadata[b"kind"].decode(), column))
        for field, column in zip(fields, columns, strict=True)
    ]
    return named, len(columns[0])


def _texts(stream: Any, n: int) -> tuple[np.ndarray, ...]:
    """Equal labels become one object."""
    parts: list[list[np.ndarray]] = [[np.empty(0, dtype=object)] for _ in range(n)]
    labels: dict[str, str] = {}
    shared = labels.setdefault
    for batch in stream:
        for column, found in zip(batch.columns, parts, strict=True):
            texts = column.dictionary.to_pylist()
            found.append(as_array(list(map(shared, texts, texts)))[column.indices.to_numpy()])
    return tuple(map(np.concatenate, parts))
