"""Mappings, candidates, relations and changes as tables: TSV, CSV, JSON and Parquet."""

from __future__ import annotations

import csv
import json
import logging
import re
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Table
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mixtea.decide.mapping import Mapping
from mixtea.errors import shorten
from mixtea.export.identifiers import labels_of, optional_texts, rows_to_write
from mixtea.export.metadata import MappingMetadata
from mixtea.export.quoting import (
    DEFAULT_ADVICE,
    line_problem,
    quoted,
    raise_unsupported,
    surrogate_label_problems,
    surrogate_problems,
)
from mixtea.export.sssom import shared_justification
from mixtea.graph.graph import SIDES
from mixtea.io.formats.link_tables import TABLE_COLUMNS, TABLE_SEPARATOR
from mixtea.messages import visible
from mixtea.runs.atomic import atomic_file

logger = logging.getLogger(__name__)
CSV_COLUMNS = (*SIDES, "probability", "decision")
ROUNDED = ("probability", "probability_before", "runner_up_probability", "score")
NUMBERS, FLAGS = (*ROUNDED, "count", "source_count", "target_count"), ("given", "inverse")
PARQUET_KINDS = dict.fromkeys(NUMBERS, pa.float64()) | dict.fromkeys(FLAGS, pa.bool_())
_FOREIGN_TEXTS = {
    *SIDES,
    "id",
    "graph",
    "source_label",
    "target_label",
    "runner_up",
}  # columns that others have written
_FORMULA = re.compile(r"[=+\-@\t\r]")
_UNQUOTED = {"sep": "\t", "index": False, "quoting": csv.QUOTE_NONE, "quotechar": None, "lineterminator": "\n"}


class Rows(NamedTuple):
    """A table to write, with columns of ids: source and target, unless `ends` names others.

    `name` is what JSON calls the rows, `head` the metadata that it holds. `links_from` is the origin of links, None
    where it does not matter. `kind` is what the ids are of, `advice` what to do where a line cannot hold one.
    """

    frame: pd.DataFrame
    name: str
    links_from: str | None = None
    head: Table[str, Any] = {}
    kind: str = "entity"
    advice: str = DEFAULT_ADVICE
    ends: tuple[str, ...] = SIDES

    def ids(self) -> list[str | None]:
        return [id for end in self.ends for id in optional_texts(self.frame[end])]

    def with_origin(self) -> pd.DataFrame:
        """Return the rows with a column for the origin of links that were not given."""
        return add_link_origin(self.frame, self.links_from or "given")


def check_text(rows: Rows, path: Path) -> None:
    """Refuse ids that no encoding can hold."""
    raise_unsupported(path, surrogate_problems(rows.ids()), rows.kind)


def add_link_origin(frame: pd.DataFrame, links_from: str) -> pd.DataFrame:
    """Add a column with the origin of links that were not given: a table has no other place for it."""
    return frame if links_from == "given" else frame.assign(links_from=links_from)


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


