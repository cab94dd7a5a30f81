"""mixtea fit"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from mixtea.cli import options
from mixtea.cli.tables import approximate_label, score_table
from mixtea.config import Config, parse_setting, read_settings
from mixtea.data.summary import doubts
from mixtea.data.task import Task, load_task
from mixtea.errors import ConfigError, MixTEAError, ProcessLostError, RunError
from mixtea.export.files import check_free

if TYPE_CHECKING:
    import pandas as pd

    from mixtea.aligner import MixTEA


def fit(
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
    preset: Annotated[str, typer.Option(help="best, paper (as published) or text (its letter).")] = "best",
    settings: Annotated[list[str], typer.Option("--set", metavar="FIELD=VALUE", help="Change a setting.")] = [],  # noqa: B006
    config: Annotated[Path | None, typer.Option(help="Settings from a TOML file, or a run's config.json.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything random (1).")] = None,
    device: options.Device = None,
    warm_start: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Begin with what this run of an earlier state of the graphs has learned."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run that is in --out.")] = False,
    tensorboard: Annotated[
        Path | None, typer.Option(help="Write each epoch there too; to look: tensorboard --logdir DIR", metavar="DIR")
    ] = None,
) -> None:
    """Learn from links and write a run folder.

    Examples:

    mixtea fit data/EN_DE_15K_V1 --fold 1 --out runs/en_de

    mixtea fit --source a.tsv --target b.tsv --links seeds.tsv --out runs/mine --set max_epochs=100

    mixtea fit --source a2.tsv --target b.tsv --links seeds.tsv --warm-start runs/mine --out runs/grown

    With --warm-start a third of the epochs is enough, and the default; changes.tsv in the run folder then says which
    earlier mappings changed, and why.
    """
    chosen = chosen_settings(preset, config, settings, seed, device)
    check_free(out, overwrite=overwrite)
    if tensorboard and tensorboard.resolve().is_relative_to(out.resolve()):
        raise ConfigError(f"{tensorboard}: inside the run folder {out}, which is written whole. Name another.")
    own: dict[str, Any] = dict(
        source=source, target=target, links=links, valid_links=valid_links, test_links=test_links
    )
    kept = options.reading(keep_types, keep_predicates, drop_predicates, namespaces, language)
    read = load_task(task, fold, **own, one_to_many=one_to_many, seed=chosen.get("seed", 1), reading=kept)
    train_and_save(read, preset, chosen, out, overwrite=overwrite, tensorboard=tensorboard, warm_start=warm_start)


def chosen_settings(
    preset: str, toml: Path | None, assignments: list[str], seed: int | None, device: str | None
) -> dict[str, Any]:
    """Settings from the file, then --set, then --seed and --device; checked before any other file is read."""
    chosen = read_settings(toml) if toml else {}
    chosen |= dict(parse_setting(text) for text in assignments)
    chosen |= {name: value for name, value in (("seed", seed), ("device", device)) if value is not None}
    Config.preset(preset, **chosen)
    return chosen


def warm_settings(preset: str, chosen: dict[str, Any]) -> dict[str, Any]:
    """For a warm start: a third of the epochs, and votes that count from the first one on, unless chosen otherwise."""
    third = -(-Config.preset(preset, **chosen).max_epochs // 3)
    return {"max_epochs": third, "ramp_up_epochs": 0} | chosen


def train_and_save(
    task: Task,
    preset: str,
    settings: dict[str, Any],
    out: Path,
    *,
    overwrite: bool,
    tensorboard: Path | None = None,
    warm_start: Path | None = None,
) -> MixTEA:
    """Train with live progress, score the test links if there are any, and write the run folder."""
    from mixtea import processes
    from mixtea.aligner import MixTEA, choose_device, describe_device
    from mixtea.cli.progress import TrainingProgress
    from mixtea.measure.tensorboard import TensorBoard

    console = Console(stderr=True, quiet=not processes.is_first())
    console.print(f"{task!r}", highlight=False, markup=False)
    old = MixTEA.load(warm_start, device=settings.get("device")) if warm_start else None
    aligner = MixTEA(preset=preset, **(warm_settings(preset, settings) if old else settings))
    place = describe_device(choose_device(aligner.config.device))
    console.print(f"training on {place}, preset {preset}, seed {aligner.config.seed}", highlight=False)
    if aligner.config.approximations():
        console.print(f"approximate: {approximate_label(aligner.config)}", highlight=False)
    for doubt in doubts(task):
        console.print(f"warning: {doubt}", highlight=False, markup=False)
    progress = TrainingProgress(aligner.config.max_epochs, console)
    try:
        with progress, TensorBoard(tensorboard) as board:

            def on_epoch(record: dict[str, Any]) -> None:
                progress(record)
                board(record)

            aligner.fit(task, on_epoch=on_epoch, on_round=progress.round, warm_start=old)
    except KeyboardInterrupt:
        console.print(f"interrupted after epoch {progress.epoch}; nothing was written", highlight=False)
        raise
    except ProcessLostError:
        save_after_loss(aligner, out, overwrite=overwrite)
        raise
    console.print(
        f"{aligner.n_epochs_} epochs in {aligner.seconds_:.1f} s; stopped: {aligner.stopped_because_}", highlight=False
    )
    if not processes.is_first():
        return aligner
    if len(task.test):
        try:
            aligner.metrics_ = aligner.score(task.test)
        except MixTEAError as error:  # what was learned is worth more than its score
            console.print(f"warning: the test links could not be scored: {error}", highlight=False, markup=False)
    changed = _changes(old, aligner, console) if old is not None else None
    with_report = _save(aligner, out, overwrite, changed, console)
    if aligner.metrics_:
        Console().print(score_table(aligner.metrics_, len(task.test), "Test links", aligner.config))
    said = f"run folder: {out}" + (f" (open {out / 'report.html'})" if with_report else "")
    console.print(said, highlight=False, markup=False, soft_wrap=True)
    return aligner


def _changes(old: MixTEA, new: MixTEA, console: Console) -> pd.DataFrame | None:
    """What became of the earlier run's mappings; said in short."""
    from mixtea.changes import WHY, changes

    try:
        changed = changes(old, new)
    except Exception as error:  # what was learned is worth more than a comparison
        console.print(f"warning: the earlier mappings could not be compared: {error!r}", highlight=False, markup=False)
        return None
    console.print(f"{len(changed):,} earlier mappings changed", highlight=False)
    for reason, n in changed["why"].value_counts().items():
        console.print(f"  {n:,}: {WHY[reason]}", highlight=False)
    return changed


def _save(aligner: MixTEA, out: Path, overwrite: bool, changed: pd.DataFrame | None, console: Console) -> bool:
    """Write the run with its report; without one if it cannot be made, for what was learned is worth more."""
    try:
        aligner.save(out, overwrite=overwrite, report=True, changes=changed)
    except RunError:  # of the folder, which would not take a run without a report either
        raise
    except Exception as error:
        console.print(f"warning: the report could not be made: {error!r}", highlight=False, markup=False)
        aligner.save(out, overwrite=overwrite, changes=changed)
        return False
    return True


def save_after_loss(aligner: MixTEA, out: Path, *, overwrite: bool) -> None:
    """Each process that is left waits for those before it; the first of them writes what was learned so far."""
    from mixtea import processes

    started = time.time()
    time.sleep(2 * processes.launched_as())
    manifest = out / "run.json"
    written = manifest.exists() and manifest.stat().st_mtime >= started
    if getattr(aligner, "n_epochs_", 0) and not written:
        aligner.save(out, overwrite=overwrite)
