"""Mappings and candidates as comma-separated text with a header, quoted where that is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mixtea.decide.mapping import Mapping
from mixtea.export.identifiers import optional_texts
from mixtea.export.metadata import MappingMetadata, add_link_origin
from mixtea.export.quoting import csv_text, raise_unsupported
from mixtea.export.table import labelled_rows, text_frame, warn_about_formulas
from mixtea.io.formats.link_tables import TABLE_COLUMNS, TABLE_SEPARATOR
from mixtea.runs.atomic import atomic_file

ENDS = ("source", "target")
COLUMNS = (*ENDS, "probability", "decision")
_TEXTS = {*ENDS, "source_label", "target_label", "runner_up"}  # what others have written


def write_csv(mapping: Mapping, path: Path, metadata: MappingMetadata) -> int:
    """Write source, target, probability and decision, or all columns with labels; no target is an empty field.

    Where a side has several tables, ids are written as read, beside the names of their tables.
    """
    rows = labelled_rows(mapping, path, metadata)
    shown = add_link_origin(rows, mapping.links_from) if metadata.all_columns else rows[list(COLUMNS)]
    for end, table, graph in zip(ENDS, TABLE_COLUMNS, (mapping.source, mapping.target), strict=True):
        if graph.kept_apart:
            parts = [_table_and_id(id, graph.kept_apart) for id in optional_texts(shown[end])]
            shown = shown.assign(**{end: [id for _, id in parts], table: [name for name, _ in parts]})
    write_csv_table(shown, path)
    return int(rows["target"].notna().sum())


def _table_and_id(id: str | None, tables: Sequence[str]) -> tuple[str, str | None]:
    table = next((name for name in tables if id is not None and id.startswith(name + TABLE_SEPARATOR)), "")
    return table, id.removeprefix(table + TABLE_SEPARATOR) if id is not None and table else id


def write_csv_table(frame: pd.DataFrame, path: Path) -> int:
    """Write a table with source and target; refuse empty ids, which would read as missing."""
    empty = [name for name in ENDS if (frame[name] == "").any()]
    raise_unsupported(
        path, dict.fromkeys([""] * bool(empty), "has an empty id, which .csv cannot tell from none. Use .json.")
    )
    shown = text_frame(frame)
    warn_about_formulas((text for name in shown if name in _TEXTS for text in shown[name].tolist()), path)
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(map(csv_text, shown.columns)) + "\n")
        rows = shown.itertuples(index=False, name=None)
        file.writelines(",".join(csv_text(_cell(cell)) for cell in row) + "\n" for row in rows)
    return len(frame)


def _cell(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
