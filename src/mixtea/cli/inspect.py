"""mixtea inspect"""

from __future__ import annotations

import json

import typer
from rich.console import Console

from mixtea.cli import options
from mixtea.cli.tables import count_table
from mixtea.data.summary import summary


def inspect(
    task: options.TaskFolder = None,
    fold: options.Fold = None,
    source: options.Source = None,
    target: options.Target = None,
    links: options.Links = None,
    valid_links: options.ValidLinks = None,
    test_links: options.TestLinks = None,
    one_to_many: options.OneToMany = False,
    as_json: options.AsJson = False,
) -> None:
    """Read a task, report every problem in its files, and show what it holds.

    Example: mixtea inspect data/EN_DE_15K_V1 --json
    """
    own = dict(source=source, target=target, links=links, valid_links=valid_links, test_links=test_links)
    read = options.read_task(task, fold, **own, one_to_many=one_to_many)
    found = summary(read)
    if as_json:
        typer.echo(json.dumps(found, indent=1, ensure_ascii=False))
        return
    console = Console()
    console.print(count_table(read))
    typer.echo("links: " + ", ".join(f"{n:,} {split}" for split, n in found["links"].items()))
    for side in ("source", "target"):
        degree = found[side]["degree"]
        typer.echo(f"neighbours in the {side} graph: median {degree['median']:g}, most {degree['max']:,}")
    typer.echo(f"relations with the same name in both graphs: {found['shared_relations']:,}")
    for warning in found["warnings"]:
        typer.echo(f"warning: {warning}")
