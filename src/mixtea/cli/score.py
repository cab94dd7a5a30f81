"""mixtea score"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from mixtea.cli import options
from mixtea.cli.console import one_line
from mixtea.cli.load_run import load_run
from mixtea.cli.tables import evidence_table, score_table
from mixtea.compute.intervals import interval
from mixtea.errors import ConfigError, DataError, Problems
from mixtea.evaluation.representativeness import compare_sample, sample_line
from mixtea.evaluation.scores import as_objects
from mixtea.graph.task import Task
from mixtea.io.links.read import check_links, read_links
from mixtea.io.safe.limits import current_limits, use_limits
from mixtea.messages import METRICS
from mixtea.runs.atomic import check_new_file
from mixtea.runs.reader import StoredRun

REQUIRED_SCORES = {back + name for back in ("", "backward_") for name in METRICS}  # of stored scores, to be shown


def score(
    run: options.RunFolder,
    links: Annotated[Path | None, typer.Option(help="Links to score; else the run's test links.")] = None,
    candidates: Annotated[str | None, typer.Option(help="Rank among the links' own ends (given), or all.")] = None,
    decoder: options.Decoder = None,
    voters: options.Voters = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="The links are complete: every other mapping is wrong.")
    ] = False,
    curve: Annotated[Path | None, typer.Option(help="Write precision and recall by threshold: .csv or .png.")] = None,
    overwrite: options.Overwrite = False,
    limit: options.Limit = None,
    device: options.Device = None,
    as_json: options.AsJson = False,
) -> None:
    """Compute Hit@1/5/10 and MRR in both directions, ties in expectation, and the calibration of probabilities.

    Then precision, recall and F1 of the one-to-one mapping, which `mixtea export` writes by default. If texts vote
    beside structure: Hit@1 by all voters, by structure alone and by each of them alone, over links whose names are
    equal and over the others. Last, whether the sources of the links look like a random sample of all sources without a
    given link: if not, the scores may not hold for these.

    Examples:

    mixtea score runs/en_de --links more_links.tsv --json

    mixtea score runs/en_de --decoder nearest --voters forward,backward --complete --curve curve.png
    """
    if curve is not None and curve.suffix.lower() not in (".csv", ".png"):
        raise ConfigError(f"{curve}: the curve is a table or a picture. Name a file that ends in .csv or .png.")
    if curve is not None:
        check_new_file(curve, overwrite=overwrite)
    changed = {"candidates": candidates, "decoder": decoder, "voters": voters}
    aligner = load_run(run, changed | {"links": links}, device)
    task = aligner.task_
    scored, title = task.test, "Test links"
    if links is not None:
        scored, title = _read(links, task, limit), links.name
    if not len(scored):
        raise DataError(f"{run}: the run has no test links. Name some with --links FILE.")
    if isinstance(aligner, StoredRun) and not aligner.metrics_.keys() >= REQUIRED_SCORES:
        aligner = load_run(run, {"scores": True}, device)
    if isinstance(aligner, StoredRun):
        found, table = aligner.metrics_, aligner.by_evidence_
    else:
        own = {"candidates": candidates, "decoder": decoder, "decode_voters": voters and tuple(voters.split(","))}
        aligner.config = aligner.config.replace(**{name: value for name, value in own.items() if value})
        found, table = aligner.score(scored), aligner.score_by_evidence(scored)
    found = found | aligner.score_mapping(scored, complete=complete)
    behind = aligner.answers_.sample_sizes(found, scored, complete=complete)
    if curve is not None:
        from mixtea.report.figures import write_curve  # which loads matplotlib

        write_curve(aligner.threshold_curve(scored, complete=complete), curve, task.links_from)
    learned = len({*map(tuple, scored.tolist())} & {*map(tuple, task.train.tolist())})
    if learned:
        typer.echo(f"warning: {learned:,} of these {len(scored):,} links were trained on", err=True)
    sample = compare_sample(task, scored)
    if as_json:
        more: dict[str, Any] = {"links": len(scored), "trained_on": learned, "links_from": task.links_from}
        more |= {"sample": sample}
        more |= {"interval": {name: interval(found[name], n) for name, n in behind.items()}}
        typer.echo(json.dumps(found | more | {"by_evidence": as_objects(table)}, indent=1))
        return
    console = Console()
    console.print(score_table(found, behind, title, aligner.config, aligner.answers_))
    if len(table):
        console.print(evidence_table(table))
    if line := sample_line(sample):
        typer.echo(one_line(line))


def _read(links: Path, task: Task, limit: options.TextList) -> np.ndarray:
    """Read the links of a file."""
    with use_limits(options.limits(limit)):
        problems = Problems(current_limits().max_problems)
        read = read_links(links, "given", task.source, task.target, problems)
    splits, warnings = check_links([read], task.source, task.target, problems)
    problems.raise_if_any()
    for warning in warnings:
        typer.echo(one_line(f"warning: {warning}"), err=True)
    return splits["given"]
