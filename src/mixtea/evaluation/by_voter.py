"""Hit@1 of links by all voters, by structure alone, by names alone: as a table, and as flat numbers. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

PREFIX = "by_evidence/"  # of these numbers among the scores of a run
ALL, STRUCTURE = "all", "structure"
HITS, LINKS = "hits@1", "links"
PARTS = {"": "all links", "equal_names/": "equal names", "other_names/": "other names"}
COLUMNS = tuple(part + what for what in (HITS, LINKS) for part in PARTS)
NOTE = "All in one run, in which structure has learned from what the others found. Equal is what differs by case, \
punctuation or brackets alone."


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
            _check(row, column, value)
            rows.setdefault(row, {})[column] = value
    others = {name: value for name, value in scores.items() if not name.startswith(PREFIX)}
    if any(not cells.keys() >= {part + LINKS for part in PARTS} for cells in rows.values()):
        raise ValueError("a table of who decides without how many links")
    return others, _table(rows) if rows else empty_table()


def _table(rows: dict[str, dict[str, float]]) -> pd.DataFrame:
    found = pd.DataFrame(list(rows.values()), index=pd.Index(rows, name="decided_by", dtype=object), columns=[*COLUMNS])
    counts = {part + LINKS: int for part in PARTS}
    return found.astype(dict.fromkeys(COLUMNS, float) | counts)


def _check(row: str, column: str, value: Any) -> None:
    if not row.isidentifier() or column not in COLUMNS:
        raise ValueError("a table of who decides with a column or a row that cannot be")
    if not 0 <= value <= (2**53 if column.endswith(LINKS) else 1) or (column.endswith(LINKS) and value % 1):
        raise ValueError("a table of who decides with a share or a number that cannot be")
