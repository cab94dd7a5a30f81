"""mixtea predict, mixtea match"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from mixtea.cli import options
from mixtea.cli.console import one_line
from mixtea.cli.tables import match_table
from mixtea.decide.answers import CANDIDATES_STORED
from mixtea.decide.choose import Choice
from mixtea.export.formats import check_candidates_file, check_matches_file, listed, write_candidates, write_matches
from mixtea.io.safe.limits import use_limits
from mixtea.messages import visible
from mixtea.runs.atomic import check_new_file
from mixtea.runs.reader import StoredRun

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA


def load_run(run: Path, asked: Mapping[str, Any], device: str | None) -> StoredRun | MixTEA:
    """Return the stored run, or, with options that it was not decided with, the aligner to compute anew.

    Options have the names of arguments of `MixTEA.map`; `multiple_targets` may be True, False or not given.
    """
    others = [name for name, value in asked.items() if value or (name == "multiple_targets" and value is not None)]
    if not others:
        return StoredRun(run)
    named = ", ".join(name.replace("_", "-") for name in others)
    typer.echo(f"{visible(run)}: not stored with these options ({named}), so it is computed anew", err=True)
    from mixtea.aligner import MixTEA

    return MixTEA.load(run, device=device)


def predict(
    run: options.RunFolder,
    out: Annotated[Path, typer.Option(help="The file to write, with a header; .csv and .json, else tab-separated.")],
    k: Annotated[int, typer.Option(min=1, help="Candidates for each source entity.")] = 10,
    best_f1: options.BestF1 = False,
    precision: options.Precision = None,
    every: options.Every = False,
    shared_targets: options.SharedTargets = False,
    multiple_targets: options.MultipleTargets = None,
    decoder: options.Decoder = None,
    voters: options.Voters = None,
    overwrite: options.Overwrite = False,
    device: options.Device = None,
) -> None:
    """Write ranked candidates for every source entity without a training link, and the decision about it.

    Columns: source, target, rank (most probable first), score (of the decoder), probability, voters (those who voted
    for it), decision: mapped at the target that the source gets (at rank k + 1 if it is not among the k best), mapped
    anyway, if it is improbable and --every was given, further target, where a source has several; and at the first
    candidate no counterpart, if that is more probable, target taken, if another source has it, unsure, if no target is
    probable enough, no evidence, if there is none about the source, or given, for a validation link; evidence: the
    score contribution of each voter to what is mapped; links_from: of a run that began without links, names. The
    runner-up of a mapping is the best other candidate.

    Example: mixtea predict runs/en_de --out candidates.tsv --k 10
    """
    check_candidates_file(out)
    check_new_file(out, overwrite=overwrite)
    asked = {"voters": voters, "shared_targets": shared_targets, "multiple_targets": multiple_targets}
    how: dict[str, Any] = {"best_f1": best_f1, "precision": precision, "every": every}
    aligner = load_run(run, asked | {"decoder": decoder, "k": k > CANDIDATES_STORED}, device)
    if isinstance(aligner, StoredRun):
        mapping, candidates = aligner.answers_.mapping(Choice(**how)), aligner.answers_.candidates(k)
    else:
        mapping = aligner.map(**how, **asked)
        candidates = aligner.predict(k, decoder=decoder, voters=voters)
    n = write_candidates(candidates, mapping, out)
    typer.echo(f"{visible(out)}: {n:,} candidates; {mapping.summary()}", err=True)


def match(
    run: options.RunFolder,
    source: Annotated[
        list[Path],
        typer.Option(help="New entities, with the columns of the run's source; repeat it for several files."),
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="Candidates for each entity.")] = 5,
    shared_targets: options.SharedTargets = False,
    out: Annotated[Path | None, typer.Option(help=f"Write the candidates there too: {listed('matches')}.")] = None,
    overwrite: options.Overwrite = False,
    limit: options.Limit = None,
    device: options.Device = None,
    as_json: options.AsJson = False,
) -> None:
    """Match entities that the run does not have, by their names and values; nothing is trained.

    An entity that the run has, with the same values, keeps the answer of the run. A mapped target goes to a new entity
    only if that is more probable; else the decision is "target taken", and `taken_by` names its source.

    Example: mixtea match runs/mine --source new.csv --json
    """
    if out is not None:
        check_matches_file(out)
        check_new_file(out, overwrite=overwrite)
    from mixtea.aligner import MixTEA

    with use_limits(options.limits(limit)):
        found = MixTEA.load(run, device=device).match(source, k, shared_targets=shared_targets)
    for warning in found.warnings:
        typer.echo(one_line(f"warning: {warning}"), err=True)
    if as_json:
        typer.echo(json.dumps(found.to_objects(), indent=1))
    else:
        Console().print(match_table(found))
    if out is not None:
        write_matches(found, out)
    typer.echo(found.summary(), err=True)
