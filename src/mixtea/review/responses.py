"""Responses of the page beside cards: files, downloads, decisions as text, and errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import PlainTextResponse, Response

from mixtea.messages import visible
from mixtea.review.decision import ACCEPT, NONE, REJECT, UNSURE, Decision
from mixtea.review.forms import MAX_NAME_CHARS

ACTION_SIGNS = {
    ACCEPT: ("✓", "accepted"),
    REJECT: ("✗", "rejected"),
    NONE: ("∅", "none of them"),
    UNSURE: ("?", "unsure"),
}
STATIC_TYPES = {".js": "text/javascript", ".css": "text/css"}
VERSIONED = re.compile(r"-\d+\.\d")
STATIC = frozenset(one.name for one in files("mixtea.review").joinpath("static").iterdir())


async def static(name: str) -> Response:
    """Serve the scripts and styles that come with the package, no other file."""
    kind = STATIC_TYPES.get(Path(name).suffix)
    if kind is None or name not in STATIC:
        return PlainTextResponse("There is no such file.", 404)
    path = files("mixtea.review").joinpath("static", name)
    kept = "max-age=86400, immutable" if VERSIONED.search(name) else "no-cache"  # another mixtea has other ones
    return Response(path.read_bytes(), media_type=kind, headers={"cache-control": kept})


def percent(value: float | None) -> str:
    """Format a probability.

    >>> percent(0.9961), percent(0.5), percent(0.00001)
    ('99.6 %', '50 %', '0 %')
    """
    if value is None:
        return "–"
    digits = 1 if value > 0.99 and value < 0.9995 else 0
    return f"{100 * value:.{digits}f} %"


def n_decisions(n: int) -> str:
    return f"{n:,} decision{'s' if n != 1 else ''}"


def decision_in_words(one: Decision, label: Callable[[str | None, str], str]) -> dict[str, Any]:
    """Describe a decision and the model's verdict; `label` names an id of a side."""
    sign, word = ACTION_SIGNS[one.action]
    return {
        "sign": sign, "word": word, "reviewer": visible(one.reviewer, MAX_NAME_CHARS),
        "source": label(one.source, "source"),
        "target": label(one.target or (one.others[0] if one.others else None), "target"),
        "probability": one.probability, "votes": one.votes, "at": one.at[:16].replace("T", " "),
    }  # fmt: skip


def download(content: bytes, name: str, kind: str) -> Response:
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


async def not_saved(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"Not saved: {visible(str(error), 300)}", 503)


async def replaced(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"Not saved: {visible(str(error), 300)}", 409)


async def wrong(request: Request, error: Exception) -> Response:
    return PlainTextResponse(visible(str(error), 500), 422)
