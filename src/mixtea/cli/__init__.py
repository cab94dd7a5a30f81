"""The command `mixtea`: one file per verb, without logic of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from mixtea.cli.ending import end
from mixtea.cli.experiments import reproduce, tune
from mixtea.cli.export import export
from mixtea.cli.fit import demo, fit
from mixtea.cli.inspect import inspect, split
from mixtea.cli.predict import match, predict
from mixtea.cli.review import review
from mixtea.cli.score import evaluate, score
from mixtea.cli.settings import common_settings, info, settings

app = typer.Typer(
    name="mixtea",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def about(
    version: Annotated[bool, typer.Option("--version", is_eager=True, help="Show the version and stop.")] = False,
) -> None:
    """Find which entities of two knowledge graphs are the same, from a few known links.

    Start with: mixtea demo
    """
    if version:
        from mixtea import __version__

        typer.echo(f"mixtea {__version__}")
        raise typer.Exit


VERBS = (demo, inspect, split, fit, tune, predict, match, score, export, review, evaluate, reproduce, settings, info)
for verb in VERBS:
    app.command(epilog=common_settings() if verb is fit else None)(verb)


def main() -> None:
    """Exit code 0 for success, 2 for a wrong call or bad input (one message on stderr), 1 for anything else."""
    end(lambda: app(standalone_mode=False))
