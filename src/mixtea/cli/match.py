"""mixtea match"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mixtea.cli import options
from mixtea.cli.console import one_line
from mixtea.cli.tables import match_table
from mixtea.errors import ConfigError
from mixtea.io.safe.limits import use_limits
from mixtea.runs.atomic import check_new_file


def match(
    run: options.RunFolder,
    source: Annotated[
        list[Path],
        typer.Option(help="New entities, with the columns of the run's source; repeat it for several files."),
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="Candidates for each entity.")] = 5,
    shared_targets: options.SharedTargets = False,
    out: Annotated[Path | None, typer.Option(help="Write the candidates there too: .csv or .json.")] = None,
    overwrite: options.Overwrite = False,
    limit: options.Limit = None,
    device: options.Device = None,
    as_json: options.AsJson = False,
) -> None:
    """Match entities that were not there when the run was made, by their names and values; nothing is trained.

    An entity that the run has, with the same values, has the answer of the run. A target that is mapped already is lost
    to a new entity that is more likely; else the decision is "target taken", and `taken_by` names who has it.

    Example: mixtea match runs/mine --source new.csv --json
    """
    if out is not None:
        if out.suffix.lower() not in (".csv", ".json"):
            raise ConfigError(f"{out}: candidates are a table. Name a file that ends in .csv or .json.")
        check_new_file(out, overwrite=overwrite)
    from mixtea.aligner import MixTEA
    from mixtea.export.candidates import write_matches

    with use_limits(options.limits(limit)):
        found = MixTEA.load(run, device=device).match(source, k, shared_targets=shared_targets)
    for warning in found.warnings:
        typer.echo(one_line(f"warning: {warning}"), err=True)
    if as_json:
        typer.echo(json.dumps(found.to_objects(), indent=1))
    else:
        Console().print(match_table(found))
    if out is not None:
        write_matches(found, out)
    typer.echo(found.summary(), err=True)
