"""What a format cannot hold is refused by name, before anything is written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from mixtea.errors import RunError, shorten

INSTEAD = ".parquet can take it, or mend the label."
HALF = re.compile("[\ud800-\udfff]")


def refuse(path: Path, problems: dict[str, str]) -> None:
    """Raise an error that names the first of `problems`: an entity, what is wrong with it, and what to do."""
    if problems:
        label, what = next(iter(problems.items()))
        more = f" {len(problems) - 1:,} more cannot be written either." if len(problems) > 1 else ""
        raise RunError(f"{path}: the entity {shorten(label)} {what}{more}")


def holds(character: str, why: str, instead: str = INSTEAD) -> str:
    """The sentence about a character that a format cannot hold."""
    return f"holds {character!r} (U+{ord(character):04X}), {why}. {instead}"


def half_characters(labels: Iterable[str | None]) -> dict[str, str]:
    """The labels with half a surrogate pair, which no encoding of text can hold."""
    found = ((label, HALF.search(label)) for label in labels if label)
    return {label: half_character(half[0]) for label, half in found if half}


def half_names(entities: Iterable[str | None], names: dict[str, str]) -> dict[str, str]:
    """The entities whose names for people are like that."""
    found = {entity: names[entity] for entity in entities if entity in names}
    broken = half_characters(found.values())
    return {entity: f"has a name that {broken[name]}" for entity, name in found.items() if name in broken}


def half_character(character: str) -> str:
    return holds(character, "which is half a character", "No format can take it: mend the label.")
