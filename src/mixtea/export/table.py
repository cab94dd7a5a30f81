"""What formats that hold every column have in common: the rows of a mapping with the labels of their entities."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.decide.mapping import Mapping
from mixtea.errors import shorten
from mixtea.export.identifiers import labels_of, rows_of, text_of
from mixtea.export.metadata import About
from mixtea.export.unsupported import half_characters, half_labels, refuse
from mixtea.messages import visible

logger = logging.getLogger(__name__)
NUMBERS = ("probability", "probability_before", "runner_up_probability", "score")
SIX_PLACES = "{:.6f}".format
_FORMULA = re.compile(r"[=+\-@\t\r]")


def labelled_rows(mapping: Mapping, path: Path, about: About) -> pd.DataFrame:
    """The columns of the mapping, and source_label and target_label of the entities that have one; else None."""
    rows = rows_of(mapping, about)
    problems: dict[str, str] = {}
    for side, graph in (("source", mapping.source), ("target", mapping.target)):
        ids = text_of(rows[side])
        labels = labels_of(ids, graph)
        problems |= half_labels(ids, labels) | half_characters(ids)
        rows.insert(rows.columns.get_loc(side) + 1, f"{side}_label", pd.Series(labels, dtype=object))
    refuse(path, problems | half_characters(text_of(rows["runner_up"])))
    return rows


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with numbers to six places, and None for whatever there is not."""
    rounded = {name: frame[name].astype(float).round(6) for name in NUMBERS if name in frame}
    found = frame.assign(**rounded).astype(object)
    return found.where(found.notna(), None)


def as_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with numbers in six places, and "" for whatever there is not."""
    numbers = {name: frame[name].map(SIX_PLACES, na_action="ignore") for name in frame if name in NUMBERS}
    shown = frame.assign(**numbers).astype(object)
    return shown.where(shown.notna(), "")


def warn_of_formulas(texts: Iterable[str | None], path: Path) -> None:
    """Say how many texts a spreadsheet would take for formulas: they stay as they are, for they name something."""
    found = list(dict.fromkeys(text for text in texts if text and _FORMULA.match(text)))
    if found:
        logger.warning(
            "%s: %s texts begin like a formula (%s): if a spreadsheet opens the file, have it take columns as text",
            visible(path), f"{len(found):,}", shorten(found[0]),
        )  # fmt: skip


def without_numpy(value: object) -> object:
    """A value as JSON has it."""
    return value.item() if isinstance(value, np.generic) else value
