"""mixtea settings, mixtea info, and settings from a file"""

from __future__ import annotations

import importlib.util
import json
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from mixtea.cli import options
from mixtea.config import FIELDS, SETTINGS, Config
from mixtea.errors import ConfigError
from mixtea.fields import written
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.safe.open import open_input
from mixtea.messages import json_text, visible
from mixtea.voters.registry import known_voters

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


EXTRAS = {
    "faiss": "faiss", "optuna": "tune", "sentence_transformers": "text", "tensorboard": "tensorboard",
    "torch_geometric": "benchmarks", "fastapi": "review",
}  # fmt: skip


def info(as_json: options.AsJson = False) -> None:
    """Show versions, the default device, available voters, and installed optional libraries.

    Example: mixtea info --json
    """
    import torch

    from mixtea.aligner.saving import versions
    from mixtea.compute.device import choose_device, describe_device

    extras = {name: importlib.util.find_spec(name) is not None for name in EXTRAS}
    found: dict[str, Any] = {
        "versions": versions(),
        "device": describe_device(choose_device("auto")),
        "cuda": torch.cuda.is_available(),
        "threads": torch.get_num_threads(),
        "extras": extras,
        "voters": known_voters(),
    }
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return
    for name, number in found["versions"].items():
        typer.echo(f"{name:12} {number}")
    typer.echo(f"{'device':12} {found['device']}, {found['threads']} threads")
    typer.echo(f"{'voters':12} {', '.join(map(visible, found['voters']))}")
    for name, there in extras.items():
        typer.echo(f"{name:12} " + ("found" if there else f"not installed: pip install 'mixtea[{EXTRAS[name]}]'"))


MAX_BYTES, MAX_MESSAGE = 1 << 14, 2000  # bytes, characters


def read_settings(path: Path) -> dict[str, Any]:
    """Read settings from TOML lines `field = value`, or from a run's config.json, and check them one by one."""
    kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
    try:
        with open_input(path) as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ConfigError(f"more than {MAX_BYTES:,} bytes, which no settings need. Name another file.")
        text = data.decode("utf-8")
        settings = json.loads(text) if kind == "JSON" else tomllib.loads(text)
        if not isinstance(settings, dict):
            raise ConfigError("not a table of settings. Write field = value lines, or a JSON object.")
        Config.from_dict(settings)
        return SETTINGS.check_all(settings)
    except UnreadableError as error:
        what, todo = error.problem.what.removeprefix("cannot be read "), error.problem.todo
        raise ConfigError(f"{path}: cannot be read ({what.strip('()')}). {todo}") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {str(error)[:MAX_MESSAGE]}") from None
    except RecursionError:
        raise ConfigError(f"{path}: not valid {kind}: nested too deeply, which no settings are.") from None
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path}: not valid {kind}: {str(error)[:MAX_MESSAGE]}.") from None