def text_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Format numbers with six places, and replace missing values by ""."""
    numbers = {name: frame[name].map("{:.6f}".format, na_action="ignore") for name in ROUNDED if name in frame}
    shown = frame.assign(**numbers).astype(object)
    return shown.where(shown.notna(), "")


# TSV


def write_tsv(mapping: Mapping, path: Path, metadata: MappingMetadata) -> int:
    """Write a mapping as a link file: source, target and probability, no header. Return the number of lines."""
    return _write_lines(Rows(mapping.pairs()[[*SIDES, "probability"]], "mappings"), path, header=False)


def write_tsv_rows(rows: Rows, path: Path) -> int:
    """Write a table with a header; refuse ids that a line cannot hold. Return the number of rows."""
    return _write_lines(rows._replace(frame=rows.with_origin()), path, header=True)


def _write_lines(rows: Rows, path: Path, *, header: bool) -> int:
    ids = dict.fromkeys(id for end in rows.ends for id in rows.frame[end].tolist())
    problems = {id: what for id in ids if (what := line_problem(id, rows.advice))}
    raise_unsupported(path, problems, rows.kind)
    shown = {name: rows.frame[name].map("{:.6f}".format, na_action="ignore") for name in NUMBERS if name in rows.frame}
    shown |= {name: rows.frame[name].map({True: "true", False: "false"}) for name in FLAGS if name in rows.frame}
    with atomic_file(path) as temporary:
        rows.frame.assign(**shown).to_csv(temporary, header=header, **_UNQUOTED)
    return len(rows.frame)


def changes_text(changes: pd.DataFrame) -> str:
    """Return the rows of a comparison as tab-separated text with a header, quoted where needed."""
    shown = text_frame(changes)
    rows = [list(shown.columns), *shown.to_numpy().tolist()]
    return "".join("\t".join(quoted(str(field), "\t") for field in row) + "\n" for row in rows)


def write_changes_tsv(changes: Rows, path: Path) -> int:
    """Write the rows of a comparison; return how many."""
    with atomic_file(path) as temporary:
        temporary.write_text(changes_text(changes.frame), encoding="utf-8", newline="")
    return len(changes.frame)


# CSV


def write_csv(mapping: Mapping, path: Path, metadata: MappingMetadata) -> int:
    """Write source, target, probability and decision, or all columns with labels; no target is an empty field.

    Where a side has several tables, ids are written as read, beside the names of their tables.
    """
    rows = labelled_rows(mapping, path, metadata)
    shown = add_link_origin(rows, mapping.links_from) if metadata.all_columns else rows[list(CSV_COLUMNS)]
    for end, table, graph in zip(SIDES, TABLE_COLUMNS, (mapping.source, mapping.target), strict=True):
        if graph.kept_apart:
            parts = [_table_and_id(id, graph.kept_apart) for id in optional_texts(shown[end])]
            shown = shown.assign(**{end: [id for _, id in parts], table: [name for name, _ in parts]})
    _write_fields(shown, path)
    return int(rows["target"].notna().sum())


def _table_and_id(id: str | None, tables: Sequence[str]) -> tuple[str, str | None]:
    table = next((name for name in tables if id is not None and id.startswith(name + TABLE_SEPARATOR)), "")
    return table, id.removeprefix(table + TABLE_SEPARATOR) if id is not None and table else id


def write_csv_rows(rows: Rows, path: Path) -> int:
    """Write a table with a header; return the number of rows."""
    check_text(rows, path)
    _write_fields(rows.with_origin(), path, rows.ends)
    return len(rows.frame)


def _write_fields(frame: pd.DataFrame, path: Path, ends: tuple[str, ...] = SIDES) -> None:
    """Write a table, quoted where needed; refuse empty ids, which would read as missing."""
    if any((frame[name] == "").any() for name in ends):
        raise_unsupported(path, {"": "has an empty id, which .csv cannot tell from none. Use .json."})
    shown = text_frame(frame)
    warn_about_formulas((text for name in shown if name in _FOREIGN_TEXTS for text in shown[name].tolist()), path)
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(map(quoted, shown.columns)) + "\n")
        rows = shown.itertuples(index=False, name=None)
        file.writelines(",".join(quoted(_field(cell)) for cell in row) + "\n" for row in rows)


def _field(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def warn_about_formulas(texts: Iterable[str | None], path: Path) -> None:
    """Warn of texts that a spreadsheet would take for formulas; they are written unchanged."""
    found = list(dict.fromkeys(text for text in texts if text and _FORMULA.match(text)))
    if found:
        logger.warning(
            "%s: %s texts begin like a formula (%s): if a spreadsheet opens the file, have it take columns as text",
            visible(path), f"{len(found):,}", shorten(found[0]),
        )  # fmt: skip


# JSON: the metadata of the set, then one object per row, each on its own line


def write_json(mapping: Mapping, path: Path, metadata: MappingMetadata) -> int:
    """Write the metadata under SSSOM's names, and under `mappings` all columns with labels; missing values are null."""
    rows = labelled_rows(mapping, path, metadata)
    head = metadata.slots() | {"predicate_id": metadata.predicate} | metadata.tool_slots()
    _write_objects(Rows(rows, "mappings", mapping.links_from, head), path)
    return int(rows["target"].notna().sum())


def write_json_rows(rows: Rows, path: Path) -> int:
    """Write the head, and under its name the rows of a table; return how many."""
    check_text(rows, path)
    _write_objects(rows, path)
    return len(rows.frame)


def _write_objects(rows: Rows, path: Path) -> None:
    rounded = {name: rows.frame[name].astype(float).round(6) for name in ROUNDED if name in rows.frame}
    shown = rows.frame.assign(**rounded).astype(object)
    cells = shown.where(shown.notna(), None).itertuples(index=False, name=None)
    objects = (dict(zip(shown.columns, map(_plain_value, row), strict=True)) for row in cells)
    origin = {} if rows.links_from is None else {"links_from": rows.links_from}
    head = {**rows.head, **origin, rows.name: []}
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(json.dumps(head, ensure_ascii=False, indent=1).removesuffix("]\n}"))
        for number, one in enumerate(objects):
            file.write(("," if number else "") + "\n  " + json.dumps(one, ensure_ascii=False))
        file.write("\n ]\n}\n")


def _plain_value(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


# Parquet: all columns, the metadata in the schema


def write_parquet(mapping: Mapping, path: Path, metadata: MappingMetadata) -> int:
    """Write the columns of the mapping, and the labels source_label and target_label."""
    rows = labelled_rows(mapping, path, metadata)
    why = shared_justification(rows, metadata, mapping.evidence_kinds)
    write_columns(rows, path, metadata, {"predicate_id": metadata.predicate, "mapping_justification": why})
    return int(rows["target"].notna().sum())


def write_columns(
    frame: pd.DataFrame, path: Path, metadata: MappingMetadata, more: Table[str, str] | None = None
) -> None:
    """Write all columns of a table, with the metadata under SSSOM's names in the schema."""
    columns = {
        name: pa.array(frame[name], PARQUET_KINDS[name], from_pandas=True)
        if name in PARQUET_KINDS
        else pa.array(optional_texts(frame[name]), pa.string())
        for name in frame.columns
    }
    justification = {"mapping_justification": metadata.justification}
    slots = metadata.slots() | justification | dict(more or {}) | metadata.tool_slots()
    with atomic_file(path) as temporary:
        pq.write_table(pa.table(columns).replace_schema_metadata(slots), temporary)
