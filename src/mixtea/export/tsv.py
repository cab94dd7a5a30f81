"""Mappings as tab-separated text."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pandas as pd

from mixtea.decide.mapping import Mapping
from mixtea.export.identifiers import only_pairs
from mixtea.export.metadata import About
from mixtea.export.table import SIX_PLACES
from mixtea.export.unsupported import INSTEAD, half_character, holds, refuse
from mixtea.messages import HALF_CHARACTER
from mixtea.runs.atomic import atomic_file

_FORMAT = {"sep": "\t", "index": False, "quoting": csv.QUOTE_NONE, "quotechar": None, "lineterminator": "\n"}
_SEPARATORS = re.compile("[\t\n\r]")


def write_table(
    frame: pd.DataFrame, path: Path, instead: str = INSTEAD, *, kind: str = "entity", header: bool = True
) -> int:
    """Any table with source and target; ids that a line cannot hold are refused. Returns the number of rows."""
    _check(frame, path, instead, kind)
    with atomic_file(path) as temporary:
        frame.to_csv(temporary, header=header, **_FORMAT)
    return len(frame)


def write_links(mapping: Mapping, path: Path, about: About) -> int:
    """A mapping in the layout of link files: source, target and probability, no header. Returns the number of lines."""
    pairs = only_pairs(mapping, path, about)[["source", "target", "probability"]]
    return write_table(pairs.assign(probability=pairs["probability"].map(SIX_PLACES)), path, header=False)


def _check(frame: pd.DataFrame, path: Path, instead: str, kind: str) -> None:
    """Refuse labels that the file cannot hold, by name, with what to do instead."""
    problems: dict[str, str] = {}
    for column in (frame["source"], frame["target"]):
        labels = column.unique().tolist()
        problems |= {label: what for label, what in ((one, _problem(one, instead)) for one in labels) if what}
    refuse(path, problems, kind)


def _problem(label: str, instead: str) -> str:
    """What a file without quotes cannot hold: separators, and what its readers drop from its start."""
    if not label:
        return f"has no label, where a line needs one. {instead}"
    half, found = HALF_CHARACTER.search(label), _SEPARATORS.search(label)
    if half:
        return half_character(half[0])
    if found:
        return holds(found[0], "which separates columns or lines in .tsv", instead)
    return holds(label[0], "which readers drop from the start of a file", instead) if label[0] == "\ufeff" else ""
