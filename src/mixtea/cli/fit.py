"""mixtea fit"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mixtea.cli import options
from mixtea.cli.saying import say_encoded
from mixtea.cli.training import Shown
from mixtea.config import parse_setting
from mixtea.data.formats.settings import read_settings
from mixtea.data.task import load_task
from mixtea.errors import ConfigError
from mixtea.train import train

RESUMED = {  # options that go with --resume alone; of settings, those that it began with
    "out", "resume", "overwrite", "checkpoint_every", "tensorboard", "device", "seed", "settings", "config", "voters",
}  # fmt: skip


def fit(
    context: typer.Context,
    task: options.TaskFolder = None,
    out: Annotated[Path, typer.Option(help="The run folder to write.")] = ...,  # type: ignore[assignment]
    fold: options.Fold = None,
    source: options.Source = None,
    target: options.Target = None,
    links: options.Links = None,
    valid_links: options.ValidLinks = None,
    test_links: options.TestLinks = None,
    links_from: options.LinksFrom = "given",
    names_source: options.NamesSource = None,
    names_target: options.NamesTarget = None,
    translations: options.Translations = None,
    dictionary: options.Dictionary = None,
    no_attributes: options.NoAttributes = False,
    one_to_many: options.OneToMany = False,
    keep_types: options.KeepTypes = None,
    keep_predicates: options.KeepPredicates = None,
    drop_predicates: options.DropPredicates = None,
    namespaces: options.Namespaces = None,
    language: options.Language = None,
    limit: options.Limit = None,
    vectors_source: options.VectorsSource = None,
    vectors_target: options.VectorsTarget = None,
    text_model: options.TextModel = None,
    preset: Annotated[str, typer.Option(help="best, paper (as published) or text (its letter).")] = "best",
    settings: Annotated[list[str], typer.Option("--set", metavar="FIELD=VALUE", help="Change a setting.")] = [],  # noqa: B006
    voters: Annotated[
        str | None, typer.Option(metavar="NAME,NAME,...", help="Who votes, the same as --set voters=NAME,NAME,...")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Settings from a TOML file, or a run's config.json.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything random (1).")] = None,
    device: options.Device = None,
    warm_start: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Begin with what this run of an earlier state of the graphs has learned."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run that is in --out, or begin an interrupted one anew.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the interrupted training of --out, to the same end.")
    ] = False,
    checkpoint_every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Save the state so often (0: after every epoch).")
    ] = 60.0,
    tensorboard: Annotated[
        Path | None, typer.Option(help="Write each epoch there too; to look: tensorboard --logdir DIR", metavar="DIR")
    ] = None,
) -> None:
    """Learn from links and write a run folder.

    Examples:

    mixtea fit data/EN_DE_15K_V1 --fold 1 --out runs/en_de

    mixtea fit --source a.tsv --target b.tsv --links seeds.tsv --out runs/mine --set max_epochs=100

    mixtea fit --source a2.tsv --target b.tsv --links seeds.tsv --warm-start runs/mine --out runs/grown

    mixtea fit --source a.tsv --target b.tsv --links-from names --names-source a_names.tsv --out runs/unlinked

    mixtea fit --resume --out runs/mine

    With --warm-start a third of the epochs is enough, and the default; changes.tsv in the run folder then says which
    earlier mappings changed, and why. Until it ends, a training keeps its state in RUN.unfinished; Ctrl-C saves it
    there too.
    """
    chosen = chosen_settings(config, settings, seed, device, voters)
    own: dict[str, Any] = dict(
        source=source, target=target, links=links, valid_links=valid_links, test_links=test_links
    )
    wanted: dict[str, Any] = dict(
        one_to_many=one_to_many,
        seed=chosen.get("seed", 1),
        reading=options.reading(keep_types, keep_predicates, drop_predicates, namespaces, language),
        limits=options.limits(limit),
        names_source=names_source,
        names_target=names_target,
        translations=translations,
        dictionary=dictionary,
        attributes=not no_attributes,
        links_from=links_from,
        vectors_source=vectors_source,
        vectors_target=vectors_target,
        text_model=text_model,
        on_texts=say_encoded,
    )
    goes_on = resume and not (task or any(own.values()))
    if goes_on:
        check_only_resumed(context)
    train(
        None if goes_on else lambda: load_task(task, fold, **own, **wanted),
        out,
        preset=None if goes_on else preset,
        resume=resume,
        overwrite=overwrite,
        warm_start=warm_start,
        checkpoint_every=checkpoint_every,
        tensorboard=tensorboard,
        watch=Shown(),
        **chosen,
    )


def check_only_resumed(context: typer.Context) -> None:
    """Refuse options that say what to train: a training that goes on knows that."""
    for name in context.params:
        given = context.get_parameter_source(name)
        if name not in RESUMED and given is not None and given.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{option}: a training goes on with what it began with. Leave it out.")


def chosen_settings(
    toml: Path | None, assignments: list[str], seed: int | None, device: str | None, voters: str | None = None
) -> dict[str, Any]:
    """Settings from the file, then --set and --voters, then --seed and --device."""
    chosen = read_settings(toml) if toml else {}
    changed = dict(parse_setting(text) for text in assignments)
    if voters is not None and "voters" in changed:
        raise ConfigError("Voters are named twice, by --voters and by --set voters=...: leave one of them out.")
    chosen |= changed | (dict([parse_setting(f"voters={voters}")]) if voters is not None else {})
    chosen |= {name: value for name, value in (("seed", seed), ("device", device)) if value is not None}
    return chosen
