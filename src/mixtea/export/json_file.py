"""Mappings and candidates as JSON: the metadata of the set, then one object per row, each on its own line."""

from __future__ import annotations

import json
from collections.abc import Mapping as Table
from pathlib import Path
from typing import Any

import pandas as pd

from mixtea.decide.mapping import Mapping
from mixtea.export.metadata import MappingMetadata
from mixtea.export.table import json_frame, json_value, labelled_rows
from mixtea.runs.atomic import atomic_file


def write_json(mapping: Mapping, path: Path, metadata: MappingMetadata) -> int:
    """Write the metadata under SSSOM's names, and under `mappings` all columns with labels; missing values are null."""
    rows = labelled_rows(mapping, path, metadata)
    head = (
        metadata.slots()
        | {"predicate_id": metadata.predicate}
        | metadata.tool_slots()
        | {"links_from": mapping.links_from}
    )
    write_json_table(rows, path, "mappings", head)
    return int(rows["target"].notna().sum())


def write_json_table(frame: pd.DataFrame, path: Path, name: str, head: Table[str, Any]) -> int:
    """Write the head, and under `name` the rows of a table."""
    columns = list(frame.columns)
    rows = json_frame(frame).itertuples(index=False, name=None)
    lines = (json.dumps(dict(zip(columns, map(json_value, row), strict=True)), ensure_ascii=False) for row in rows)
    start = json.dumps(dict(head) | {name: []}, ensure_ascii=False, indent=1).removesuffix("]\n}")
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(start)
        for number, line in enumerate(lines):
            file.write(("," if number else "") + "\n  " + line)
        file.write("\n ]\n}\n")
    return len(frame)
