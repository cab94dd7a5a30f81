"""Mappings and ranked candidates as tab-separated text."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.data.task import Task
from mixtea.export.files import whole_file
from mixtea.match.alignment import Alignment

_FORMAT = {"sep": "\t", "index": False, "quoting": csv.QUOTE_NONE, "quotechar": None, "lineterminator": "\n"}


def write_candidates(alignment: Alignment, path: Path) -> int:
    """All ranked candidates with a header: source, target, rank, score, probability, voters. Returns how many."""
    frame = alignment.to_frame()
    for name in ("score", "probability"):
        frame[name] = frame[name].map("{:.6f}".format)
    with whole_file(path) as temporary:
        frame.to_csv(temporary, **_FORMAT)
    return len(frame)


def write_mapping(alignment: Alignment, task: Task, path: Path, *, with_given: bool = False) -> int:
    """One line a mapping, source and target and no header: the layout of link files. Returns the number of lines.

    Sources for which nothing speaks, those without a relation triple, are left out. With `with_given` the training and
    validation links come first, in place of predictions for the same sources.
    """
    best = alignment.best()
    mapping = best.loc[best["probability"] > 0, ["source", "target"]]
    if with_given:
        links = np.concatenate([task.train, task.valid])
        given = pd.DataFrame(
            {"source": task.source.entities[links[:, 0]], "target": task.target.entities[links[:, 1]]}
        )  # fmt: skip
        mapping = pd.concat([given, mapping[~mapping["source"].isin(given["source"])]])
    with whole_file(path) as temporary:
        mapping.to_csv(temporary, header=False, **_FORMAT)
    return len(mapping)
