"""Precision, recall and F1 of a mapping, and how they change with the least probability that is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

ENDS = ["source", "target"]


def mapping_scores(
    mapping: pd.DataFrame, links: pd.DataFrame, *, complete: bool, ends: Sequence[str] = ("source",)
) -> dict[str, float]:
    """Score a mapping (source, target) against links (source, target), both as labels.

    With `complete` the links are all there are: a mapping of any other source is wrong. Without, only sources with a
    link are judged; or, with more `ends`, rows of which one of these has a link.
    """
    judged = judged_rows(mapping, links, complete=complete, ends=ends)
    n_right = int(are_links(judged, links).sum())
    return precision_recall_f1(n_right, len(judged), len(links))


def judged_rows(
    mapping: pd.DataFrame, links: pd.DataFrame, *, complete: bool, ends: Sequence[str] = ("source",)
) -> pd.DataFrame:
    """Return the rows of a mapping that the links can judge."""
    if complete:
        return mapping
    return mapping[np.logical_or.reduce([mapping[end].isin(links[end]) for end in ends])]


def threshold_curve(mapping: pd.DataFrame, links: pd.DataFrame, *, complete: bool) -> pd.DataFrame:
    """Score with mappings below a probability left out, one row per threshold, the strictest first.

    `mapping` has a column probability too. Columns: threshold, mapped, precision, recall, f1.
    """
    judged = judged_rows(mapping, links, complete=complete)
    judged = judged.sort_values("probability", ascending=False, kind="stable")
    right = np.cumsum(are_links(judged, links))
    probability = judged["probability"].to_numpy()
    last = np.flatnonzero(np.append(np.diff(probability) < 0, True)) if len(judged) else np.array([], dtype=int)
    rows = [
        {"threshold": float(probability[i]), "mapped": int(i) + 1}
        | precision_recall_f1(int(right[i]), int(i) + 1, len(links))
        for i in last
    ]
    return pd.DataFrame(rows, columns=["threshold", "mapped", "precision", "recall", "f1"])


def are_links(mapping: pd.DataFrame, links: pd.DataFrame) -> np.ndarray:
    """Return bool [rows of the mapping]: whether the row is one of the links."""
    return pd.MultiIndex.from_frame(mapping[ENDS]).isin(pd.MultiIndex.from_frame(links[ENDS]))


def precision_recall_f1(n_right: int, n_mapped: int, n_links: int) -> dict[str, float]:
    """Compute precision, recall and F1; 0 of none."""
    precision, recall = n_right / max(n_mapped, 1), n_right / max(n_links, 1)
    return {"precision": precision, "recall": recall, "f1": 2 * n_right / max(n_mapped + n_links, 1)}
