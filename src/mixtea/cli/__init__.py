"""The command `mixtea`: one file a verb, no logic of its own."""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated, NoReturn

import typer

from mixtea.cli.demo import demo
from mixtea.cli.export import export
from mixtea.cli.fit import fit
from mixtea.cli.info import info
from mixtea.cli.inspect import inspect
from mixtea.cli.predict import predict
from mixtea.cli.reproduce import reproduce
from mixtea.cli.score import score
from mixtea.cli.tune import tune
from mixtea.errors import MixTEAError, TrainingError

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


for verb in (demo, inspect, fit, tune, predict, score, export, reproduce, info):
    app.command()(verb)


def main() -> None:
    """Exit code 0 for success, 2 for a wrong call or bad input (one message on stderr), 1 for anything else."""
    level = logging.WARNING if os.environ.get("RANK", "0") == "0" else logging.ERROR
    logging.basicConfig(level=level, format="%(levelname)s: %(message)s")
    try:
        app()
    except MixTEAError as error:
        _stop(error, 1 if isinstance(error, TrainingError) else 2)
    except OSError as error:
        if error.filename is None:
            raise
        _stop(f"{error.filename}: {error.strerror}. Check the path and its permissions.", 2)


def _stop(message: object, code: int) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(code)
