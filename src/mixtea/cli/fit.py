"""mixtea fit, mixtea demo"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from mixtea.cli import options
from mixtea.cli.console import TrainingConsole
from mixtea.cli.options import TaskOptions, reads_task
from mixtea.cli.settings import read_settings
from mixtea.cli.tables import cell_text, new_table
from mixtea.compute.device import is_first
from mixtea.config import parse_setting
from mixtea.errors import ConfigError
from mixtea.example import load_example
from mixtea.graph.task import Task
from mixtea.messages import visible
from mixtea.pipeline import train
from mixtea.review.learning import merge_decision_file
from mixtea.update_run import EARLIER_RUNS_KEPT
from mixtea.update_run import update as make_again

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA


NOT_WITH_UPDATE = ("out", "resume", "overwrite", "warm_start", "learned", "checkpoint_every", "tensorboard")
ALLOWED_WITH_RESUME = {  # options that go with --resume alone; of settings, those that it began with
    "out", "resume", "overwrite", "checkpoint_every", "tensorboard", "device", "seed", "settings", "config", "voters",
}  # fmt: skip


@reads_task
def fit(
    context: typer.Context,
    read: TaskOptions,
    out: Annotated[Path | None, typer.Option(help="The run folder to write.")] = None,
    preset: options.Preset = "best",
    settings: Annotated[
        list[str], typer.Option("--set", metavar="FIELD=VALUE", help="Change a setting; see below.")
    ] = [],  # noqa: B006
    voters: options.TrainingVoters = None,
    config: Annotated[Path | None, typer.Option(help="Settings from a TOML file, or a run's config.json.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Answer by voters that need no training, and end there.")
    ] = False,
    seed: options.Seed = None,
    device: options.Device = None,
    warm_start: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Begin with what this run, of earlier graphs, has learned."),
    ] = None,
    learned: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="Apply the weights and the calibration that this run, of another task of the same kind, has learned.",
        ),
    ] = None,
    reviewed: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Decisions of people, as mixtea review exports them: accepted pairs are links, rejected ones never "
            "proposed.",
        ),
    ] = None,
    update: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="Update this run in place after changes of its files: if few entities have changed, only these are "
            "matched. The earlier run goes to RUN/history.",
        ),
    ] = None,
    keep: Annotated[
        int, typer.Option(min=0, help="With --update: how many earlier runs stay in RUN/history.")
    ] = EARLIER_RUNS_KEPT,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run in --out, or begin an interrupted one anew.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the interrupted training of --out, with the same result.")
    ] = False,
    checkpoint_every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Save the state so often (0: after every epoch).")
    ] = 60.0,
    tensorboard: Annotated[
        Path | None, typer.Option(help="Write each epoch there too; to look: tensorboard --logdir DIR", metavar="DIR")
    ] = None,
) -> None:
    """Train from links and write a run folder.

    Examples:

    mixtea fit data/EN_DE_15K_V1 --fold 1 --out runs/en_de

    mixtea fit --source a.tsv --target b.tsv --links seeds.tsv --out runs/mine --set max_epochs=100

    mixtea fit --source a.tsv --target b.tsv --links seeds.tsv --out runs/first --quick

    mixtea fit --source a2.tsv --target b.tsv --links seeds.tsv --warm-start runs/mine --out runs/grown

    mixtea fit --source c.tsv --target d.tsv --links-from names --learned runs/mine --out runs/alike

    mixtea fit --source a.tsv --target b.tsv --links-from names --names-source a_names.tsv --out runs/unlinked

    mixtea fit --source a.tsv --target b.tsv --links seeds.tsv --reviewed decisions.sssom.tsv --out runs/reviewed

    mixtea fit --update runs/mine --source a.tsv --target b.tsv --links seeds.tsv

    mixtea fit --resume --out runs/mine

    Voters that need no training answer first; then it trains until predictions stabilise. --preset long trains longer,
    for those who want the student's vectors. --warm-start begins with what an earlier run has learned, and costs what
    has changed; changes.tsv in the run folder then lists which earlier mappings changed, and why. Where a graph has no
    relation triples, as with two tables, nothing is trained: names and values decide. Until it ends, a training keeps
    its state in RUN.unfinished; Ctrl-C saves it there too.
    """
    chosen = chosen_settings(config, settings, seed, device, voters)
    if quick:
        if chosen.get("max_epochs"):
            raise ConfigError(f"--quick trains no epoch. Leave max_epochs={chosen['max_epochs']} out.")
        chosen["max_epochs"] = 0

    def task() -> Task:
        found = read.load(chosen.get("seed", 1))
        return found if reviewed is None else merge_decision_file(found, reviewed)

    if update is not None:
        check_only_updated(context, read)
        chosen_preset = preset if is_on_command_line(context, "preset") else None
        make_again(task, update, keep_earlier=keep, preset=chosen_preset, callbacks=TrainingConsole(), **chosen)
        return
    if out is None:
        raise ConfigError("Name the run folder to write: --out RUN, or --update RUN for one that is there.")
    if is_on_command_line(context, "keep"):
        raise ConfigError("--keep: earlier runs are kept by --update. Leave it out.")
    goes_on = resume and not read.names_files
    if goes_on:
        check_only_resumed(context)
    train(
        None if goes_on else task,
        out,
        preset=None if goes_on else preset,
        resume=resume,
        overwrite=overwrite,
        warm_start=warm_start,
        learned=learned,
        checkpoint_every=checkpoint_every,
        tensorboard=tensorboard,
        callbacks=TrainingConsole(),
        **chosen,
    )


def is_on_command_line(context: typer.Context, name: str) -> bool:
    """Return whether an option was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def check_only_updated(context: typer.Context, read: TaskOptions) -> None:
    """Refuse options about output and start, which --update sets itself; it needs the files alone."""
    for name in NOT_WITH_UPDATE:
        if is_on_command_line(context, name):
            option = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{option}: --update writes its run, and begins with what that has found. Leave it out.")
    if not read.names_files:
        raise ConfigError("--update: name the files as they are now, with the options that the run was made with.")


