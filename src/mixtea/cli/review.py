"""mixtea review"""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated

import typer

from mixtea.cli import options
from mixtea.errors import ConfigError, RunError
from mixtea.messages import visible
from mixtea.review.decisions import DecisionStore, decisions_path

HELP = {
    "decisions": "The file of decisions; else RUN.decisions.sqlite, beside the run.",
    "reviewer": "Your name in the decisions; else that of the system.",
    "every": "Retrain after so many decisions; 0 for never.",
    "host": "Where to listen. Anything but this machine lets others in your network try; they need the address.",
    "error": "Error rate of the simulated reviewer.",
}


def review(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes one that is free.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    decisions: Annotated[Path | None, typer.Option(metavar="FILE", help=HELP["decisions"])] = None,
    reviewer: Annotated[str | None, typer.Option(metavar="NAME", help=HELP["reviewer"])] = None,
    retrain_every: Annotated[int, typer.Option(min=0, metavar="N", help=HELP["every"])] = 50,
    host: Annotated[str, typer.Option(help=HELP["host"])] = "127.0.0.1",
    export: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the decisions as SSSOM, and end.")] = None,
    take: Annotated[
        Path | None, typer.Option("--import", metavar="FILE", help="Import decisions from SSSOM, and end.")
    ] = None,
    copy: Annotated[Path | None, typer.Option(metavar="FILE", help="Copy the file of decisions, and end.")] = None,
    simulate: Annotated[
        Path | None, typer.Option(metavar="GOLD", help="Let a simulated reviewer decide by these links, and end.")
    ] = None,
    error: Annotated[float, typer.Option(min=0, max=1, help=HELP["error"])] = 0.0,
    overwrite: options.Overwrite = False,
) -> None:
    """Review the mappings of a run on a page in your browser, with all the evidence; the model learns from decisions.

    Examples:

    mixtea review runs/mine

    mixtea review runs/mine --export decisions.sssom.tsv

    mixtea review runs/mine --simulate gold.tsv --error .05

    Keys decide: A accepts, X rejects, U is unsure, Space skips, 1-9 accept another target, 0 none of them, Backspace
    takes back, ? shows all. Decisions are stored when the page shows saved, in a file beside the run. Without the page,
    mixtea fit --reviewed learns from an exported file.
    """
    file = decisions or decisions_path(run)
    if sum(one is not None for one in (export, take, copy, simulate)) > 1:
        raise ConfigError("Name one of --export, --import, --copy and --simulate.")
    if simulate is not None:
        _simulate(run, simulate, error)
    elif export is not None or take is not None or copy is not None:
        _move(run, file, export, take, copy, reviewer or _user(), overwrite=overwrite)
    else:
        from mixtea.review.security import is_everywhere, is_local
        from mixtea.review.server import serve

        if is_everywhere(host):
            raise ConfigError(f"--host {host}: name the one address under which others will open the page.")
        if not is_local(host):
            typer.echo(
                f"warning: {visible(host)} may be reached from other machines, and what is sent is not encrypted",
                err=True,
            )
        serve(
            run, file, host=host, port=port, reviewer=reviewer or _user(), every=retrain_every, browser=not no_browser,
            notify=typer.echo,
        )  # fmt: skip


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "reviewer"


def _move(
    run: Path, file: Path, export: Path | None, take: Path | None, copy: Path | None, reviewer: str, *, overwrite: bool
) -> None:  # fmt: skip
    """Export, import or copy decisions."""
    from mixtea.review.import_export import read_decisions, write_decisions
    from mixtea.review.reviewers import known_targets, measure_reviewers
    from mixtea.runs.atomic import check_new_file
    from mixtea.runs.reader import StoredRun

    if copy is not None and not file.exists():
        raise RunError(f"{file}: no decisions are there to copy.")
    task = None if copy is not None else StoredRun(run).task_  # before a file is made beside a run that is not there
    for written in (export, copy):
        if written is not None:
            check_new_file(written, overwrite=overwrite)
    store = DecisionStore(file)
    try:
        if copy is not None:
            store.copy_to(copy)
            typer.echo(f"{visible(copy)}: {len(store.active()):,} decisions that stand")
        elif export is not None and task is not None:
            active = store.active()
            n = write_decisions(task, active, measure_reviewers(active, known_targets(task)), export)
            typer.echo(f"{visible(export)}: {n:,} pairs from {len(active):,} decisions")
        elif take is not None and task is not None:
            found = read_decisions(task, take, reviewer)
            typer.echo(f"{visible(take)}: {store.take_over(found):,} new decisions of {len(found):,}")
    finally:
        store.close()


def _simulate(run: Path, gold: Path, error: float) -> None:
    from rich.console import Console
    from rich.table import Table

    from mixtea.experiments.simulated_reviewer import HEADER, simulate

    table = Table(*HEADER, title=f"A simulated reviewer who errs in {error:.0%} of the cases")
    for row in simulate(run, gold, error=error, notify=lambda text: typer.echo(text, err=True)):
        table.add_row(*row)
    Console().print(table)
