"""mixtea score, mixtea evaluate"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from mixtea.cli import options
from mixtea.cli.console import one_line
from mixtea.cli.predict import load_run
from mixtea.cli.tables import cell_text, evidence_table, score_table
from mixtea.compute.intervals import interval, interval_text
from mixtea.errors import ConfigError, DataError, Problems
from mixtea.evaluation.representativeness import compare_sample, sample_line
from mixtea.evaluation.scores import as_objects
from mixtea.graph.task import Task
from mixtea.io.links.read import check_links, read_links
from mixtea.io.safe.limits import current_limits, use_limits
from mixtea.messages import MAX_LABEL_LENGTH, METRICS, json_text
from mixtea.runs.atomic import check_new_file
from mixtea.runs.reader import StoredRun

if TYPE_CHECKING:
    from mixtea.evaluation.evaluate import Evaluation


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
    found = found | aligner.answers_.mapping_scores(scored, complete=complete)
    behind = aligner.answers_.sample_sizes(found, scored, complete=complete)
    if curve is not None:
        from mixtea.report.figures import write_curve  # which loads matplotlib

        write_curve(aligner.answers_.threshold_curve(scored, complete=complete), curve, task.links_from)
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


def _read(links: Path, task: Task, limit: options.Words) -> np.ndarray:
    """Read the links of a file."""
    with use_limits(options.limits(limit)):
        problems = Problems(current_limits().max_problems)
        read = read_links(links, "given", task.source, task.target, problems)
    splits, warnings = check_links([read], task.source, task.target, problems)
    problems.raise_if_any()
    for warning in warnings:
        typer.echo(one_line(f"warning: {warning}"), err=True)
    return splits["given"]


MAX_TYPES_SHOWN = 20  # rows that are shown
UNKNOWN = {
    "sources_not_in_reference": "sources of the mapping are not in the reference",
    "targets_not_in_reference": "targets of the mapping are not in the reference",
    "mapping_sources_not_in_graph": "sources of the mapping are not in the source graph",
    "mapping_targets_not_in_graph": "targets of the mapping are not in the target graph",
    "reference_sources_not_in_graph": "sources of the reference are not in the source graph",
    "reference_targets_not_in_graph": "targets of the reference are not in the target graph",
}


def evaluate(
    mapping: Annotated[
        Path, typer.Argument(metavar="MAPPING", help="A mapping in any format that links are read in, from anyone.")
    ],
    reference: Annotated[
        list[Path], typer.Option(metavar="FILE", help="Links that are right; repeat it for several files.")
    ],
    partial: Annotated[
        bool, typer.Option("--partial", help="The links are incomplete: judge only pairs with an end in them.")
    ] = False,
    threshold: Annotated[float, typer.Option(min=0, max=1, help="Minimum confidence of a pair.")] = 0.0,
    source: Annotated[
        list[Path] | None, typer.Option(help="The source graph, for scores by type of entity; repeatable.")
    ] = None,
    target: Annotated[list[Path] | None, typer.Option(help="The target graph, likewise.")] = None,
    separator: options.Separator = None,
    limit: options.Limit = None,
    as_json: options.AsJson = False,
) -> None:
    """Compute precision, recall and F1 of any mapping file against link files, with 95 % intervals for small counts.

    Both may be in any link format: SSSOM, the Alignment format, RDF (owl:sameAs ...), .tsv, .csv, .xlsx, .json,
    .parquet, sqlite:FILE#table. Every pair that is not in the reference is wrong, unless --partial. A file in the
    opposite direction is reversed as a whole. Where the mapping has confidences, a table shows scores by threshold.

    Examples:

    mixtea evaluate mapping.sssom.tsv --reference reference.rdf

    mixtea evaluate theirs.rdf --reference part1.tsv --reference part2.tsv --partial --threshold 0.8 --json

    mixtea evaluate mapping.sssom.tsv --reference gt.csv --separator "#"
    """
    from mixtea.evaluation.evaluate import evaluate as judged

    found = judged(
        mapping, reference, partial=partial, threshold=threshold, source=source, target=target,
        limits=options.limits(limit), separator=separator,
    )  # fmt: skip
    if as_json:
        typer.echo(json_text(found.to_dict()))
        return
    for line in found.said:
        typer.echo(one_line(f"warning: {line}"), err=True)
    console = Console()
    for table in _tables(found, mapping, reference):
        console.print(table, "")
    for name, n in found.unknown.items():
        if n:
            typer.echo(f"{n:,} {UNKNOWN[name]}")


def _tables(found: Evaluation, mapping: Path, reference: list[Path]) -> list[Table]:
    known = ", ".join(path.name for path in reference)
    judged = "every other pair is wrong" if found.complete else "pairs without an end in it are not judged"
    rows = [("all", found.scores), *((row["type"], row) for row in found.by_type[:MAX_TYPES_SHOWN])]
    tables = [_table(f"{mapping.name} against {known} ({judged})", "type" if found.by_type else "", rows)]
    if len(found.thresholds) > 1:
        levels = [(f"{row['threshold']:.2f}", row) for row in found.thresholds]
        tables.append(_table("By the least confidence", "least", levels))
    return tables


def _table(title: str, first: str, rows: list[tuple[str, dict[str, Any]]]) -> Table:
    """Return a table with a row of counts and shares each; judged pairs have a column if some are not judged."""
    partly = any(row["judged"] < row["mapped"] for _, row in rows)
    counts = ["mapped", *(["judged"] if partly else []), "links", "right"]
    table = Table(title=cell_text(title), title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.add_column(first, overflow="fold")
    for heading in (*counts, "precision", "recall", "F1"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, row in rows:
        behind = {"precision": row["judged"], "recall": row["links"]}
        spread = (
            f"{row[share]:.3f}{interval_text(row[share], n, '{:.2f}')}" if n else "–" for share, n in behind.items()
        )
        f1 = f"{row['f1']:.3f}" if any(behind.values()) else "–"
        table.add_row(cell_text(_last(name), MAX_LABEL_LENGTH), *(f"{row[one]:,}" for one in counts), *spread, f1)
    return table


def _last(name: str) -> str:
    """Return the last word of an IRI without a prefix, which fits into a table."""
    return re.split("[/#]", name.rstrip("/#"))[-1] if "://" in name else name