def check_only_resumed(context: typer.Context) -> None:
    """Refuse options about the training, which a resumed one keeps."""
    for name in context.params:
        if name not in ALLOWED_WITH_RESUME and is_on_command_line(context, name):
            option = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{option}: a training goes on with what it began with. Leave it out.")


def chosen_settings(
    toml: Path | None, assignments: list[str], seed: int | None, device: str | None, voters: str | None = None
) -> dict[str, Any]:
    """Return settings from the file, then --set and --voters, then --seed and --device."""
    chosen = read_settings(toml) if toml else {}
    changed = dict(parse_setting(text) for text in assignments)
    if voters is not None and "voters" in changed:
        raise ConfigError("Voters are named twice, by --voters and by --set voters=...: leave one of them out.")
    chosen |= changed | (dict([parse_setting(f"voters={voters}")]) if voters is not None else {})
    chosen |= {name: value for name, value in (("seed", seed), ("device", device)) if value is not None}
    return chosen


DEMO = Path("runs/demo")


def demo(
    out: Annotated[
        Path | None,
        typer.Option(help="The run folder to write; by default runs/demo, where an earlier demo is replaced."),
    ] = None,
    preset: options.Preset = "best",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run that is in --out.")] = False,
    device: options.Device = None,
) -> None:
    """Align the bundled example: the world by GeoNames (English) and by Unicode CLDR (French).

    Example: mixtea demo --out runs/demo
    """
    settings: dict[str, Any] = {"seed": seed} | ({"device": device} if device else {})
    place, overwrite = out or DEMO, overwrite or out is None
    aligner = train(load_example, place, preset=preset, overwrite=overwrite, callbacks=TrainingConsole(), **settings)
    if not is_first():
        return
    Console().print(examples(aligner, seed))
    run = visible(shlex.quote(str(place)))
    typer.echo(f"Next: mixtea predict {run} --out candidates.tsv    (or: mixtea export {run} --out mapping.tsv)")


def examples(aligner: MixTEA, seed: int, n: int = 10) -> Table:
    """Show ten random test links: the predicted target, among all targets, and whether it is right."""
    task, candidates = aligner.task_, aligner.predict(k=1)
    predicted = dict(zip(candidates.source_index.tolist(), range(len(candidates)), strict=True))
    headings = ("source", "predicted target", "probability", "right?")
    table = new_table("Ten mappings of test entities, drawn at random", headings, right=["probability"])
    drawn = np.random.default_rng(seed).choice(len(task.test), size=min(n, len(task.test)), replace=False)
    for source, truth in task.test[drawn].tolist():
        row = predicted[source]
        target = int(candidates.target_index[row, 0])
        verdict = "yes" if target == truth else f"no: {task.target.display(truth)}"
        names = (task.source.display(source), task.target.display(target))
        table.add_row(*map(cell_text, names), f"{candidates.probability[row, 0]:.2f}", cell_text(verdict))
    return table
