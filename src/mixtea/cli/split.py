"""mixtea split"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mixtea.cli import options
from mixtea.cli.console import one_line
from mixtea.io.links.read import SHARES


def split(
    links: Annotated[Path, typer.Argument(metavar="LINKS", help="A file of links, in any format that is read.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for the files.")],
    train: Annotated[float, typer.Option(min=0, max=1, help="The share of training links.")] = SHARES["train"],
    valid: Annotated[float, typer.Option(min=0, max=1, help="The share of validation links.")] = SHARES["valid"],
    test: Annotated[float, typer.Option(min=0, max=1, help="The share of test links.")] = SHARES["test"],
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    names: Annotated[
        str, typer.Option(metavar="NAME,NAME,...", help="What the files are called; else train_links, valid_links ...")
    ] = "",
    overwrite: options.Overwrite = False,
    separator: options.Separator = None,
    limit: options.Limit = None,
) -> None:
    """Deal links out at random into files to train, to validate and to test; a share of 0 has no file.

    Every link is in one of them. Links that share an entity stay together, so that no entity is in two files. CSV,
    SSSOM, Parquet and tab-separated text keep their format, and all but Parquet their header and all columns; Excel,
    SQLite and JSON become CSV, other formats tab-separated text.

    Examples:

    mixtea split links.tsv --out parts

    mixtea split reference.rdf --train 0.3 --valid 0 --test 0.7 --seed 5 --out parts --names seeds,held_out

    mixtea split gt.csv --separator "#" --out parts
    """
    from mixtea.export.splits import split_file

    shares = {"train": train, "valid": valid, "test": test}
    chosen = [name.strip() for name in names.split(",")] if names else []
    parts, warnings = split_file(
        links, out, shares, seed=seed, names=chosen, overwrite=overwrite, limits=options.limits(limit),
        separator=separator,
    )  # fmt: skip
    for warning in warnings:
        typer.echo(one_line(f"warning: {warning}"), err=True)
    total = sum(part.n_links for part in parts.values())
    for part in parts.values():
        typer.echo(one_line(f"{part.path}: {part.n_links:,} of {total:,} links"), err=True)
