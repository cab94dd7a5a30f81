"""Rows of a mapping with labels, shared by the formats that hold all columns."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.decide.mapping import Mapping
from mixtea.errors import shorten
from mixtea.export.identifiers import labels_of, optional_texts, rows_to_write
from mixtea.export.metadata import MappingMetadata
from mixtea.export.quoting import raise_unsupported, surrogate_label_problems, surrogate_problems
from mixtea.messages import visible

logger = logging.getLogger(__name__)
NUMBER_COLUMNS = ("probability", "probability_before", "runner_up_probability", "score")
format_number = "{:.6f}".format
_FORMULA = re.compile(r"[=+\-@\t\r]")


def labelled_rows(mapping: Mapping, path: Path, metadata: MappingMetadata) -> pd.DataFrame:
    """Return the columns of the mapping, with source_label and target_label; None for entities without a label."""
    rows = rows_to_write(mapping, metadata)
    problems: dict[str, str] = {}
    for side, graph in (("source", mapping.source), ("target", mapping.target)):
        ids = optional_texts(rows[side])
        labels = labels_of(ids, graph)
        problems |= surrogate_label_problems(ids, labels) | surrogate_problems(ids)
        rows.insert(rows.columns.get_loc(side) + 1, f"{side}_label", pd.Series(labels, dtype=object))
    raise_unsupported(path, problems | surrogate_problems(optional_texts(rows["runner_up"])))
    return rows


def json_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Round numbers to six places, and replace missing values by None."""
    rounded = {name: frame[name].astype(float).round(6) for name in NUMBER_COLUMNS if name in frame}
    found = frame.assign(**rounded).astype(object)
    return found.where(found.notna(), None)


def text_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Format numbers with six places, and replace missing values by ""."""
    numbers = {name: frame[name].map(format_number, na_action="ignore") for name in frame if name in NUMBER_COLUMNS}
    shown = frame.assign(**numbers).astype(object)
    return shown.where(shown.notna(), "")


def warn_about_formulas(texts: Iterable[str | None], path: Path) -> None:
    """Warn of texts that a spreadsheet would take for formulas; they are written unchanged."""
    found = list(dict.fromkeys(text for text in texts if text and _FORMULA.match(text)))
    if found:
        logger.warning(
            "%s: %s texts begin like a formula (%s): if a spreadsheet opens the file, have it take columns as text",
            visible(path), f"{len(found):,}", shorten(found[0]),
        )  # fmt: skip


def json_value(value: object) -> object:
    """Convert a NumPy scalar to a Python value."""
    return value.item() if isinstance(value, np.generic) else value
