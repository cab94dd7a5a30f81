"""Exchange between the page and a browser: forms with limits, files, figures, decisions as text, and errors."""

from __future__ import annotations

import base64
import json
import math
import re
import tempfile
from collections.abc import Callable
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import pandas as pd
from fastapi import Request
from fastapi.responses import PlainTextResponse, Response
from starlette.requests import ClientDisconnect

from mixtea.errors import MixTEAError
from mixtea.export.formats import write_mapping
from mixtea.export.metadata import MappingMetadata
from mixtea.messages import visible
from mixtea.review.decision import ACCEPT, NONE, REJECT, UNSURE, Decision
from mixtea.review.import_export import most_precise, read_decisions, write_decisions
from mixtea.review.model import Model
from mixtea.review.queue import STATES, Filter
from mixtea.review.reviewers import measure_reviewers
from mixtea.review.session import ShownPair
from mixtea.review.state import ReplacedError, ReviewState
from mixtea.runs.safe_read import clear_read_errors, read_json
from mixtea.runs.validate import timed_history

MAX_FORM_BYTES = 1 << 20  # bytes
MAX_NAME_CHARS = 60
ACTION_SIGNS = {
    ACCEPT: ("✓", "accepted"),
    REJECT: ("✗", "rejected"),
    NONE: ("∅", "none of them"),
    UNSURE: ("?", "unsure"),
}
STATIC_TYPES = {".js": "text/javascript", ".css": "text/css"}
VERSIONED = re.compile(r"-\d+\.\d")
STATIC = frozenset(one.name for one in files("mixtea.review").joinpath("static").iterdir())
Form = dict[str, str]


def reviewer_name(text: str) -> str:
    """Return a reviewer's name as one safe line."""
    return " ".join(visible(text, MAX_NAME_CHARS).split())


def decision_key(form: Form) -> str:
    """Return the key by which a form that is sent twice is processed once."""
    key = form.get("key", "")
    if not key or len(key) > MAX_NAME_CHARS:
        raise ValueError("The decision has no key.")
    return key


def pair_text(pair: ShownPair) -> str:
    """Write what a card shows as one line of ASCII, which a form sends back unchanged whatever the ids hold."""
    return json.dumps([pair.source, *pair.targets])


def parse_pair(text: str) -> ShownPair:
    """Read back what a card showed."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or len(found) < 2 or not all(type(id) is str for id in found):
        raise ValueError("The decision does not name its pair.")
    return ShownPair(found[0], tuple(found[1:]))


def parse_number(form: Form, name: str, default: int = -1) -> int:
    text = form.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else default


def parse_filter(form: Form) -> Filter:
    """Parse a filter; invalid parts are ignored, except a precision, which is refused."""

    def share(name: str, default: float) -> float:
        try:
            value = float(form.get(name, ""))
        except ValueError:
            return default
        return default if math.isnan(value) else min(max(value / 100, 0.0), 1.0)

    state = form.get("state", "open")
    voters = tuple(sorted(name.removeprefix("voter_") for name in form if name.startswith("voter_")))
    return Filter(
        form.get("text", "").strip()[:200], voters, form.get("kind", "").strip()[:200], share("least", 0.0),
        share("most", 1.0), max(parse_number(form, "degree", 0), 0), state if state in STATES else "open",
        form.get("by", "").strip()[:MAX_NAME_CHARS], parse_precision(form.get("precision", "")),
    )  # fmt: skip


def parse_precision(text: str) -> float | None:
    """Return an expected precision in percent as a share; None for none.

    >>> parse_precision(" 97.5 "), parse_precision("")
    (0.975, None)
    """
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 100:
        raise ValueError(f"An expected precision is a number above 0 and at most 100, in percent, not {text!r:.60}.")
    return value / 100


async def read_body(request: Request, longest: int) -> bytes:
    parts, length = [], 0
    try:
        async for part in request.stream():
            parts.append(part)
            length += len(part)
            if length > longest:
                raise ValueError("That is too long.")
    except ClientDisconnect:
        raise ValueError("The request ended too early.") from None
    return b"".join(parts)


async def read_form(request: Request) -> Form:
    body = await read_body(request, MAX_FORM_BYTES)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=200))
    except ValueError:
        raise ValueError("That is not a form.") from None


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


async def not_saved(request: Request, error: Exception) -> Response:
    """Answer where nothing could be written, or where the run is another one by now."""
    return PlainTextResponse(f"Not saved: {visible(error, 300)}", 409 if isinstance(error, ReplacedError) else 503)


async def wrong(request: Request, error: Exception) -> Response:
    return PlainTextResponse(visible(error, 500), 422)


# Files, made and read in threads

DECISIONS_NAME, MAPPING_NAME, DATABASE_NAME = "decisions.sssom.tsv", "mapping.sssom.tsv", "decisions.sqlite"
TSV, SQLITE = "text/tab-separated-values", "application/vnd.sqlite3"


def decisions_file(state: ReviewState, active: list[Decision]) -> Response:
    """Download decisions as an SSSOM file."""
    measured = measure_reviewers(active, state.truth)
    return _download(DECISIONS_NAME, TSV, lambda path: write_decisions(state.original.task, active, measured, path))


def mapping_file(state: ReviewState, precision: float | None) -> Response:
    """Download the mapping with the decisions as an SSSOM file: the largest part with a precision, or all of it."""
    found = most_precise(state.current_mapping(), precision)
    metadata = MappingMetadata(description=found.expected_quality())
    return _download(MAPPING_NAME, TSV, lambda path: write_mapping(found, path, metadata))


def database_copy(state: ReviewState) -> Response:
    """Download a copy of the file of decisions."""
    with closing(state.store.again()) as store:
        return _download(DATABASE_NAME, SQLITE, store.copy_to)


def _download(name: str, kind: str, write: Callable[[Path], object]) -> Response:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return Response(path.read_bytes(), 200, {"content-disposition": f'attachment; filename="{name}"'}, kind)


def parse_decisions(state: ReviewState, body: bytes, reviewer: str) -> list[Decision]:
    """Return the decisions of an uploaded SSSOM file; ValueError if it is invalid."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / DECISIONS_NAME
        path.write_bytes(body)
        try:
            return read_decisions(state.original.task, path, reviewer)
        except MixTEAError as error:
            raise ValueError(str(error).replace(str(path), "the file")) from None


class Picture(NamedTuple):
    """A figure as the address of an image, with its title and caption."""

    title: str
    address: str
    caption: str


def pictures(model: Model) -> list[Picture]:
    """Draw the figures for which a run has data."""
    from mixtea.report import figures, findings  # which load matplotlib

    path, about = model.folder / "history.json", model.run.about
    with clear_read_errors(path):
        history = pd.DataFrame(timed_history(read_json(path), about["n_epochs"], about["epoch_seconds"]))
    candidates = model.run.answers_.candidates(2)
    _, links = findings.evaluation_links(model.task)
    rows, right = findings.check_mappings(candidates, links)
    shown = [
        *figures.training_figures(history, model.task),
        *figures.probability_figures(model.task, candidates, rows, right),
    ]
    encoded = (base64.b64encode(str(one.svg).encode()).decode() for one in shown)
    return [
        Picture(one.title, f"data:image/svg+xml;base64,{text}", one.caption)
        for one, text in zip(shown, encoded, strict=True)
    ]
