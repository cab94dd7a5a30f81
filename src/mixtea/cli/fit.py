"""mixtea fit"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from mixtea.cli import options
from mixtea.cli.training import train_and_save
from mixtea.compute.torchrun import is_first
from mixtea.config import Config, parse_setting
from mixtea.data.formats.settings import read_settings
from mixtea.data.task import load_task
from mixtea.errors import ConfigError
from mixtea.runs.resume import begun, resumed
from mixtea.runs.unfinished import Start, Unfinished
from mixtea.text import visible

RESUMED = {  # options that go with --resume alone; of settings, those that it began with
    "out", "resume", "overwrite", "checkpoint_every", "tensorboard", "device", "seed", "settings", "config",
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
    one_to_many: options.OneToMany = False,
    keep_types: options.KeepTypes = None,
    keep_predicates: options.KeepPredicates = None,
    drop_predicates: options.DropPredicates = None,
    namespaces: options.Namespaces = None,
    language: options.Language = None,
    limit: options.Limit = None,
    preset: Annotated[str, typer.Option(help="best, paper (as published) or text (its letter).")] = "best",
    settings: Annotated[list[str], typer.Option("--set", metavar="FIELD=VALUE", help="Change a setting.")] = [],  # noqa: B006
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

    mixtea fit --resume --out runs/mine

    With --warm-start a third of the epochs is enough, and the default; changes.tsv in the run folder then says which
    earlier mappings changed, and why. Until it ends, a training keeps its state in RUN.unfinished; Ctrl-C saves it
    there too.
    """
    chosen = chosen_settings(config, settings, seed, device)
    if tensorboard and tensorboard.resolve().is_relative_to(out.resolve()):
        raise ConfigError(f"{tensorboard}: inside the run folder {out}, which is written whole. Name another.")
    own: dict[str, Any] = dict(
        source=source, target=target, links=links, valid_links=valid_links, test_links=test_links
    )
    wanted: dict[str, Any] = dict(
        one_to_many=one_to_many,
        seed=chosen.get("seed", 1),
        reading=options.reading(keep_types, keep_predicates, drop_predicates, namespaces, language),
        limits=options.limits(limit),
    )

    def read() -> Start:
        read_task = load_task(task, fold, **own, **wanted)
        if warm_start is None:
            return Start(read_task, preset, chosen)
        return Start(read_task, preset, warm_settings(preset, chosen), str(warm_start.resolve()))

    names_task = bool(task or any(own.values()))
    if resume and not names_task:
        check_only_resumed(context)
    else:
        Config.preset(preset, **chosen)  # which says what is wrong with them, before any file is read
    work = Unfinished(out)
    with work.held() if is_first() else nullcontext():
        if resume:
            start = resumed(work, read if names_task else None, chosen, overwrite)
        else:
            start = begun(work, read, overwrite)
        if start is None:
            typer.echo(f"{visible(out)}: finished already", err=True)
        else:
            train_and_save(start, work, overwrite=overwrite, every=checkpoint_every, tensorboard=tensorboard)


def check_only_resumed(context: typer.Context) -> None:
    """Refuse options that say what to train: a training that goes on knows that."""
    for name in context.params:
        given = context.get_parameter_source(name)
        if name not in RESUMED and given is not None and given.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{option}: a training goes on with what it began with. Leave it out.")


def chosen_settings(toml: Path | None, assignments: list[str], seed: int | None, device: str | None) -> dict[str, Any]:
    """Settings from the file, then --set, then --seed and --device."""
    chosen = read_settings(toml) if toml else {}
    chosen |= dict(parse_setting(text) for text in assignments)
    chosen |= {name: value for name, value in (("seed", seed), ("device", device)) if value is not None}
    return chosen


def warm_settings(preset: str, chosen: dict[str, Any]) -> dict[str, Any]:
    """For a warm start: a third of the epochs, and votes that count from the first one on, unless chosen otherwise."""
    third = -(-Config.preset(preset, **chosen).max_epochs // 3)
    return {"max_epochs": third, "ramp_up_epochs": 0} | chosen
