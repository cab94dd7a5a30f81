"""Rows of a file of decisions: how they are written, and whether a row that is read is valid."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

from mixtea.review.decision import ACCEPT, ACTIONS, REJECT, UNDO, Decision

COLUMNS = (
    "key", "at", "reviewer", "action", "source", "target", "others", "undoes", "batch", "reason", "shown",
    "probability", "votes", "model",
)  # fmt: skip


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def to_row(decision: Decision) -> list[object]:
    values = decision._replace(at=decision.at or now())._asdict() | {"others": json.dumps(decision.others)}
    return [values[name] for name in COLUMNS]


def from_row(row: dict[str, Any]) -> Decision:
    others = tuple(json.loads(row["others"]))
    return Decision(**row | {"others": others, "shown": bool(row["shown"])})


def wrong_column(row: dict[str, Any]) -> str:
    """Return the first column whose value is not as mixtea writes it, "" if all are: SQLite takes anything anywhere."""
    wrong = next((name for name, value in row.items() if not _FITS[name](value)), "")
    return wrong or ("target" if row["action"] in (ACCEPT, REJECT) and row["target"] is None else "")


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_ids(value: object) -> bool:
    """Return whether a text is a JSON list of texts."""
    try:
        found = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return False
    return isinstance(found, list) and all(type(one) is str for one in found)


_FITS = dict.fromkeys(COLUMNS, _is_text) | {
    "id": lambda value: type(value) is int,
    "action": lambda value: value in (*ACTIONS, UNDO),
    "target": lambda value: value is None or _is_text(value),
    "others": _is_ids,
    "undoes": lambda value: value is None or type(value) is int,
    "shown": lambda value: type(value) is int,
    "probability": lambda value: value is None or (type(value) in (int, float) and math.isfinite(value)),
}


def decode_text(value: bytes) -> str | bytes:
    """Decode a text of the file; what is not UTF-8 stays bytes, which no column of ours holds."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value
