"""Mappings as a Parquet file: every column as it is, the description in the schema's metadata."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mixtea.export.about import About
from mixtea.export.identifiers import labels_of, rows_of, text_of
from mixtea.export.justification import shared_justification
from mixtea.export.refusal import half_characters, half_labels, refuse
from mixtea.match.mapping import Mapping
from mixtea.runs.atomic import atomic_file

_KINDS = {"probability": pa.float64(), "runner_up_probability": pa.float64(), "given": pa.bool_()}


def write_parquet(mapping: Mapping, path: Path, about: About) -> int:
    """The columns of the mapping, and source_label and target_label of the entities that have one."""
    rows = rows_of(mapping, about)
    problems: dict[str, str] = {}
    for side, graph in (("source", mapping.source), ("target", mapping.target)):
        ids = text_of(rows[side])
        labels = labels_of(ids, graph)
        problems |= half_labels(ids, labels) | half_characters(ids)
        rows.insert(rows.columns.get_loc(side) + 1, f"{side}_label", pd.Series(labels, dtype=object))
    texts = {name: text_of(rows[name]) for name in rows.columns if name not in _KINDS}
    refuse(path, problems | half_characters(texts["runner_up"]))
    columns = {
        name: pa.array(texts[name], pa.string())
        if name in texts
        else pa.array(rows[name], _KINDS[name], from_pandas=True)
        for name in rows.columns
    }
    more = {"predicate_id": about.predicate, "mapping_justification": shared_justification(rows, about)}
    write_columns(columns, path, about, more)
    return int(rows["target"].notna().sum())


def write_columns(columns: dict[str, pa.Array], path: Path, about: About, more: dict[str, str]) -> None:
    """The columns, and in the metadata the description under SSSOM's names, where it has one."""
    found = (
        {
            "mapping_set_id": about.set_id,
            "mapping_set_version": about.version,
            "mapping_set_title": about.title,
            "mapping_set_description": about.description,
            "license": about.licence,
            "subject_source": about.source_name,
            "object_source": about.target_name,
            "mapping_justification": about.justification,
        }
        | more
        | about.tool()
    )
    metadata = {name: value for name, value in found.items() if value}
    with atomic_file(path) as temporary:
        pq.write_table(pa.table(columns).replace_schema_metadata(metadata), temporary)
