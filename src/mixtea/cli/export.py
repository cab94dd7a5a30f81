"""mixtea export"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

import typer

from mixtea.cli import options
from mixtea.cli.answering import answering
from mixtea.runs.stored import StoredRun
from mixtea.text import visible

FORMATS = ".tsv (links), .sssom.tsv, .nt or .ttl (RDF), .rdf (OAEI Alignment), .parquet"


def export(
    run: options.RunFolder,
    out: Annotated[Path, typer.Option(help=f"The file to write; its ending chooses the format: {FORMATS}.")],
    with_given: Annotated[bool, typer.Option("--with-given", help="Add the given links.")] = False,
    with_unmapped: Annotated[
        bool, typer.Option("--with-unmapped", help="Add sources without a counterpart (.sssom.tsv, .parquet).")
    ] = False,
    every: options.Every = False,
    one_to_many: options.SharedTargets = False,
    min_probability: Annotated[float, typer.Option(min=0, max=1, help="Leave less probable mappings out.")] = 0.0,
    predicate: Annotated[str, typer.Option(help="skos:exactMatch or owl:sameAs.")] = "skos:exactMatch",
    licence: Annotated[str | None, typer.Option(metavar="IRI", help="Of the mapping set.")] = None,
    set_id: Annotated[str, typer.Option(metavar="IRI", help="Of the mapping set; else made from the mappings.")] = "",
    title: Annotated[str, typer.Option(help="Of the mapping set.")] = "",
    date: Annotated[datetime.datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Of the mapping set.")] = None,
    decoder: options.Decoder = None,
    voters: options.Voters = None,
    device: options.Device = None,
) -> None:
    """Write the mapping in a standard format: one decision for every source entity without a given link.

    Every target is given once, and a source has no counterpart where that is likelier than its best target. A .tsv has
    two columns, source and target, and no header, like a file of links.

    Examples:

    mixtea export runs/en_de --out mapping.tsv

    mixtea export runs/mine --out mapping.sssom.tsv --licence https://creativecommons.org/publicdomain/zero/1.0/
    """
    from mixtea.export.about import UNSPECIFIED, About
    from mixtea.export.mapping import write_mapping, writer_for

    writer_for(out)
    about = About(
        set_id, title, licence or UNSPECIFIED, date=date.date() if date else None, predicate=predicate,
        with_unmapped=with_unmapped,
    )  # fmt: skip
    aligner = answering(run, {"decoder": decoder, "voters": voters, "one-to-many": one_to_many}, device)
    how = {"abstain": not every, "with_given": with_given}
    if isinstance(aligner, StoredRun):
        mapping = aligner.map(**how)
    else:
        mapping = aligner.map(**how, one_to_many=one_to_many, decoder=decoder, voters=voters)
    mapping = mapping.above(min_probability)
    n = write_mapping(mapping, out, about)
    left = int(mapping.frame["target"].isna().sum())
    rest = f"; {left:,} source entities without a counterpart" if left else ""
    typer.echo(f"{visible(out)}: {n:,} mappings{rest}", err=True)
