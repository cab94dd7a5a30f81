"""The command `mixtea`: one file a verb, no logic of its own."""

from __future__ import annotations

import logging
import sys

import typer

from mixtea.cli.demo import demo
from mixtea.cli.export import export
from mixtea.cli.fit import fit
from mixtea.cli.info import info
from mixtea.cli.inspect import inspect
from mixtea.cli.predict import predict
from mixtea.cli.score import score
from mixtea.errors import MixTEAError, ProcessLostError

app = typer.Typer(
    name="mixtea",
    help="Find which entities of two knowledge graphs are the same, from a few known links.\n\nStart with: mixtea demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (demo, inspect, fit, predict, score, export, info):
    app.command()(verb)


def main() -> None:
    """Exit code 0 for success, 2 for a wrong call or bad input (one message on stderr), 1 for anything else."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    try:
        app()
    except MixTEAError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1 if isinstance(error, ProcessLostError) else 2)
