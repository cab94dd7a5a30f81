"""mixtea evaluate"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from mixtea.cli import options
from mixtea.cli.console import one_line
from mixtea.cli.tables import cell_text
from mixtea.compute.intervals import interval_text
from mixtea.messages import MAX_LABEL_LENGTH, json_text

if TYPE_CHECKING:
    from mixtea.evaluation.evaluate import Evaluation

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
