"""mixtea predict"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mixtea.cli import options
from mixtea.cli.load_run import MULTIPLE_TARGETS, load_run, map_arguments
from mixtea.decide.answers import CANDIDATES_STORED
from mixtea.export.formats import check_candidates_file, write_candidates
from mixtea.messages import visible
from mixtea.runs.atomic import check_new_file
from mixtea.runs.reader import StoredRun


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
    asked = {"voters": voters, "shared-targets": shared_targets, MULTIPLE_TARGETS: multiple_targets}
    how: dict[str, Any] = {"best_f1": best_f1, "precision": precision, "every": every}
    aligner = load_run(run, asked | {"decoder": decoder, "k": k > CANDIDATES_STORED}, device)
    if isinstance(aligner, StoredRun):
        mapping, candidates = aligner.map(**how), aligner.predict(k)
    else:
        mapping = aligner.map(**how, **map_arguments(asked))
        candidates = aligner.predict(k, decoder=decoder, voters=voters)
    n = write_candidates(candidates, mapping, out)
    typer.echo(f"{visible(out)}: {n:,} candidates; {mapping.summary()}", err=True)
