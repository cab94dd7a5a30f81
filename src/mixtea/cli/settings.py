"""mixtea settings"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mixtea.cli import options
from mixtea.config import FIELDS, SETTINGS, Config
from mixtea.fields import written
from mixtea.messages import json_text

COMMON = {  # settings that people change, by group
    "training": ("max_epochs", "entity_dim", "n_layers", "learning_rate", "patience", "pseudo_weight"),
    "voters": ("voters", "agreement_weight", "valid_needed"),
    "decision": ("decoder", "decode_voters", "candidates"),
    "computing": ("seed", "device", "deterministic", "block_mib"),
}
REST = "all settings: mixtea settings --all, or docs/settings.md"


def settings(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[FIELD]...", help="These settings; else those that people change.")
    ] = None,
    preset: options.Preset = "best",
    show_all: Annotated[bool, typer.Option("--all", help="List all settings.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """List settings for --set: the value in the preset, the allowed values, and the effect.

    Examples:

    mixtea settings

    mixtea settings --all

    mixtea settings entity_dim max_epochs --preset paper --json
    """
    SETTINGS.check_names(names or ())
    named = {"": tuple(name for name in FIELDS if show_all or name in (names or ()))}
    groups = named if names or show_all else COMMON
    found = {group: rows(preset, chosen) for group, chosen in groups.items()}
    if as_json:
        typer.echo(json_text({row.pop("field"): row for group in found.values() for row in group}))
        return
    for group, lines in found.items():
        if group:
            typer.echo(f"{group}:")
        for row in lines:
            typer.echo(f"{row['field']}={written(row['value'])}  ({row['allowed']})\n    {row['why']}")
        if group:
            typer.echo("")
    if groups is COMMON:
        typer.echo(REST)


def rows(preset: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return for each named setting the preset's value, the allowed values and the effect."""
    config = Config.preset(preset)
    return [
        {
            "field": name,
            "value": getattr(config, name),
            "allowed": SETTINGS.allowed(name),
            "why": FIELDS[name].metadata["why"],
        }
        for name in names
    ]


def common_settings() -> str:
    """Return the settings that people change as paragraphs, for the end of a verb's help."""
    found = ["Settings for --set, with the values of the preset best (of others: mixtea settings --preset):"]
    for group, names in COMMON.items():
        found.append(f"{group.capitalize()}:")
        found += [
            f"{row['field']}={written(row['value'])}  ({row['allowed']}) {row['why']}" for row in rows("best", names)
        ]
    return "\n\n".join([*found, REST.capitalize()]).replace("[", r"\[")
