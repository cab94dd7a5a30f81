"""mixtea export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mixtea.cli import options
from mixtea.errors import ConfigError


def export(
    run: options.RunFolder,
    out: Annotated[Path, typer.Option(help="The file to write; its ending chooses the format (.tsv).")],
    with_given: Annotated[bool, typer.Option("--with-given", help="Add the given links.")] = False,
    decoder: options.Decoder = None,
    voters: options.Voters = None,
    device: options.Device = None,
) -> None:
    """Write the mapping: the best target of every source entity without a training link.

    A .tsv has two columns, source and target, and no header, like a file of links.

    Example: mixtea export runs/en_de --out mapping.tsv
    """
    if out.suffix.lower() != ".tsv":
        raise ConfigError(f"{out}: no format goes with the ending {out.suffix!r}. Choose .tsv.")
    from mixtea.aligner import MixTEA
    from mixtea.export.tsv import write_mapping

    aligner = MixTEA.load(run, device=device)
    n = write_mapping(aligner.predict(k=1, decoder=decoder, voters=voters), aligner.task_, out, with_given=with_given)
    typer.echo(f"{out}: {n:,} mappings", err=True)
