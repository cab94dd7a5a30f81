"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TaskFolder = Annotated[
    Path | None, typer.Argument(metavar="TASK", help="A benchmark folder in OpenEA's layout.", show_default=False)
]
Source = Annotated[Path | None, typer.Option(help="Your source graph: tab-separated head, relation, tail.")]
Target = Annotated[Path | None, typer.Option(help="Your target graph, likewise.")]
Links = Annotated[Path | None, typer.Option(help="Known links: tab-separated source, target; 20 % of them validate.")]
ValidLinks = Annotated[Path | None, typer.Option(help="Links for validation; then all of --links train.")]
TestLinks = Annotated[Path | None, typer.Option(help="Links that are only scored, never learned from.")]
Fold = Annotated[int | None, typer.Option(help="Which fold of the benchmark folder (1 if it has folds).")]
OneToMany = Annotated[bool, typer.Option("--one-to-many", help="Allow an entity to have several links.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder that `mixtea fit` has written.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda or cuda:N.")]
Decoder = Annotated[str | None, typer.Option(help="nearest, csls, sinkhorn or one_to_one; else the run's own.")]
Voters = Annotated[str | None, typer.Option(help="Decode the scores of student, agreement or all; else the run's own.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
