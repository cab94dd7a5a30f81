"""Process that retrains for the review page: python -m mixtea.cli.review_worker RUN DECISIONS OUT [REVIEWER]

Progress is a JSON object per line; an error is one line on standard error, and leaves OUT unchanged.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from mixtea.cli.ending import end
from mixtea.errors import ConfigError

ADVICE = "Nothing was learned. Mend what is at that place, or leave its voter out of the run, then learn again."


def main() -> None:
    end(_learn, advice=ADVICE)


def _learn() -> None:
    from mixtea.review.learning import learn

    if len(sys.argv) not in (4, 5):
        raise ConfigError("Three paths are needed: python -m mixtea.cli.review_worker RUN DECISIONS OUT [REVIEWER]")
    run, decisions, out = map(Path, sys.argv[1:4])
    learn(run, decisions, out, lambda told: typer.echo(json.dumps(told)), "".join(sys.argv[4:]))


if __name__ == "__main__":
    main()
