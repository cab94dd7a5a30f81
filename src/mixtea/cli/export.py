"""mixtea export"""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixtea.cli import options
from mixtea.cli.load_run import MULTIPLE_TARGETS, answering, arguments
from mixtea.messages import visible
from mixtea.relations.alignment import MIN_SCORE, relations_of
from mixtea.runs.atomic import check_new_file
from mixtea.runs.reader import StoredRun

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA
    from mixtea.decide.mapping import Mapping
    from mixtea.export.metadata import About

FORMATS = ".tsv (links), .sssom.tsv, .nt or .ttl (RDF), .rdf (OAEI Alignment), .parquet, .csv, .json"


def export(
    run: options.RunFolder,
    out: Annotated[
        Path | None, typer.Option(help=f"The file for the mapping; its ending chooses the format: {FORMATS}.")
    ] = None,
    relations: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file for relations, attribute predicates and classes that are alike: .tsv, .sssom.tsv, .nt, .ttl, "
            ".parquet, .csv or .json.",
        ),
    ] = None,
    min_score: Annotated[
        float, typer.Option(min=0, max=1, help="Leave relations that are less alike out.")
    ] = MIN_SCORE,
    with_given: Annotated[bool, typer.Option("--with-given", help="Add the given links.")] = False,
    with_unmapped: Annotated[
        bool,
        typer.Option("--with-unmapped", help="Add sources without a counterpart (.sssom.tsv, .parquet, .csv, .json)."),
    ] = False,
    best_f1: options.BestF1 = False,
    precision: options.Precision = None,
    every: options.Every = False,
    shared_targets: options.SharedTargets = False,
    multiple_targets: options.MultipleTargets = None,
    min_probability: Annotated[float, typer.Option(min=0, max=1, help="Leave less probable mappings out.")] = 0.0,
    predicate: Annotated[str, typer.Option(help="skos:exactMatch or owl:sameAs.")] = "skos:exactMatch",
    licence: Annotated[str | None, typer.Option(metavar="IRI", help="Of the mapping set.")] = None,
    set_id: Annotated[
        str,
        typer.Option(
            metavar="IRI", help="Of the mapping set (relations beside it: IRI/relations); else made from the mappings."
        ),
    ] = "",
    title: Annotated[str, typer.Option(help="Of the mapping set.")] = "",
    source_namespace: options.SourceNamespace = "",
    target_namespace: options.TargetNamespace = "",
    all_columns: Annotated[
        bool,
        typer.Option("--all-columns", help="Write all columns to a .csv, with labels, runners-up and evidence."),
    ] = False,
    date: Annotated[datetime.datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Of the mapping set.")] = None,
    compare_with: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN|FILE",
            help="Say what is new, gone or changed beside an earlier run, or a mapping file in any format.",
        ),
    ] = None,
    changes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .tsv or .csv for these changes, a row each.")
    ] = None,
    with_unchanged: Annotated[
        bool, typer.Option("--with-unchanged", help="List there what stayed as it was, too.")
    ] = False,
    voters: options.Voters = None,
    overwrite: options.Overwrite = False,
    device: options.Device = None,
) -> None:
    """Write the mapping in a standard format: one decision for every source entity without a given link.

    Every target is given once, to the likeliest source. Pairs with a probability of at least .5 are mapped, or as one
    of --best-f1, --precision and --every asks. A .tsv has source, target and probability, and no header, like a file of
    links; a .csv has source, target, probability and decision. RDF, SSSOM and alignments name entities by IRIs: ids
    that are none get some in the namespaces that you give.

    With --relations, instead or besides: which relations, attribute predicates and classes are equal, narrower,
    broader or inverse, by that mapping and the given links.

    Examples:

    mixtea export runs/en_de --out mapping.tsv --precision 0.95

    mixtea export runs/mine --out mapping.sssom.tsv --licence https://creativecommons.org/publicdomain/zero/1.0/

    mixtea export runs/shop --out mapping.sssom.tsv --source-namespace shop=https://shop.example/items/

    mixtea export runs/mine --relations relations.tsv --min-score 0.5

    mixtea export runs/new --compare-with runs/old --changes changes.tsv
    """
    from mixtea.export import changes as differences
    from mixtea.export import mapping as mappings
    from mixtea.export import relations as alike
    from mixtea.export.identifiers import BY_IRIS, made_up, made_up_note
    from mixtea.export.metadata import UNSPECIFIED, About
    from mixtea.report.compare import compared, summary, without_unchanged

    if changes is not None and compare_with is None:
        raise typer.BadParameter("--changes needs an earlier run or a mapping file: --compare-with RUN|FILE.")
    if out is None and relations is None and compare_with is None:
        raise typer.BadParameter("Give a file: --out for the mapping, --relations for relations and classes.")
    named = [path for path in (out, relations, changes) if path is not None]
    if len(set(named)) < len(named):
        raise typer.BadParameter("--out, --relations and --changes name the same file. Give each its own.")
    for path, writers in ((out, mappings.WRITERS), (relations, alike.WRITERS), (changes, differences.WRITERS)):
        if path is not None:
            mappings.writer_for(path, writers)
            check_new_file(path, overwrite=overwrite)
    about = About(
        set_id, title, licence or UNSPECIFIED, date=date.date() if date else None, predicate=predicate,
        with_unmapped=with_unmapped, source_namespace=source_namespace, target_namespace=target_namespace,
        all_columns=all_columns,
    )  # fmt: skip
    asked = {"voters": voters, "shared-targets": shared_targets, MULTIPLE_TARGETS: multiple_targets}
    chosen: dict[str, Any] = {"best_f1": best_f1, "precision": precision, "every": every}
    how = chosen | {"with_given": with_given or relations is not None or compare_with is not None}
    aligner = answering(run, asked, device)
    decided = _mapping(aligner, how, asked)
    mapping = decided.above(min_probability)
    if compare_with is not None:
        different = compared(compare_with, mapping, min_probability=min_probability, **chosen)
        typer.echo(f"{summary(different)}, compared with {visible(compare_with)}", err=True)
        if changes is not None:
            n = differences.write_changes(different if with_unchanged else without_unchanged(different), changes)
            typer.echo(f"{visible(changes)}: {n:,} rows", err=True)
    if relations is not None:
        found = relations_of(mapping, min_score)
        n = alike.write_relations(found, relations, _beside(about) if out is not None else about)
        typer.echo(f"{visible(relations)}: {n:,} pairs of relations, attribute predicates and classes", err=True)
    if out is not None:
        mapping = mapping if with_given else mapping.predicted()
        n = mappings.write_mapping(mapping, out, about)
        given = 0 if with_given else len(aligner.task_.train) + len(aligner.task_.valid)
        typer.echo(f"{visible(out)}: {n:,} mappings", err=True)
        typer.echo(decided.summary(), err=True)
        if promise := mapping.expected_quality():
            typer.echo(promise, err=True)
        if given:
            typer.echo(f"without the {given:,} given links: --with-given adds them", err=True)
        for doubt in decided.warnings():
            typer.echo(f"warning: {doubt}", err=True)
        if out.name.lower().endswith(BY_IRIS) and (plain := made_up(mapping, about)):
            typer.echo(visible(made_up_note(plain)), err=True)


def _mapping(aligner: StoredRun | MixTEA, how: dict[str, Any], asked: dict[str, Any]) -> Mapping:
    """The mapping as it is stored, or as it is asked for."""
    if isinstance(aligner, StoredRun):
        return aligner.map(**how)
    return aligner.map(**how, **arguments(asked))


def _beside(about: About) -> About:
    """The description of a second set: an identifier belongs to one only."""
    return replace(about, set_id=f"{about.set_id.rstrip('/')}/relations") if about.set_id else about
