"""mixtea settings"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mixtea.cli import options
from mixtea.config import FIELDS, SETTINGS, Config
from mixtea.fields import written
from mixtea.messages import json_text


def settings(
    names: Annotated[list[str] | None, typer.Argument(metavar="[FIELD]...", help="These; else all.")] = None,
    preset: options.Preset = "best",
    as_json: options.AsJson = False,
) -> None:
    """List the settings that --set takes: the value that the preset has, what is allowed, and what it does.

    Examples:

    mixtea settings

    mixtea settings entity_dim max_epochs --preset paper --json
    """
    found = rows(preset, names or ())
    if as_json:
        typer.echo(json_text({row.pop("field"): row for row in found}))
        return
    for row in found:
        typer.echo(f"{row['field']}={written(row['value'])}  ({row['allowed']})\n    {row['why']}")


def rows(preset: str, names: list[str] | tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Of each setting, or of those that are named: the preset's value, what is allowed, what it does."""
    config = Config.preset(preset)
    SETTINGS.check_names(names)
    return [
        {"field": name, "value": getattr(config, name), "allowed": SETTINGS.allowed(name), "why": field.metadata["why"]}
        for name, field in FIELDS.items()
        if not names or name in names
    ]


def listed() -> str:
    """All of them as paragraphs, for the end of a verb's help."""
    head = "Settings for --set, with the values of the preset best (of others: mixtea settings --preset):"
    lines = (f"{row['field']}={written(row['value'])}  ({row['allowed']}) {row['why']}" for row in rows("best"))
    return "\n\n".join((head, *lines)).replace("[", r"\[")
