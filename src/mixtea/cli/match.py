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
from mixtea.export.formats import check_matches_file, listed, write_matches
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
    out: Annotated[Path | None, typer.Option(help=f"Write the candidates there too: {listed('matches')}.")] = None,
    overwrite: options.Overwrite = False,
    limit: options.Limit = None,
    device: options.Device = None,
    as_json: options.AsJson = False,
) -> None:
    """Match entities that the run does not have, by their names and values; nothing is trained.

    An entity that the run has, with the same values, keeps the answer of the run. A mapped target goes to a new entity
    only if that is more probable; else the decision is "target taken", and `taken_by` names its source.

    Example: mixtea match runs/mine --source new.csv --json
    """
    if out is not None:
        check_matches_file(out)
        check_new_file(out, overwrite=overwrite)
    from mixtea.aligner import MixTEA

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
