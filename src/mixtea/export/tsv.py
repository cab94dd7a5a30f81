"""Mappings as tab-separated text."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pandas as pd

from mixtea.decide.mapping import Mapping
from mixtea.export.metadata import MappingMetadata
from mixtea.export.quoting import DEFAULT_ADVICE, character_problem, raise_unsupported, surrogate_problem, tsv_text
from mixtea.export.table import format_number, text_frame
from mixtea.messages import HALF_CHARACTER
from mixtea.runs.atomic import atomic_file

_FORMAT = {"sep": "\t", "index": False, "quoting": csv.QUOTE_NONE, "quotechar": None, "lineterminator": "\n"}
_SEPARATORS = re.compile("[\t\n\r]")


def write_tsv_table(
    frame: pd.DataFrame, path: Path, instead: str = DEFAULT_ADVICE, *, kind: str = "entity", header: bool = True
) -> int:
    """Write a table with source and target; refuse ids that a line cannot hold. Return the number of rows."""
    _check(frame, path, instead, kind)
    with atomic_file(path) as temporary:
        frame.to_csv(temporary, header=header, **_FORMAT)
    return len(frame)


def write_tsv(mapping: Mapping, path: Path, metadata: MappingMetadata) -> int:
    """Write a mapping as a link file: source, target and probability, no header. Return the number of lines."""
    pairs = mapping.pairs()[["source", "target", "probability"]]
    return write_tsv_table(pairs.assign(probability=pairs["probability"].map(format_number)), path, header=False)


def changes_text(changes: pd.DataFrame) -> str:
    """Return the rows of a comparison as tab-separated text with a header, quoted where needed."""
    shown = text_frame(changes)
    rows = [list(shown.columns), *shown.to_numpy().tolist()]
    return "".join("\t".join(tsv_text(str(field)) for field in row) + "\n" for row in rows)


def write_changes_tsv(changes: pd.DataFrame, path: Path) -> int:
    """Write the rows of a comparison; return how many."""
    with atomic_file(path) as temporary:
        temporary.write_text(changes_text(changes), encoding="utf-8", newline="")
    return len(changes)


def _check(frame: pd.DataFrame, path: Path, instead: str, kind: str) -> None:
    """Refuse labels that the file cannot hold."""
    problems: dict[str, str] = {}
    for column in (frame["source"], frame["target"]):
        labels = column.unique().tolist()
        problems |= {label: what for label, what in ((one, _problem(one, instead)) for one in labels) if what}
    raise_unsupported(path, problems, kind)


def _problem(label: str, instead: str) -> str:
    """Return why a file without quotes cannot hold a label: separators, or a byte order mark in front; "" if it can."""
    if not label:
        return f"has no label, where a line needs one. {instead}"
    half, found = HALF_CHARACTER.search(label), _SEPARATORS.search(label)
    if half:
        return surrogate_problem(half[0])
    if found:
        return character_problem(found[0], "which separates columns or lines in .tsv", instead)
    return (
        character_problem(label[0], "which readers drop from the start of a file", instead)
        if label[0] == "\ufeff"
        else ""
    )
