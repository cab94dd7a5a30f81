"""Output formats: one row per file ending, and the functions that write a file by its ending."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Table
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from mixtea.decide.candidates import Candidates
from mixtea.decide.clusters import Clusters
from mixtea.decide.mapping import GIVEN, Mapping
from mixtea.decide.new_entities import Matches
from mixtea.errors import ConfigError, RunError
from mixtea.export import rdf, relations, sssom, tables
from mixtea.export.metadata import MappingMetadata
from mixtea.export.tables import Rows
from mixtea.relations.alignment import Relations

Content = Literal["mapping", "relations", "candidates", "matches", "changes", "clusters", "holds_unmapped", "uses_iris"]


class Format(NamedTuple):
    """Writers of one file ending, None for content that it cannot hold; each returns the number of rows.

    `holds_unmapped`: rows can be sources without a target; `uses_iris`: entities are named by IRIs.
    """

    mapping: Callable[[Mapping, Path, MappingMetadata], int]
    relations: Callable[[Relations, Path, MappingMetadata], int] | None = None
    candidates: Callable[[Rows, Path], int] | None = None
    matches: Callable[[Rows, Path], int] | None = None
    changes: Callable[[Rows, Path], int] | None = None
    clusters: Callable[[Rows, Path], int] | None = None
    holds_unmapped: bool = False
    uses_iris: bool = False


FORMATS = {
    ".sssom.tsv": Format(  # before .tsv, with which it ends too
        sssom.write_sssom, relations.write_relations_sssom, holds_unmapped=True, uses_iris=True
    ),
    ".tsv": Format(
        tables.write_tsv, relations.as_table(tables.write_tsv_rows), candidates=tables.write_tsv_rows,
        changes=tables.write_changes_tsv, clusters=tables.write_tsv_rows,
    ),
    ".nt": Format(
        rdf.triple_writer(rdf.mapping_triples), rdf.triple_writer(relations.relation_triples), uses_iris=True
    ),
    ".ttl": Format(
        rdf.triple_writer(rdf.mapping_triples, turtle=True), rdf.triple_writer(relations.relation_triples, turtle=True),
        uses_iris=True,
    ),
    ".rdf": Format(rdf.write_alignment, uses_iris=True),
    ".parquet": Format(tables.write_parquet, relations.write_relations_parquet, holds_unmapped=True),
    ".csv": Format(
        tables.write_csv, relations.as_table(tables.write_csv_rows), tables.write_csv_rows, tables.write_csv_rows,
        tables.write_csv_rows, tables.write_csv_rows, holds_unmapped=True,
    ),
    ".json": Format(
        tables.write_json, relations.as_table(tables.write_json_rows), tables.write_json_rows, tables.write_json_rows,
        clusters=tables.write_json_rows, holds_unmapped=True,
    ),
}  # fmt: skip


def endings(content: Content) -> list[str]:
    """Return the file endings of the formats that can hold some content.

    >>> endings("changes"), endings("matches")
    (['.tsv', '.csv'], ['.csv', '.json'])
    """
    return [ending for ending, one in FORMATS.items() if getattr(one, content)]


def listed(content: Content) -> str:
    """Return these endings as an enumeration.

    >>> listed("candidates")
    '.tsv, .csv or .json'
    """
    *first, last = endings(content)
    return f"{', '.join(first)} or {last}"


def format_of(path: Path, content: Content) -> Format:
    """Return the format of a file by its ending; ConfigError if none of this ending can hold the content."""
    for ending in endings(content):
        if path.name.lower().endswith(ending):
            return FORMATS[ending]
    allowed = ", ".join(endings(content))
    raise ConfigError(f"{path}: no format goes with the ending {path.suffix!r}. Choose one of {allowed}.")


def write_mapping(mapping: Mapping, path: Path, metadata: MappingMetadata | None = None) -> int:
    """Write a mapping whole or not at all; return the number of mappings in the file.

    Labels are kept byte for byte, but names in SSSOM lose their line breaks. Content that a format cannot hold is an
    error that names it, and nothing is written. Blank nodes are left out of the formats that name entities by IRIs,
    with a warning in the log.
    """
    found, metadata = format_of(path, "mapping"), metadata or MappingMetadata()
    if metadata.with_unmapped and not found.holds_unmapped:
        raise ConfigError(
            f"{path}: this format cannot say that an entity has no counterpart. "
            f"Choose {listed('holds_unmapped')}, or leave these entities out."
        )
    metadata = metadata.with_graph_iris(mapping.source, mapping.target).with_id(mapping.frame)
    return found.mapping(mapping, path, metadata.with_link_origin(mapping.links_from))


def write_new_mapping(mapping: Mapping, path: Path, metadata: Table[str, Any], *, overwrite: bool) -> int:
    """Write a mapping with fields of `About` by name, as `Mapping.write` does; RunError if the file exists."""
    known = asdict(MappingMetadata())
    for name, value in metadata.items():
        if name not in known:
            raise ConfigError(f"{name}: unknown. The metadata of a mapping file are {', '.join(sorted(known))}.")
        if not isinstance(value, date if name == "date" else type(known[name])):
            kind = "a datetime.date" if name == "date" else {str: "text", bool: "True or False"}[type(known[name])]
            raise ConfigError(f"{name}: {value!r:.100} is not {kind}.")
    format_of(path, "mapping")
    _check_new(path, overwrite=overwrite)
    return write_mapping(mapping, path, MappingMetadata(**metadata))


def write_relations(found: Relations, path: Path, metadata: MappingMetadata | None = None) -> int:
    """Write similar relations, attribute predicates and classes whole or not at all; return the number of rows."""
    writer = format_of(path, "relations").relations
    assert writer is not None
    metadata = replace(metadata or MappingMetadata(), justification=relations.JUSTIFICATION)
    metadata = metadata.with_graph_iris(found.source, found.target).with_id(found.frame)
    return writer(found, path, metadata.with_link_origin(found.links_from))


def check_candidates_file(path: Path) -> None:
    """Refuse endings of formats that cannot hold candidates; unknown endings are tab-separated text."""
    ending = path.suffix.lower()
    if ending == ".xlsx" or (ending in FORMATS and FORMATS[ending].candidates is None):
        raise ConfigError(f"{path}: candidates are a table. Name a file that ends in {listed('candidates')}.")


def write_candidates(candidates: Candidates, mapping: Mapping, path: Path) -> int:
    """Write ranked candidates with a header, and their decisions; return the number of rows.

    The columns are source, target, rank, score, probability, voters, decision and evidence, see `decided_candidates`; a
    run without given links also has `links_from`.
    """
    check_candidates_file(path)
    writer = FORMATS.get(path.suffix.lower(), FORMATS[".tsv"]).candidates
    assert writer is not None
    advice = ".csv and .json can take it, or mend the id."
    return writer(Rows(decided_candidates(candidates, mapping), "candidates", mapping.links_from, advice=advice), path)


def decided_candidates(candidates: Candidates, mapping: Mapping) -> pd.DataFrame:
    """Return ranked candidates with the columns decision and evidence.

    The decision is "mapped", "mapped anyway" or "further target" at the targets that the mapping gives the source: they
    follow at rank k + 1 where they are not among the k best. Else the first candidate has the reason for no target ("no
    counterpart", "target taken", "unsure", "no evidence"), or "given" for a given link. The evidence is that of what is
    mapped.
    """
    frame, pairs, ends = candidates.to_frame(), mapping.pairs(), ["source", "target"]
    listed = pd.MultiIndex.from_frame(pairs[ends]).isin(pd.MultiIndex.from_frame(frame[ends]))
    missing = pairs.loc[~listed, [*ends, "probability", "voters"]]
    missing = missing.assign(rank=int(frame["rank"].max()) + 1 if len(frame) else 1, score=np.nan)
    order = pd.Categorical(pd.concat([frame["source"], missing["source"]]), categories=frame["source"].unique())
    frame = pd.concat([frame, missing[frame.columns]]).assign(order=order.codes)
    frame = frame.sort_values(["order", "rank"], kind="stable").drop(columns="order").reset_index(drop=True)
    said = pairs.set_index(ends)[["decision", "evidence"]].reindex(pd.MultiIndex.from_frame(frame[ends]))
    mapped = said["decision"].notna().to_numpy()
    first = (frame["rank"] == 1).to_numpy()
    unmapped = mapping.frame[mapping.frame["target"].isna()].set_index("source")["decision"]
    alone = first & frame["source"].isin(unmapped.index).to_numpy()
    given = first & ~frame["source"].isin(mapping.frame["source"]).to_numpy()
    why = frame["source"].map(unmapped).to_numpy(dtype=object)
    decision = np.select([mapped, alone, given], [said["decision"].to_numpy(dtype=object), why, GIVEN], "")
    return frame.assign(decision=decision, evidence=said["evidence"].fillna("").to_numpy(dtype=object))


def check_matches_file(path: Path) -> None:
    if path.suffix.lower() not in endings("matches"):
        raise ConfigError(f"{path}: candidates are a table. Name a file that ends in {listed('matches')}.")


def write_matches(found: Matches, path: Path) -> int:
    """Write the candidates of entities that came later; return the number of rows."""
    writer = format_of(path, "matches").matches
    assert writer is not None
    return writer(Rows(found.frame, "candidates"), path)


def write_changes(changes: pd.DataFrame, path: Path) -> int:
    """Write the rows of a comparison whole or not at all, with a header; return how many."""
    writer = format_of(path, "changes").changes
    assert writer is not None
    return writer(Rows(changes, "changes"), path)


def write_clusters(clusters: Clusters, path: Path, *, overwrite: bool) -> int:
    """Write a row per entity of a cluster; return how many. RunError if the file exists."""
    writer = format_of(path, "clusters").clusters
    assert writer is not None
    _check_new(path, overwrite=overwrite)
    advice = ".csv and .json can take it, or mend the id."
    return writer(Rows(clusters.frame, "clusters", advice=advice, ends=("graph", "id")), path)


def _check_new(path: Path, *, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise RunError(f"{path}: already there. Name another file, or replace it: overwrite=True.")
