"""Mappings and candidates as comma-separated text with a header, quoted where that is needed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mixtea.export.about import About, marked
from mixtea.export.quoting import csv_text
from mixtea.export.refusal import refuse
from mixtea.export.rows import as_texts, labelled_rows, warn_of_formulas
from mixtea.match.mapping import Mapping
from mixtea.runs.atomic import atomic_file

ENDS = ("source", "target")
COLUMNS = (*ENDS, "probability", "decision")
_TEXTS = {*ENDS, "source_label", "target_label", "runner_up"}  # what others have written


def write_csv(mapping: Mapping, path: Path, about: About) -> int:
    """Source, target, probability and decision, or every column, with labels; no target is an empty field."""
    rows = labelled_rows(mapping, path, about)
    write_csv_table(marked(rows, mapping.links_from) if about.all_columns else rows[list(COLUMNS)], path)
    return int(rows["target"].notna().sum())


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
