"""Find the files of a benchmark folder in OpenEA's layout, and read its two graphs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from mixtea.errors import DataError, Problems
from mixtea.graph.graph import Graph
from mixtea.io.load_graph import read_graph


def read_folder_graphs(folder: Path, linked: tuple[np.ndarray, ...], problems: Problems) -> tuple[Graph, Graph]:
    """Read both graphs, with the entities that occur in links alone."""
    source, target = (
        read_graph(
            folder / f"rel_triples_{side}", problems,
            attributes=existing_path(folder / f"attr_triples_{side}"),
            labels=existing_path(folder / f"ent_names_{side}"),
            also=linked[side - 1],
        )
        for side in (1, 2)
    )  # fmt: skip
    return source, target


def find_split(folder: Path, fold: int | None) -> tuple[Path, int | None]:
    """Return the folder that holds train_links and test_links, and its fold."""
    folds = folder / "721_5fold"
    if folds.is_dir():
        fold = 1 if fold is None else fold
        if not (folds / str(fold)).is_dir():
            there = ", ".join(sorted(p.name for p in folds.iterdir() if p.is_dir()))
            raise DataError(f"{folds}: there is no fold {fold}. Choose one of {there}.")
        return folds / str(fold), fold
    splits = sorted(p for p in folder.glob("split*") if p.is_dir())
    if len(splits) != 1:
        found = "more than one split folder" if splits else "no split: neither 721_5fold nor a folder split*"
        raise DataError(f"{folder}: {found}. Lay train_links and test_links into one folder named split.")
    if fold is not None:
        raise DataError(f"{folder}: it has one split ({splits[0].name}) and no folds; leave the fold out.")
    return splits[0], None


def existing_path(path: Path) -> Path | None:
    """Return the path if it exists, even as a broken link, which opening reports."""
    return path if os.path.lexists(path) else None
