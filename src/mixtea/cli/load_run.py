"""Load a run with its stored answers, or to compute them anew."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mixtea.messages import visible
from mixtea.runs.reader import StoredRun

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA


MULTIPLE_TARGETS = "multiple-targets"  # the option that may be True, False or not given


def map_arguments(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Turn options into arguments of `MixTEA.map`."""
    return {name.replace("-", "_"): value for name, value in asked.items()}


def load_run(run: Path, asked: Mapping[str, Any], device: str | None) -> StoredRun | MixTEA:
    """Return the stored run, or, with options that it was not decided with, the aligner to compute anew."""
    others = [name for name, value in asked.items() if value or (name == MULTIPLE_TARGETS and value is not None)]
    if not others:
        return StoredRun(run)
    typer.echo(f"{visible(run)}: not stored with these options ({', '.join(others)}), so it is computed anew", err=True)
    from mixtea.aligner import MixTEA

    return MixTEA.load(run, device=device)
