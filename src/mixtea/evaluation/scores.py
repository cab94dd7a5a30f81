"""Scores as tables and pictures: precision and recall of a mapping, Hit@1 by voter, curves of a training. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ENDS = ["source", "target"]
PREFIX = "by_evidence/"  # of these numbers among the scores of a run
ALL, STRUCTURE = "all", "structure"
HITS, LINKS = "hits@1", "links"
PARTS = {"": "all links", "equal_names/": "equal names", "other_names/": "other names"}
COLUMNS = tuple(part + what for what in (HITS, LINKS) for part in PARTS)
NOTE = "All in one run, in which structure has learned from what the others found. Equal is what differs by case, \
punctuation or brackets alone."


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


# Hit@1 of links by all voters, by structure alone, by names alone


def hits_by_voter(hits: Mapping[str, np.ndarray], equal: np.ndarray) -> pd.DataFrame:
    """Make a row for each set of voters, from how likely each link [p] is found first, and whether its names are equal.

    Columns: hits@1 over all the links, over those with equal names and over the others, and how many links these are;
    NaN where there is no link.
    """
    parts = dict(zip(PARTS, (np.ones(len(equal), dtype=bool), equal, ~equal), strict=True))
    shares = {part + HITS: [_mean(found[links]) for found in hits.values()] for part, links in parts.items()}
    counts = {part + LINKS: int(links.sum()) for part, links in parts.items()}
    return pd.DataFrame(shares, index=pd.Index(hits, name="decided_by", dtype=object)).assign(**counts)


def _mean(found: np.ndarray) -> float:
    return float(found.mean()) if len(found) else float("nan")


def voters_text(row: str) -> str:
    """Name the voters of a row of the table, in words.

    >>> voters_text("all"), voters_text("names")
    ('all voters', 'names alone')
    """
    return "all voters" if row == ALL else f"{row} alone"


def empty_table() -> pd.DataFrame:
    """Return the empty table of a run where only structure votes."""
    return hits_by_voter({}, np.empty(0, dtype=bool))


def as_numbers(table: pd.DataFrame) -> dict[str, float]:
    """Flatten the table to names such as `by_evidence/structure/equal_names/hits@1`, without NaN."""
    rows = table.to_dict("index")
    return {f"{PREFIX}{row}/{column}": x for row, cells in rows.items() for column, x in cells.items() if x == x}


def as_objects(table: pd.DataFrame) -> dict[str, dict[str, float | None]]:
    """Return the table by row and column, as JSON has it; None for NaN."""
    rows = table.to_dict("index")
    return {str(row): {str(c): x if x == x else None for c, x in cells.items()} for row, cells in rows.items()}


def split_table(scores: Mapping[str, Any]) -> tuple[dict[str, Any], pd.DataFrame]:
    """Split scores into the others and the table; raise ValueError if its numbers are not valid."""
    rows: dict[str, dict[str, float]] = {}
    for name, value in scores.items():
        if name.startswith(PREFIX):
            row, _, column = name.removeprefix(PREFIX).partition("/")
            if not row.isidentifier() or column not in COLUMNS:
                raise ValueError("a table of who decides with a column or a row that cannot be")
            is_count = column.endswith(LINKS)
            if not 0 <= value <= (2**53 if is_count else 1) or (is_count and value % 1):
                raise ValueError("a table of who decides with a share or a number that cannot be")
            rows.setdefault(row, {})[column] = value
    others = {name: value for name, value in scores.items() if not name.startswith(PREFIX)}
    if any(not cells.keys() >= {part + LINKS for part in PARTS} for cells in rows.values()):
        raise ValueError("a table of who decides without how many links")
    if not rows:
        return others, empty_table()
    found = pd.DataFrame(list(rows.values()), index=pd.Index(rows, name="decided_by", dtype=object), columns=[*COLUMNS])
    counts = {part + LINKS: int for part in PARTS}
    return others, found.astype(dict.fromkeys(COLUMNS, float) | counts)


# The curves of a training


def draw_curves(history: list[dict[str, Any]], path: Path, title: str = "") -> None:
    """Draw two panels, readable in grey: the losses on the left, validation Hit@1 in both directions on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    losses, scores = figure.subplots(1, 2)
    _plot(losses, history, "loss_alignment", "links (L_a)", "-", "#1b4f72")
    _plot(losses, history, "loss_pseudo", "votes (L_u)", "--", "#b9770e")
    scale = "log" if any((line.get_ydata() > 0).any() for line in losses.lines) else "linear"
    losses.set(xlabel="epoch", ylabel="loss (sum)", title="Losses", yscale=scale)
    _plot(scores, history, "valid_hits@1", "source to target", "-o", "#1b4f72")
    _plot(scores, history, "valid_backward_hits@1", "target to source", "--s", "#b9770e")
    scores.set(xlabel="epoch", ylabel="Hit@1", title="Validation links", ylim=(0, 1))
    for axes in (losses, scores):
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend()
    figure.suptitle(title)
    figure.savefig(path, dpi=120, metadata={"Software": None})


def _plot(axes: Any, history: list[dict[str, Any]], name: str, label: str, style: str, colour: str) -> None:
    points = [(record["epoch"], record[name]) for record in history if name in record]
    if points:
        axes.plot(*zip(*points, strict=True), style, label=label, color=colour, markersize=4)
