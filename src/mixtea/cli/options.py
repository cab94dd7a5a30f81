"""Arguments and options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from mixtea.callbacks import active_callbacks
from mixtea.cli.console import TextLines
from mixtea.graph.task import Task
from mixtea.io.filter import GraphFilter
from mixtea.io.load import load_task
from mixtea.io.safe.limits import Limits, parse_limits

Paths = list[Path] | None
Words = list[str] | None
option = typer.Option
Limit = Annotated[
    Words,
    option(
        metavar="NAME=VALUE",
        help="Raise or lower limits for input files: max_gib=100, max_token_mib=1 ...; repeatable.",
    ),
]
Separator = Annotated[
    str | None, option(metavar="SIGN|tab", help="Column separator of all text tables: --separator '#' (else detected).")
]
Preset = Annotated[str, option(help="best, long (more epochs), paper (as published) or text (the letter of its text).")]
Seed = Annotated[int | None, option(help="Random seed (1).")]
TrainingVoters = Annotated[
    str | None, option(metavar="NAME,NAME,...", help="Voters to use (same as --set voters=NAME,NAME,...).")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder that `mixtea fit` has written.")]
Device = Annotated[str | None, option(help="auto, cpu, cuda or cuda:N.")]
Decoder = Annotated[str | None, option(help="nearest, csls, sinkhorn or one_to_one; else the run's own.")]
Voters = Annotated[
    str | None,
    option(
        metavar="NAME,NAME,...",
        help="Decode the scores of these voters (forward,backward is the student); else the run's own.",
    ),
]
BestF1 = Annotated[
    bool, option("--best-f1", help="Map pairs below a probability of .5 too, as long as they raise the expected F1.")
]
Precision = Annotated[
    float | None, option(min=0, max=1, help="Map as many pairs as have this precision in expectation, such as .95.")
]
Every = Annotated[
    bool, option("--every", help="Map every source while targets remain; improbable mappings are marked.")
]
SharedTargets = Annotated[bool, option("--shared-targets", help="Let several sources have the same target.")]
MultipleTargets = Annotated[
    bool | None,
    option(
        "--multiple-targets/--one-target",
        help="Let a source have several targets, each further one above a probability of .5; the default if training "
        "links do.",
    ),
]
SourceNamespace = Annotated[
    str, option(metavar="[PREFIX=]URL", help="Namespace for source ids that are not IRIs: URL and the id (SSSOM, RDF).")
]
TargetNamespace = Annotated[str, option(metavar="[PREFIX=]URL", help="The same for target ids.")]
Overwrite = Annotated[bool, option("--overwrite", help="Replace existing files.")]
AsJson = Annotated[bool, option("--json", help="Print JSON and nothing else.")]


def limits(given: Words) -> Limits | None:
    """Parse --limit; None without any."""
    return parse_limits(given) if given else None


@dataclass(frozen=True)
class TaskOptions:
    """One field per option, of the same name. A verb gets them by `reads_task`."""

    task: Annotated[
        Path | None, typer.Argument(metavar="TASK", help="A benchmark folder in OpenEA's layout.", show_default=False)
    ] = None
    fold: Annotated[int | None, option(help="Which fold of the benchmark folder (1 if it has folds).")] = None
    source: Annotated[
        Paths,
        option(
            help="Your source graph; repeat it for several files: .tsv .csv .xlsx .parquet .jsonl .nt .ttl .rdf .owl "
            ".nq .trig .jsonld .obo, plain or with .gz or .zst; with another ending by its content. people.xlsx#Sheet "
            "names a sheet, sqlite:FILE#table a table of a database."
        ),
    ] = None
    target: Annotated[Paths, option(help="Your target graph, likewise.")] = None
    links: Annotated[
        Paths,
        option(
            help="Known links, of which 20 % are for validation; repeat it for several files: .tsv .csv .xlsx .parquet "
            ".sssom.tsv, an alignment, or RDF (owl:sameAs ...), which may be a graph's own file."
        ),
    ] = None
    source_query: Annotated[
        Words,
        option(
            metavar="SELECT", help="What to read of a database (--source sqlite:FILE): one SELECT; else its only table."
        ),
    ] = None
    target_query: Annotated[Words, option(metavar="SELECT", help="Likewise, of --target sqlite:FILE.")] = None
    links_query: Annotated[Words, option(metavar="SELECT", help="Likewise, of --links sqlite:FILE.")] = None
    valid_links: Annotated[Paths, option(help="Links for validation; then all of --links train. Repeatable.")] = None
    test_links: Annotated[Paths, option(help="Links for scoring alone, never for training. Repeatable.")] = None
    links_from: Annotated[
        str,
        option(
            metavar="given|names|ids",
            help="names: read no links to learn from; names and values find the first. ids: entities with the same id "
            "on both sides are links.",
        ),
    ] = "given"
    names_source: Annotated[
        Paths, option(help="More names of source entities: a table of ids and names (.tsv .csv .parquet). Repeatable.")
    ] = None
    names_target: Annotated[Paths, option(help="More names of target entities, likewise.")] = None
    translations: Annotated[
        Paths, option(help="Names of source entities in the target's language: a table of ids and names. Repeatable.")
    ] = None
    dictionary: Annotated[
        Paths,
        option(
            help="Words of the source's language and their translations, by which names are translated. Repeatable."
        ),
    ] = None
    synonyms: Annotated[
        Paths,
        option(
            metavar="FILE",
            help="Words or names that mean the same, of either side: a group per line, separated by tabs. Repeatable.",
        ),
    ] = None
    name_column: Annotated[
        Words,
        option(
            metavar="NAME", help="The column or predicate with the names, of either graph; repeatable (else detected)."
        ),
    ] = None
    source_name_column: Annotated[Words, option(metavar="NAME", help="The same, of the source alone.")] = None
    target_name_column: Annotated[Words, option(metavar="NAME", help="The same, of the target alone.")] = None
    columns: Annotated[
        Path | None,
        option(
            metavar="FILE",
            help='A TOML file of what columns are: price = "ignore", sku = {key = true}, [source] title = "name".',
        ),
    ] = None
    no_attributes: Annotated[
        bool, option("--no-attributes", help="Leave literal values out; labels among them stay.")
    ] = False
    strict: Annotated[
        bool,
        option(
            "--strict", help="Links with an end outside their graph and mistakes in RDF are errors, and not left out."
        ),
    ] = False
    entities: Annotated[
        str | None,
        option(metavar="classes,properties,individuals", help="Keep entities of these kinds only (else all)."),
    ] = None
    keep_types: Annotated[Words, option(metavar="IRI", help="Keep entities of this rdf:type only; repeatable.")] = None
    keep_predicates: Annotated[
        Words, option(metavar="IRI", help="Keep triples with this predicate only; repeatable.")
    ] = None
    drop_predicates: Annotated[Words, option(metavar="IRI", help="Drop triples of this predicate; repeatable.")] = None
    literals: Annotated[
        Words, option(metavar="NAME", help="Objects of this predicate are values, not entities; repeatable.")
    ] = None
    keep_obsolete: Annotated[bool, option("--keep-obsolete", help="Keep entities that the files call obsolete.")] = (
        False
    )
    namespaces: Annotated[Words, option(metavar="IRI", help="Keep entities that start so only; repeatable.")] = None
    language: Annotated[
        Words, option(metavar="TAG", help="Language of the labels shown, best first; repeatable (en, then none).")
    ] = None
    limit: Limit = None
    separator: Separator = None
    vectors_source: Annotated[
        Path | None,
        option(metavar="FILE", help="Vectors of your own for source entities (.parquet, .safetensors), a voter."),
    ] = None
    vectors_target: Annotated[Path | None, option(metavar="FILE", help="Those for target entities.")] = None
    text_model: Annotated[
        str | None,
        option(
            metavar="FOLDER|PACKAGE",
            help="Make such vectors of labels and descriptions by a model instead: its folder, or an installed "
            "package that has one.",
        ),
    ] = None

    def load(self, seed: int = 1) -> Task:
        given: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        kept = ("keep_types", "keep_predicates", "drop_predicates", "namespaces", "literals")
        entities = given.pop("entities")
        graph_filter = GraphFilter(
            **{name: tuple(given.pop(name) or ()) for name in kept},
            languages=tuple(given.pop("language") or GraphFilter().languages),
            entities=(entities,) if entities else (),
            keep_obsolete=given.pop("keep_obsolete"),
        )
        return load_task(
            given.pop("task"),
            graph_filter=graph_filter,
            limits=limits(given.pop("limit")),
            attributes=not given.pop("no_attributes"),
            seed=seed,
            callbacks=active_callbacks() or TextLines(),
            **given,
        )

    @property
    def names_files(self) -> bool:
        """Return whether they name the files of a task."""
        return any((self.task, self.source, self.target, self.links, self.valid_links, self.test_links))

    def words(self) -> list[str]:
        """Return those that differ from the defaults, as written on a command line."""
        changed = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != one.default}
        found = [str(changed.pop("task"))] if self.task else []
        for name, value in changed.items():
            for one in value if isinstance(value, list) else [value]:
                found += [f"--{name.replace('_', '-')}", *([] if one is True else [str(one)])]
        return found


def reads_task(verb: Callable[..., None]) -> Callable[..., None]:
    """Replace a verb's parameter `read` by all these options, and pass them in it."""
    shared = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in _parameters(TaskOptions)]
    own = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in _parameters(verb)]
    place = [one.name for one in own].index("read")
    own[place : place + 1] = shared

    @wraps(verb)
    def called(**given: Any) -> None:
        verb(read=TaskOptions(**{one.name: given.pop(one.name) for one in shared}), **given)

    called.__signature__ = Signature(own)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in own}
    return called


def _parameters(of: Callable[..., Any]) -> list[Parameter]:
    return list(signature(of, eval_str=True).parameters.values())
