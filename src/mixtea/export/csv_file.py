"""Mappings and candidates as comma-separated text with a header, quoted where that is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mixtea.decide.mapping import Mapping
from mixtea.export.identifiers import text_of
from mixtea.export.metadata import About, marked
from mixtea.export.quoting import csv_text
from mixtea.export.table import as_texts, labelled_rows, warn_of_formulas
from mixtea.export.unsupported import refuse
from mixtea.io.formats.link_tables import TABLE_COLUMNS, TABLE_SEPARATOR
from mixtea.runs.atomic import atomic_file

ENDS = ("source", "target")
COLUMNS = (*ENDS, "probability", "decision")
_TEXTS = {*ENDS, "source_label", "target_label", "runner_up"}  # what others have written


def write_csv(mapping: Mapping, path: Path, about: About) -> int:
    """Source, target, probability and decision, or every column, with labels; no target is an empty field.

    Ids that several tables of a side have stand as they came, beside the names of their tables.
    """
    rows = labelled_rows(mapping, path, about)
    shown = marked(rows, mapping.links_from) if about.all_columns else rows[list(COLUMNS)]
    for end, table, graph in zip(ENDS, TABLE_COLUMNS, (mapping.source, mapping.target), strict=True):
        if graph.kept_apart:
            parts = [_table_and_id(id, graph.kept_apart) for id in text_of(shown[end])]
            shown = shown.assign(**{end: [id for _, id in parts], table: [name for name, _ in parts]})
    write_csv_table(shown, path)
    return int(rows["target"].notna().sum())


def _table_and_id(id: str | None, tables: Sequence[str]) -> tuple[str, str | None]:
    table = next((name for name in tables if id is not None and id.startswith(name + TABLE_SEPARATOR)), "")
    return table, id.removeprefix(table + TABLE_SEPARATOR) if id is not None and table else id


def write_csv_table(frame: pd.DataFrame, path: Path) -> int:
    """Any table with source and target. Ids stay as they are; an empty one could not be told from none."""
    empty = [name for name in ENDS if (frame[name] == "").any()]
    refuse(path, dict.fromkeys([""] * bool(empty), "has an empty id, which .csv cannot tell from none. Use .json."))
    shown = as_texts(frame)
    warn_of_formulas((text for name in shown if name in _TEXTS for text in shown[name].tolist()), path)
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(map(csv_text, shown.columns)) + "\n")
        rows = shown.itertuples(index=False, name=None)
        file.writelines(",".join(csv_text(_cell(cell)) for cell in row) + "\n" for row in rows)
    return len(frame)


def _cell(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
