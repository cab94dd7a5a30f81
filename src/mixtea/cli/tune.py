"""mixtea tune"""

from __future__ import annotations

import logging
import shlex
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from mixtea.cli import options
from mixtea.cli.console import print_line
from mixtea.cli.fit import chosen_settings
from mixtea.cli.tables import cell_text
from mixtea.cli.task_options import TaskOptions, reads_task
from mixtea.config import Config
from mixtea.errors import TrainingError
from mixtea.experiments.tune.ranges import parse_ranges
from mixtea.experiments.tune.study import Study, StudyCallback, Trial
from mixtea.io.checks import task_warnings
from mixtea.messages import visible

RANGES = (
    "Search space: FIELD=a,b,c (choices) or FIELD=low..high (numbers; on a log scale if both are above 0 and high is "
    "at least 10 times low). Repeat it for more fields. By default what the paper searched: n_layers, entity_dim, "
    "margin, n_negatives and momentum."
)


@reads_task
def tune(
    out: Annotated[Path, typer.Option(help="The folder of the search; an existing one is resumed.")],
    read: TaskOptions,
    ranges: Annotated[list[str], typer.Option("--range", metavar="FIELD=...", help=RANGES)] = [],  # noqa: B006
    trials: Annotated[int, typer.Option(min=1, help="Trials in all, earlier ones included.")] = 20,
    preset: options.Preset = "best",
    settings: Annotated[list[str], typer.Option("--set", metavar="FIELD=VALUE", help="Fix a setting.")] = [],  # noqa: B006
    voters: options.TrainingVoters = None,
    seed: options.Seed = None,
    device: options.Device = None,
) -> None:
    """Search the settings with the best validation score, and print how to train with them.

    Each trial is a training, its value its best validation Hit@1; trials behind half of the others are pruned.

    Test links are not used. The same command resumes after an interruption, or with more --trials.

    Examples:

    mixtea tune data/EN_DE_15K_V1 --fold 1 --preset paper --out runs/tune_en_de

    mixtea tune --source a.tsv --target b.tsv --links seeds.tsv --out runs/tune --range learning_rate=0.0005..0.05
    """
    chosen = chosen_settings(None, settings, seed, device, voters)
    Config.preset(preset, **chosen)  # which refuses wrong ones
    tried = parse_ranges(ranges, preset, chosen)
    task = read.load(chosen.get("seed", 1))
    study = Study(task, out, tried, preset, chosen)
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    print_line(console, f"{study.task!r}")
    print_line(console, f"preset {preset}; trying {'; '.join(map(str, tried))}")
    print_line(console, f"{len(study.trials)} trials are there, {trials} wanted in all; test links are not used")
    for doubt in task_warnings(task):
        print_line(console, f"warning: {doubt}")
    with TuneProgress(study, trials, console) as progress:
        study.run(trials, progress)
    if study.best is None:
        raise TrainingError(f"{out}: no trial came to its end. The last one: {study.trials[-1].note}")
    show(study)
    more = {"preset": preset, "config": out / "best.toml", "out": out / "best", "device": device}
    words = ["mixtea", "fit", *read.words()]
    words += [word for name, value in more.items() if value is not None for word in (f"--{name}", str(value))]
    words += ["--overwrite"] * (out / "best").exists()
    typer.echo(f"To train with the best settings:\n{visible(shlex.join(words))}")


def show(study: Study) -> None:
    """Show the best five trials and, if known, the importance of the fields."""
    states = [trial.state for trial in study.trials]
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("complete", "pruned", "failed"))
    table = Table(title=f"The best of {len(states)} trials ({counts})", title_justify="left")
    for heading in ("trial", "Hit@1", *(one.field for one in study.ranges), "epochs", "seconds"):
        table.add_column(heading, justify="right")
    for trial in study.ranking()[:5]:
        tried = (cell_text(_shown(trial.settings[one.field])) for one in study.ranges)
        table.add_row(f"{trial.number}", f"{trial.value:.3f}", *tried, f"{trial.epochs}", f"{trial.seconds:.1f}")
    Console().print(table)
    importance = study.importance()
    if importance:
        table = Table("field", "share", title="Importance, roughly", title_justify="left")
        for name, share in importance.items():
            table.add_row(name, f"{share:.0%}")
        Console().print(table)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class TuneProgress(StudyCallback):
    """Progress of a search: a line when a trial begins and ends and, in a terminal, a live bar. Use as a context."""

    def __init__(self, study: Study, n_trials: int, console: Console) -> None:
        self.study, self.n_trials, self.console = study, n_trials, console
        self.said, self.last_score = set[str](), ""
        self.progress = Progress(
            TextColumn("trials"), MofNCompleteColumn(), BarColumn(bar_width=20), TextColumn("{task.description}"),
            TimeElapsedColumn(), console=console, disable=not console.is_terminal,
        )  # fmt: skip
        self.bar = self.progress.add_task("", total=n_trials, completed=len(study.trials))

    def __enter__(self) -> TuneProgress:
        logging.getLogger("mixtea.training.trainer").addFilter(self.once)
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger("mixtea.training.trainer").removeFilter(self.once)
        self.progress.stop()
        if kind is KeyboardInterrupt:
            n = len(self.study.trials)
            print_line(
                self.console, f"interrupted after {n} of {self.n_trials} trials; the same command goes on from there"
            )

    def once(self, record: logging.LogRecord) -> bool:
        """Show messages that every training repeats only once."""
        new = record.getMessage() not in self.said
        self.said.add(record.getMessage())
        return new

    def on_trial(self, number: int, settings: dict[str, Any]) -> None:
        tried = ", ".join(f"{name}={_shown(value)}" for name, value in settings.items())
        print_line(self.console, f"trial {number} of {self.n_trials}: {tried}")
        self.last_score = ""
        self.progress.update(self.bar, description="")

    def on_epoch(self, record: dict[str, Any]) -> None:
        if "valid_hits@1" in record:
            self.last_score = f"  valid Hit@1 {record['valid_hits@1']:.3f}"
        self.progress.update(self.bar, description=f"epoch {record['epoch']}{self.last_score}")

    def on_trial_end(self, trial: Trial) -> None:
        found = f"Hit@1 {trial.value:.3f}, {trial.state}" if trial.value is not None else "failed"
        said = f"  {found} after {trial.epochs} epochs and {trial.seconds:.1f} s"
        if trial.note:
            said = f"  {found}: {trial.note}"
        if self.study.best is not None:
            said += f"; best {self.study.best.value:.3f} (trial {self.study.best.number})"
        trained = [one.seconds for one in self.study.trials if one.epochs]
        if trained:
            left = sum(trained) / len(trained) * (self.n_trials - len(self.study.trials))
            said += f"; about {left:.0f} s left"
        print_line(self.console, said)
        self.progress.update(self.bar, completed=len(self.study.trials))
