"""Parse what a browser sends, with limits: names, keys, numbers, filters."""

from __future__ import annotations

import json
import math
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.requests import ClientDisconnect

from mixtea.messages import visible
from mixtea.review.queue import STATES, Filter
from mixtea.review.session import ShownPair

MAX_FORM_BYTES = 1 << 20  # bytes
MAX_NAME_CHARS = 60
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
