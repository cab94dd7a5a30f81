"""Parquet into columns of texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mixtea.io.formats.headers import Headers
from mixtea.io.formats.table_process import Cells, Parser, Wanted, cells_of, parsed
from mixtea.io.safe.sandbox import Process
from mixtea.io.safe.sandboxed.parquet_child import MAGIC

T = TypeVar("T")


def parquet_cells(path: Path, wanted: Wanted) -> Cells:
    """The wanted columns: labels, which are texts or whole numbers; values of any type, where all columns are.

    Only what a header calls by a name of `NUMBERS` may have a point.
    """
    return parsed(Parser("Parquet", "parquet_child", MAGIC), path, path, wanted, cells_of)[0]


def parquet_parsed(path: Path, script: str, headers: Headers, take: Callable[[Process], T]) -> T:
    """What `take` makes of the stream of another script that parses the file."""
    return parsed(Parser("Parquet", script, MAGIC), path, path, Wanted(headers), take)[0]
