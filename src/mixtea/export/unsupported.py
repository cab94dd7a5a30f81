"""What a format cannot hold is refused by name, before anything is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mixtea.errors import RunError, shorten
from mixtea.messages import HALF_CHARACTER

INSTEAD = ".parquet can take it, or mend the id."


def refuse(path: Path, problems: dict[str, str], kind: str = "entity") -> None:
    """Raise an error that names the first of `problems`: an entity, what is wrong with it, and what to do."""
    if problems:
        entity, what = next(iter(problems.items()))
        more = f" {len(problems) - 1:,} more cannot be written either." if len(problems) > 1 else ""
        raise RunError(f"{path}: the {kind} {shorten(entity)} {what}{more}")


def holds(character: str, why: str, instead: str = INSTEAD) -> str:
    """The sentence about a character that a format cannot hold."""
    return f"holds {character!r} (U+{ord(character):04X}), {why}. {instead}"


def half_characters(texts: Iterable[str | None]) -> dict[str, str]:
    """The texts with half a surrogate pair, which no encoding can hold."""
    found = ((text, HALF_CHARACTER.search(text)) for text in texts if text)
    return {text: half_character(half[0]) for text, half in found if half}


def half_labels(ids: Iterable[str | None], labels: Iterable[str | None]) -> dict[str, str]:
    """The entities whose labels are like that."""
    found = {one: label for one, label in zip(ids, labels, strict=True) if one is not None and label is not None}
    broken = half_characters(found.values())
    return {one: f"has a label that {broken[label]}" for one, label in found.items() if label in broken}


def half_character(character: str) -> str:
    return holds(character, "which is half a character", "No format can take it: mend the text.")
