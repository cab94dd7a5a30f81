"""mixtea predict"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mixtea.cli import options
from mixtea.errors import ConfigError

OTHER_FORMATS = {".csv", ".json", ".parquet", ".xlsx", ".nt", ".ttl", ".rdf"}


def predict(
    run: options.RunFolder,
    out: Annotated[Path, typer.Option(help="The file to write, tab-separated with a header.")],
    k: Annotated[int, typer.Option(min=1, help="Candidates for each source entity.")] = 10,
    decoder: options.Decoder = None,
    voters: options.Voters = None,
    device: options.Device = None,
) -> None:
    """Write ranked candidates for every source entity without a training link.

    Columns: source, target, rank, score, probability (calibrated on the validation links), voters (who favours it).

    Example: mixtea predict runs/en_de --out candidates.tsv --k 10
    """
    if out.suffix.lower() in OTHER_FORMATS:
        raise ConfigError(f"{out}: candidates are tab-separated text. Name a file that ends in .tsv.")
    from mixtea.aligner import MixTEA
    from mixtea.export.tsv import write_candidates

    n = write_candidates(MixTEA.load(run, device=device).predict(k, decoder=decoder, voters=voters), out)
    typer.echo(f"{out}: {n:,} candidates", err=True)
