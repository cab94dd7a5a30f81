"""Write ranked candidates, of a run or of entities that came later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.decide.candidates import Candidates
from mixtea.decide.mapping import GIVEN, Mapping
from mixtea.decide.new_entities import Matches
from mixtea.export.csv_file import write_csv_table
from mixtea.export.json_file import write_json_table
from mixtea.export.metadata import add_link_origin
from mixtea.export.quoting import raise_unsupported, surrogate_problems
from mixtea.export.table import format_number
from mixtea.export.tsv import write_tsv_table


def write_candidates_csv(frame: pd.DataFrame, path: Path, links_from: str) -> int:
    """Write ranked candidates with a header."""
    _check_text(frame, path)
    return write_csv_table(add_link_origin(frame, links_from), path)


def write_candidates_json(frame: pd.DataFrame, path: Path, links_from: str) -> int:
    """Write ranked candidates under `candidates`."""
    _check_text(frame, path)
    return write_json_table(frame, path, "candidates", {"links_from": links_from})


def write_candidates_tsv(frame: pd.DataFrame, path: Path, links_from: str) -> int:
    """Write ranked candidates with a header; refuse ids that a line cannot hold."""
    frame = add_link_origin(frame, links_from)
    frame["score"] = frame["score"].map(format_number).where(frame["score"].notna(), "")
    frame["probability"] = frame["probability"].map(format_number)
    return write_tsv_table(frame, path, ".csv and .json can take it, or mend the id.")


def write_matches_csv(found: Matches, path: Path) -> int:
    """Write the candidates of entities that came later, with a header."""
    _check_text(found.frame, path)
    return write_csv_table(found.frame, path)


def write_matches_json(found: Matches, path: Path) -> int:
    """Write the candidates of entities that came later under `candidates`."""
    _check_text(found.frame, path)
    return write_json_table(found.frame, path, "candidates", {})


def _check_text(frame: pd.DataFrame, path: Path) -> None:
    raise_unsupported(path, surrogate_problems([*frame["source"], *frame["target"]]))


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
