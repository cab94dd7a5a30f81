"""Refuse content that a format cannot hold, before anything is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mixtea.errors import RunError, shorten
from mixtea.messages import HALF

DEFAULT_ADVICE = ".parquet can take it, or mend the id."


def raise_unsupported(path: Path, problems: dict[str, str], kind: str = "entity") -> None:
    """Raise an error with the first of `problems`: an entity, what is wrong with it, and what to do."""
    if problems:
        entity, what = next(iter(problems.items()))
        more = f" {len(problems) - 1:,} more cannot be written either." if len(problems) > 1 else ""
        raise RunError(f"{path}: the {kind} {shorten(entity)} {what}{more}")


def character_problem(character: str, why: str, instead: str = DEFAULT_ADVICE) -> str:
    """Describe a character that a format cannot hold."""
    return f"holds {character!r} (U+{ord(character):04X}), {why}. {instead}"


def surrogate_problems(texts: Iterable[str | None]) -> dict[str, str]:
    """Return the texts with half a surrogate pair, which no encoding can hold, with the problem."""
    found = ((text, HALF.search(text)) for text in texts if text)
    return {text: surrogate_problem(half[0]) for text, half in found if half}


def surrogate_label_problems(ids: Iterable[str | None], labels: Iterable[str | None]) -> dict[str, str]:
    """Return the entities whose labels contain half a surrogate pair, with the problem."""
    found = {one: label for one, label in zip(ids, labels, strict=True) if one is not None and label is not None}
    broken = surrogate_problems(found.values())
    return {one: f"has a label that {broken[label]}" for one, label in found.items() if label in broken}


def surrogate_problem(character: str) -> str:
    return character_problem(character, "which is half a character", "No format can take it: mend the text.")
