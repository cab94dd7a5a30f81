"""Mappings as a Parquet file: every column as it is, the description in the schema's metadata."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mixtea.decide.mapping import Mapping
from mixtea.export.identifiers import text_of
from mixtea.export.justification import shared_justification
from mixtea.export.metadata import About
from mixtea.export.table import labelled_rows
from mixtea.runs.atomic import atomic_file

_KINDS = {"probability": pa.float64(), "runner_up_probability": pa.float64(), "given": pa.bool_()}


def write_parquet(mapping: Mapping, path: Path, about: About) -> int:
    """The columns of the mapping, and source_label and target_label of the entities that have one."""
    rows = labelled_rows(mapping, path, about)
    texts = {name: text_of(rows[name]) for name in rows.columns if name not in _KINDS}
    columns = {
        name: pa.array(texts[name], pa.string())
        if name in texts
        else pa.array(rows[name], _KINDS[name], from_pandas=True)
        for name in rows.columns
    }
    more = {
        "predicate_id": about.predicate,
        "mapping_justification": shared_justification(rows, about, mapping.evidence_kinds),
    }
    write_columns(columns, path, about, more)
    return int(rows["target"].notna().sum())


def write_columns(columns: dict[str, pa.Array], path: Path, about: About, more: dict[str, str]) -> None:
    """The columns, and in the metadata the description under SSSOM's names, where it has one."""
    metadata = about.slots() | {"mapping_justification": about.justification} | more | about.tool()
    with atomic_file(path) as temporary:
        pq.write_table(pa.table(columns).replace_schema_metadata(metadata), temporary)
