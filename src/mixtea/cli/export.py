"""mixtea export"""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixtea.cli import options
from mixtea.cli.predict import load_run
from mixtea.decide.choose import Choice
from mixtea.export.formats import Content, format_of, listed, write_changes, write_mapping, write_relations
from mixtea.export.identifiers import ids_without_namespace, missing_namespace_note
from mixtea.export.metadata import UNSPECIFIED, MappingMetadata
from mixtea.messages import visible
from mixtea.relations.alignment import MIN_SCORE, relations_of
from mixtea.runs.atomic import check_new_file
from mixtea.runs.reader import StoredRun

if TYPE_CHECKING:
    pass


def export(
    run: options.RunFolder,
    out: Annotated[
        Path | None, typer.Option(help=f"The file for the mapping; its ending chooses the format: {listed('mapping')}.")
    ] = None,
    relations: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"A file for relations, attribute predicates and classes that are alike: {listed('relations')}.",
        ),
    ] = None,
    min_score: Annotated[float, typer.Option(min=0, max=1, help="Minimum score of relations.")] = MIN_SCORE,
    with_given: Annotated[bool, typer.Option("--with-given", help="Add the given links.")] = False,
    with_unmapped: Annotated[
        bool,
        typer.Option("--with-unmapped", help=f"Add sources without a counterpart ({listed('holds_unmapped')})."),
    ] = False,
    best_f1: options.BestF1 = False,
    precision: options.Precision = None,
    every: options.Every = False,
    shared_targets: options.SharedTargets = False,
    multiple_targets: options.MultipleTargets = None,
    min_probability: Annotated[float, typer.Option(min=0, max=1, help="Minimum probability of a mapping.")] = 0.0,
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
            help="Compare with an earlier run, or a mapping file in any format: new, gone, changed.",
        ),
    ] = None,
    changes: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"A {listed('changes')} file for these changes, one row each.")
    ] = None,
    with_unchanged: Annotated[bool, typer.Option("--with-unchanged", help="List unchanged rows there too.")] = False,
    voters: options.Voters = None,
    overwrite: options.Overwrite = False,
    device: options.Device = None,
) -> None:
    """Write the mapping in a standard format: one decision for every source entity without a given link.

    Every target is given once, to its most probable source. Pairs with a probability of at least .5 are mapped, or as
    set by --best-f1, --precision or --every. A .tsv has source, target and probability, and no header, like a link
    file; a .csv has source, target, probability and decision. RDF, SSSOM and alignments name entities by IRIs: other
    ids get one in the namespaces that you give.

    With --relations, instead or besides: which relations, attribute predicates and classes are equal, narrower,
    broader or inverse, by that mapping and the given links.

    Examples:

    mixtea export runs/en_de --out mapping.tsv --precision 0.95

    mixtea export runs/mine --out mapping.sssom.tsv --licence https://creativecommons.org/publicdomain/zero/1.0/

    mixtea export runs/shop --out mapping.sssom.tsv --source-namespace shop=https://shop.example/items/

    mixtea export runs/mine --relations relations.tsv --min-score 0.5

    mixtea export runs/new --compare-with runs/old --changes changes.tsv
    """
    from mixtea.report.compare import compare_mappings, count_changes, drop_unchanged

    if changes is not None and compare_with is None:
        raise typer.BadParameter("--changes needs an earlier run or a mapping file: --compare-with RUN|FILE.")
    if out is None and relations is None and compare_with is None:
        raise typer.BadParameter("Give a file: --out for the mapping, --relations for relations and classes.")
    named = [path for path in (out, relations, changes) if path is not None]
    if len(set(named)) < len(named):
        raise typer.BadParameter("--out, --relations and --changes name the same file. Give each its own.")
    files: tuple[tuple[Path | None, Content], ...]
    files = ((out, "mapping"), (relations, "relations"), (changes, "changes"))
    for path, content in files:
        if path is not None:
            format_of(path, content)
            check_new_file(path, overwrite=overwrite)
    metadata = MappingMetadata(
        set_id, title, licence or UNSPECIFIED, date=date.date() if date else None, predicate=predicate,
        with_unmapped=with_unmapped, source_namespace=source_namespace, target_namespace=target_namespace,
        all_columns=all_columns,
    )  # fmt: skip
    asked = {"voters": voters, "shared_targets": shared_targets, "multiple_targets": multiple_targets}
    chosen: dict[str, Any] = {"best_f1": best_f1, "precision": precision, "every": every}
    given_too = with_given or relations is not None or compare_with is not None
    aligner = load_run(run, asked, device)
    if isinstance(aligner, StoredRun):
        decided = aligner.answers_.mapping(Choice(**chosen), with_given=given_too)
    else:
        decided = aligner.map(**chosen, **asked, with_given=given_too)
    mapping = decided.above(min_probability)
    if compare_with is not None:
        different = compare_mappings(compare_with, mapping, min_probability=min_probability, **chosen)
        typer.echo(f"{count_changes(different)}, compared with {visible(compare_with)}", err=True)
        if changes is not None:
            n = write_changes(different if with_unchanged else drop_unchanged(different), changes)
            typer.echo(f"{visible(changes)}: {n:,} rows", err=True)
    if relations is not None:
        found = relations_of(mapping, min_score)
        beside = metadata  # of a second set, which has an identifier of its own
        if out is not None and set_id:
            beside = replace(metadata, set_id=f"{set_id.rstrip('/')}/relations")
        n = write_relations(found, relations, beside)
        typer.echo(f"{visible(relations)}: {n:,} pairs of relations, attribute predicates and classes", err=True)
    if out is not None:
        mapping = mapping if with_given else mapping.predicted()
        n = write_mapping(mapping, out, metadata)
        given = 0 if with_given else len(aligner.task_.train) + len(aligner.task_.valid)
        typer.echo(f"{visible(out)}: {n:,} mappings", err=True)
        typer.echo(decided.summary(), err=True)
        if promise := mapping.expected_quality():
            typer.echo(promise, err=True)
        if given:
            typer.echo(f"without the {given:,} given links: --with-given adds them", err=True)
        for doubt in decided.warnings():
            typer.echo(f"warning: {doubt}", err=True)
        if format_of(out, "mapping").uses_iris and (plain := ids_without_namespace(mapping, metadata)):
            typer.echo(visible(missing_namespace_note(plain)), err=True)
