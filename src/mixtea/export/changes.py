"""What changed between two mappings, into a file; the file's ending chooses the format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from mixtea.export.csv_file import write_csv_table
from mixtea.export.mapping import writer_for
from mixtea.export.quoting import tsv_text
from mixtea.export.table import as_texts
from mixtea.runs.atomic import atomic_file


def write_changes(changes: pd.DataFrame, path: Path) -> int:
    """Write the rows of a comparison whole or not at all, with a header; returns how many."""
    return writer_for(path, WRITERS)(changes, path)


def changes_text(changes: pd.DataFrame) -> str:
    """What changed as tab-separated text with a header; fields in quotes where they need them."""
    shown = as_texts(changes)
    rows = [list(shown.columns), *shown.to_numpy().tolist()]
    return "".join("\t".join(tsv_text(str(field)) for field in row) + "\n" for row in rows)


def _write_tsv(changes: pd.DataFrame, path: Path) -> int:
    with atomic_file(path) as temporary:
        temporary.write_text(changes_text(changes), encoding="utf-8", newline="")
    return len(changes)


WRITERS: dict[str, Callable[[pd.DataFrame, Path], int]] = {".tsv": _write_tsv, ".csv": write_csv_table}
