"""Mappings and ranked candidates as tab-separated text."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.export.about import About, marked
from mixtea.export.identifiers import only_pairs
from mixtea.export.quoting import tsv_text
from mixtea.export.refusal import HALF, INSTEAD, half_character, holds, refuse
from mixtea.match.candidates import Candidates
from mixtea.match.mapping import GIVEN, MAPPED, Mapping
from mixtea.runs.atomic import atomic_file

_FORMAT = {"sep": "\t", "index": False, "quoting": csv.QUOTE_NONE, "quotechar": None, "lineterminator": "\n"}
_SEPARATORS = re.compile("[\t\n\r]")


def write_candidates(candidates: Candidates, mapping: Mapping, path: Path) -> int:
    """All ranked candidates with a header: source, target, rank, score, probability, voters, decision, evidence.

    The decision is "mapped" at the target that the mapping gives the source, which follows at rank k + 1 where it is
    not among the k best; else at the first candidate why there is none ("no counterpart", "target taken", "no
    evidence"), or "given" where a link was. The evidence is that of what is mapped. A run without given links has a
    column `links_from` more. Returns how many candidates there are.
    """
    frame = marked(_decided(candidates.to_frame(), mapping), mapping.links_from)
    frame["score"] = frame["score"].map("{:.6f}".format).where(frame["score"].notna(), "")
    frame["probability"] = frame["probability"].map("{:.6f}".format)
    return write_table(frame, path, "`mixtea export` to .parquet can take its mapping, or mend the id.")


def write_table(
    frame: pd.DataFrame, path: Path, instead: str = INSTEAD, *, kind: str = "entity", header: bool = True
) -> int:
    """Any table with source and target; ids that a line cannot hold are refused. Returns the number of rows."""
    _check(frame, path, instead, kind)
    with atomic_file(path) as temporary:
        frame.to_csv(temporary, header=header, **_FORMAT)
    return len(frame)


def _decided(frame: pd.DataFrame, mapping: Mapping) -> pd.DataFrame:
    """The candidates with a column `decision`."""
    pairs, ends = mapping.pairs(), ["source", "target"]
    listed = pd.MultiIndex.from_frame(pairs[ends]).isin(pd.MultiIndex.from_frame(frame[ends]))
    missing = pairs.loc[~listed, [*ends, "probability", "voters"]]
    missing = missing.assign(rank=int(frame["rank"].max()) + 1 if len(frame) else 1, score=np.nan)
    order = pd.Categorical(pd.concat([frame["source"], missing["source"]]), categories=frame["source"].unique())
    frame = pd.concat([frame, missing[frame.columns]]).assign(order=order.codes)
    frame = frame.sort_values(["order", "rank"], kind="stable").drop(columns="order").reset_index(drop=True)
    evidence = pairs.set_index(ends)["evidence"]
    mapped = pd.MultiIndex.from_frame(frame[ends]).isin(evidence.index)
    first = (frame["rank"] == 1).to_numpy()
    unmapped = mapping.frame[mapping.frame["target"].isna()].set_index("source")["decision"]
    alone = first & frame["source"].isin(unmapped.index).to_numpy()
    given = first & ~frame["source"].isin(mapping.frame["source"]).to_numpy()
    why = frame["source"].map(unmapped).to_numpy(dtype=object)
    decision = np.select([mapped, alone, given], [MAPPED, why, GIVEN], "")
    said = evidence.reindex(pd.MultiIndex.from_frame(frame[ends]), fill_value="").to_numpy()
    return frame.assign(decision=decision, evidence=said)


def write_links(mapping: Mapping, path: Path, about: About) -> int:
    """A mapping in the layout of link files: source and target, no header. Returns the number of lines."""
    return write_table(only_pairs(mapping, path, about)[["source", "target"]], path, header=False)


def changes_text(changes: pd.DataFrame) -> str:
    """What changed after a warm start as tab-separated text with a header; fields in quotes where they need them."""
    rows = [list(changes.columns), *changes.astype(object).where(changes.notna(), "").to_numpy().tolist()]
    return "".join("\t".join(tsv_text(str(field)) for field in row) + "\n" for row in rows)


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
    half, found = HALF.search(label), _SEPARATORS.search(label)
    if half:
        return half_character(half[0])
    if found:
        return holds(found[0], "which separates columns or lines in .tsv", instead)
    return holds(label[0], "which readers drop from the start of a file", instead) if label[0] == "\ufeff" else ""
