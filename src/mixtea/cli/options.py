"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mixtea.io.filter import GraphFilter
from mixtea.io.safe.limits import Limits, parse_limits

TaskFolder = Annotated[
    Path | None, typer.Argument(metavar="TASK", help="A benchmark folder in OpenEA's layout.", show_default=False)
]
Source = Annotated[
    list[Path] | None,
    typer.Option(
        help="Your source graph; repeat it for several files: .tsv .csv .xlsx .parquet .jsonl .nt .ttl .rdf .owl .nq "
        ".trig .jsonld .obo, plain or with .gz or .zst; with another ending by its content. people.xlsx#Sheet names a "
        "sheet, sqlite:FILE#table a table of a database."
    ),
]
Target = Annotated[list[Path] | None, typer.Option(help="Your target graph, likewise.")]
Links = Annotated[
    list[Path] | None,
    typer.Option(
        help="Known links, of which 20 % are for validation; repeat it for several files: .tsv .csv .xlsx .parquet "
        ".sssom.tsv, an alignment, or RDF (owl:sameAs ...), which may be a graph's own file."
    ),
]
SourceQuery = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SELECT", help="What to read of a database (--source sqlite:FILE): one SELECT; else its only table."
    ),
]
TargetQuery = Annotated[list[str] | None, typer.Option(metavar="SELECT", help="Likewise, of --target sqlite:FILE.")]
LinksQuery = Annotated[list[str] | None, typer.Option(metavar="SELECT", help="Likewise, of --links sqlite:FILE.")]
ValidLinks = Annotated[
    list[Path] | None, typer.Option(help="Links for validation; then all of --links train. Repeatable.")
]
TestLinks = Annotated[list[Path] | None, typer.Option(help="Links for scoring alone, never for training. Repeatable.")]
NamesSource = Annotated[
    list[Path] | None,
    typer.Option(help="More names of source entities: a table of ids and names (.tsv .csv .parquet). Repeatable."),
]
NamesTarget = Annotated[list[Path] | None, typer.Option(help="More names of target entities, likewise.")]
Translations = Annotated[
    list[Path] | None,
    typer.Option(help="Names of source entities in the target's language: a table of ids and names. Repeatable."),
]
Dictionary = Annotated[
    list[Path] | None,
    typer.Option(
        help="Words of the source's language and their translations, by which names are translated. Repeatable."
    ),
]
Synonyms = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Words or names that mean the same, of either side: a group per line, separated by tabs. Repeatable.",
    ),
]
NameColumn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="The column or predicate with the names, of either graph; repeatable (else detected)."
    ),
]
SourceNameColumn = Annotated[list[str] | None, typer.Option(metavar="NAME", help="The same, of the source alone.")]
TargetNameColumn = Annotated[list[str] | None, typer.Option(metavar="NAME", help="The same, of the target alone.")]
Columns = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help='A TOML file of what columns are: price = "ignore", sku = {key = true}, [source] title = "name".',
    ),
]
NoAttributes = Annotated[
    bool, typer.Option("--no-attributes", help="Leave literal values out; labels among them stay.")
]
LinksFrom = Annotated[
    str,
    typer.Option(
        metavar="given|names|ids",
        help="names: read no links to learn from; names and values find the first. ids: entities with the same id on "
        "both sides are links.",
    ),
]
Fold = Annotated[int | None, typer.Option(help="Which fold of the benchmark folder (1 if it has folds).")]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Links with an end outside their graph and mistakes in RDF are errors, and not left out."
    ),
]
TextList = list[str] | None
KeepTypes = Annotated[TextList, typer.Option(metavar="IRI", help="Keep entities of this rdf:type only; repeatable.")]
Entities = Annotated[
    str | None,
    typer.Option(metavar="classes,properties,individuals", help="Keep entities of these kinds only (else all)."),
]
KeepPredicates = Annotated[
    TextList, typer.Option(metavar="IRI", help="Keep triples with this predicate only; repeatable.")
]
DropPredicates = Annotated[TextList, typer.Option(metavar="IRI", help="Drop triples of this predicate; repeatable.")]
Literals = Annotated[
    TextList, typer.Option(metavar="NAME", help="Objects of this predicate are values, not entities; repeatable.")
]
KeepObsolete = Annotated[bool, typer.Option("--keep-obsolete", help="Keep entities that the files call obsolete.")]
Namespaces = Annotated[TextList, typer.Option(metavar="IRI", help="Keep entities that start so only; repeatable.")]
Language = Annotated[
    TextList, typer.Option(metavar="TAG", help="Language of the labels shown, best first; repeatable (en, then none).")
]
Limit = Annotated[
    TextList,
    typer.Option(
        metavar="NAME=VALUE",
        help="Raise or lower limits for input files: max_gib=100, max_token_mib=1 ...; repeatable.",
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(metavar="SIGN|tab", help="Column separator of all text tables: --separator '#' (else detected)."),
]
VectorsSource = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Vectors of your own for source entities (.parquet, .safetensors), a voter."),
]
VectorsTarget = Annotated[Path | None, typer.Option(metavar="FILE", help="Those for target entities.")]
TextModel = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER|PACKAGE",
        help="Make such vectors of labels and descriptions by a model instead: its folder, or an installed "
        "package that has one.",
    ),
]
Preset = Annotated[
    str, typer.Option(help="best, long (more epochs), paper (as published) or text (the letter of its text).")
]
Seed = Annotated[int | None, typer.Option(help="Random seed (1).")]
TrainingVoters = Annotated[
    str | None, typer.Option(metavar="NAME,NAME,...", help="Voters to use (same as --set voters=NAME,NAME,...).")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder that `mixtea fit` has written.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda or cuda:N.")]
Decoder = Annotated[str | None, typer.Option(help="nearest, csls, sinkhorn or one_to_one; else the run's own.")]
Voters = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,NAME,...",
        help="Decode the scores of these voters (forward,backward is the student); else the run's own.",
    ),
]
BestF1 = Annotated[
    bool,
    typer.Option("--best-f1", help="Map pairs below a probability of .5 too, as long as they raise the expected F1."),
]
Precision = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Map as many pairs as have this precision in expectation, such as .95."),
]
Every = Annotated[
    bool, typer.Option("--every", help="Map every source while targets remain; improbable mappings are marked.")
]
SharedTargets = Annotated[bool, typer.Option("--shared-targets", help="Let several sources have the same target.")]
MultipleTargets = Annotated[
    bool | None,
    typer.Option(
        "--multiple-targets/--one-target",
        help="Let a source have several targets, each further one above a probability of .5; the default if training "
        "links do.",
    ),
]
SourceNamespace = Annotated[
    str,
    typer.Option(
        metavar="[PREFIX=]URL", help="Namespace for source ids that are not IRIs: URL and the id (SSSOM, RDF)."
    ),
]
TargetNamespace = Annotated[str, typer.Option(metavar="[PREFIX=]URL", help="The same for target ids.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def graph_filter(
    keep_types: TextList, keep_predicates: TextList, drop_predicates: TextList, namespaces: TextList,
    languages: TextList, entities: str | None, literals: TextList, keep_obsolete: bool,
) -> GraphFilter:  # fmt: skip
    """Combine the options that keep a part of the graphs."""
    return GraphFilter(
        tuple(keep_types or ()),
        tuple(keep_predicates or ()),
        tuple(drop_predicates or ()),
        tuple(namespaces or ()),
        tuple(languages or GraphFilter().languages),
        (entities,) if entities else (),
        tuple(literals or ()),
        keep_obsolete,
    )


def limits(given: TextList) -> Limits | None:
    """Parse --limit; None without any."""
    return parse_limits(given) if given else None
