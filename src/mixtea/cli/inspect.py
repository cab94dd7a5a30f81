"""mixtea inspect, mixtea split"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from mixtea.cli import options
from mixtea.cli.console import one_line
from mixtea.cli.options import TaskOptions, reads_task
from mixtea.cli.tables import count_table, estimate_table, file_table, kinds_line, relation_table
from mixtea.config import PRESETS, Config
from mixtea.evaluation.inspection import column_lines, text_summary, text_summary_lines
from mixtea.graph.task import Task
from mixtea.io.checks import summary, synonyms_line, task_warnings
from mixtea.io.links.read import SHARES
from mixtea.io.naming import name_coverage_line
from mixtea.messages import json_text, visible


@reads_task
def inspect(
    read: TaskOptions,
    device: options.Device = None,
    as_json: options.AsJson = False,
) -> None:
    """Read a task, report every problem in its files, and show what it holds and what training it will take here.

    Examples:

    mixtea inspect data/EN_DE_15K_V1 --json

    mixtea inspect --source a.ttl --source labels.nt.gz --target b.parquet --links seeds.sssom.tsv

    mixtea inspect --source people.xlsx#2024 --target sqlite:staff.db --target-query "SELECT id, name FROM staff" \
    --links links.csv

    mixtea inspect --source zh.nt --target en.nt --links-from names --translations zh_in_english.tsv
    """
    task = read.load()
    found = summary(task) | {"texts": text_summary(task), "estimates": estimates(task, device or "auto")}
    if as_json:
        typer.echo(json_text(found))
        return
    console = Console()
    joined = {side: found[side]["degree"]["max"] > 0 for side in ("source", "target")}
    console.print(file_table(found), count_table(task))
    if any(joined.values()):
        console.print(relation_table(found))
    for line in column_lines(found["texts"]["columns"]):
        typer.echo(visible(line))
    if line := kinds_line(found):
        typer.echo(line)
    rejected = f"; rejected pairs: {found['rejected']:,}" if found["rejected"] else ""
    typer.echo("links: " + ", ".join(f"{n:,} {split}" for split, n in found["links"].items()) + rejected)
    for side in ("source", "target"):
        degree = found[side]["degree"]
        neighbours = (
            f"neighbours in the {side} graph: median {degree['median']:g}, mean {degree['mean']:.1f}, "
            f"most {degree['max']:,}; entities"
        )
        typer.echo(
            (neighbours if joined[side] else f"entities of the {side} graph")
            + f" with a label: {found[side]['label_coverage']:.0%}"
            + (f"; with a vector: {found[side]['vectors']:,}" if found[side]["vectors"] else "")
        )
        if names := name_coverage_line(getattr(task, side)):
            typer.echo(visible(f"names of the {side}: {names}"))
    if line := synonyms_line(found["synonyms"]):
        typer.echo(line)
    for line in text_summary_lines(found["texts"]):
        typer.echo(line)
    if any(joined.values()):
        typer.echo(f"relations with the same name in both graphs: {found['shared_relations']:,}")
    console.print(estimate_table(found["estimates"]))
    for doubt in task_warnings(task):  # warnings about the files are on standard error already
        typer.echo(visible(f"warning: {doubt}"))


def estimates(task: Task, device_name: str) -> dict[str, Any]:
    """Return for each preset that the task has room for what it will take on the device."""
    from mixtea.compute.device import choose_device, describe_device
    from mixtea.council.adapt import can_vote
    from mixtea.evaluation.estimate import estimate, measure_speed

    device = choose_device(device_name)
    speed = measure_speed(device)
    found: dict[str, Any] = {"device": describe_device(device)}
    for preset in PRESETS:
        if not can_vote(task, Config.preset(preset)):
            continue
        expected = estimate(task, Config.preset(preset), device, speed)
        found[preset] = {
            "mib": round(expected.mib),
            "epochs": expected.epochs,
            "seconds_per_epoch": round(expected.seconds_per_epoch, 3),
            "seconds_beside": round(expected.seconds_beside, 1),
            "seconds": round(expected.seconds, 1),
            "suggestion": expected.suggestion,
            "seconds_with_suggestion": expected.seconds_with_suggestion,
        }
    return found


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
    from mixtea.export.splits import deal

    shares = {"train": train, "valid": valid, "test": test}
    chosen = [name.strip() for name in names.split(",")] if names else []
    dealt = deal(links, shares, seed=seed, limits=options.limits(limit), separator=separator)
    parts = dealt.write(out, chosen, overwrite=overwrite)
    for warning in dealt.rows.warnings:
        typer.echo(one_line(f"warning: {warning}"), err=True)
    total = sum(part.n_links for part in parts.values())
    for part in parts.values():
        typer.echo(one_line(f"{part.path}: {part.n_links:,} of {total:,} links"), err=True)
