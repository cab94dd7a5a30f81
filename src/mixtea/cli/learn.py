"""The process in which a review page learns: python -m mixtea.cli.learn RUN DECISIONS OUT REVIEWER

Progress is a JSON object a line; what goes wrong is one line on standard error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from mixtea.errors import MixTEAError
from mixtea.review.learning import learn


def main() -> None:
    run, decisions, out = map(Path, sys.argv[1:4])
    try:
        learn(run, decisions, out, lambda told: typer.echo(json.dumps(told)), "".join(sys.argv[4:5]))
    except MixTEAError as error:
        typer.echo(str(error), err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
