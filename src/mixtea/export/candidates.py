"""Ranked candidates into a file; the file's ending chooses the format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.decide.candidates import Candidates
from mixtea.decide.mapping import GIVEN, Mapping
from mixtea.decide.new_entities import Matches
from mixtea.errors import ConfigError
from mixtea.export.csv_file import write_csv_table
from mixtea.export.json_file import write_json_table
from mixtea.export.metadata import marked
from mixtea.export.tsv import write_table
from mixtea.export.unsupported import half_characters, refuse

OTHERS = {".parquet", ".xlsx", ".nt", ".ttl", ".rdf"}  # endings that promise what candidates are not written as


def check_ending(path: Path) -> None:
    if path.suffix.lower() in OTHERS:
        raise ConfigError(f"{path}: candidates are a table. Name a file that ends in .tsv, .csv or .json.")


def write_candidates(candidates: Candidates, mapping: Mapping, path: Path) -> int:
    """All ranked candidates with a header: source, target, rank, score, probability, voters, decision, evidence.

    The decision is "mapped", "mapped anyway" or "further target" at the targets that the mapping gives the source: they
    follow at rank k + 1 where they are not among the k best. Else the first candidate has the reason why there is none
    ("no counterpart", "target taken", "unsure", "no evidence"), or "given" where a link was. The evidence is that of
    what is mapped. A run without given links has a column `links_from` more. Returns how many candidates there are.
    """
    check_ending(path)
    frame, ending = _decided(candidates.to_frame(), mapping), path.suffix.lower()
    if ending in (".csv", ".json"):
        refuse(path, half_characters([*frame["source"], *frame["target"]]))
    if ending == ".json":
        return write_json_table(frame, path, "candidates", {"links_from": mapping.links_from})
    frame = marked(frame, mapping.links_from)
    if ending == ".csv":
        return write_csv_table(frame, path)
    frame["score"] = frame["score"].map("{:.6f}".format).where(frame["score"].notna(), "")
    frame["probability"] = frame["probability"].map("{:.6f}".format)
    return write_table(frame, path, ".csv and .json can take it, or mend the id.")


def write_matches(found: Matches, path: Path) -> int:
    """The candidates of entities that came later, with a header; .json has them under `candidates`."""
    refuse(path, half_characters([*found.frame["source"], *found.frame["target"]]))
    if path.suffix.lower() == ".json":
        return write_json_table(found.frame, path, "candidates", {})
    return write_csv_table(found.frame, path)


def _decided(frame: pd.DataFrame, mapping: Mapping) -> pd.DataFrame:
    """The candidates with a column `decision`."""
    pairs, ends = mapping.pairs(), ["source", "target"]
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
