"""Mappings as a Parquet file: all columns, the metadata in the schema."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mixtea.decide.mapping import Mapping
from mixtea.export.identifiers import optional_texts
from mixtea.export.metadata import MappingMetadata
from mixtea.export.sssom import shared_justification
from mixtea.export.table import labelled_rows
from mixtea.runs.atomic import atomic_file

_KINDS = {"probability": pa.float64(), "runner_up_probability": pa.float64(), "given": pa.bool_()}


def write_parquet(mapping: Mapping, path: Path, metadata: MappingMetadata) -> int:
    """Write the columns of the mapping, and the labels source_label and target_label."""
    rows = labelled_rows(mapping, path, metadata)
    texts = {name: optional_texts(rows[name]) for name in rows.columns if name not in _KINDS}
    columns = {
        name: pa.array(texts[name], pa.string())
        if name in texts
        else pa.array(rows[name], _KINDS[name], from_pandas=True)
        for name in rows.columns
    }
    more = {
        "predicate_id": metadata.predicate,
        "mapping_justification": shared_justification(rows, metadata, mapping.evidence_kinds),
    }
    write_columns(columns, path, metadata, more)
    return int(rows["target"].notna().sum())


def write_columns(columns: dict[str, pa.Array], path: Path, metadata: MappingMetadata, more: dict[str, str]) -> None:
    """Write columns, with the metadata under SSSOM's names in the schema."""
    slots = metadata.slots() | {"mapping_justification": metadata.justification} | more | metadata.tool_slots()
    with atomic_file(path) as temporary:
        pq.write_table(pa.table(columns).replace_schema_metadata(slots), temporary)
