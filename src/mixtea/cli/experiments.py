"""mixtea reproduce, mixtea tune"""

from __future__ import annotations

import logging
import shlex
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from mixtea.cli import options
from mixtea.cli.console import print_line
from mixtea.cli.fit import chosen_settings
from mixtea.cli.options import TaskOptions, reads_task
from mixtea.cli.tables import cell_text, new_table
from mixtea.config import Config, parse_setting
from mixtea.errors import MixTEAError, StoppedError, TrainingError
from mixtea.experiments.tune import Study, StudyCallback, Trial, parse_ranges
from mixtea.io.checks import task_warnings
from mixtea.io.safe.limits import also_in_new_processes, current_limits
from mixtea.messages import visible
from mixtea.runs.checkpoints import StopSignals

if TYPE_CHECKING:
    from mixtea.experiments.reproduce.plan import Job, Plan
    from mixtea.experiments.reproduce.runner import Rows


PARTS = "data, main, ablation, strategies, curves, layers, momentum, seeds"


def reproduce(
    data: Annotated[Path, typer.Argument(help="A folder of benchmark folders in OpenEA's layout, or one of them.")],
    out: Annotated[Path, typer.Option(help="The folder for tables, figures and the record of all runs.")],
    tasks: Annotated[list[str], typer.Option(help="Only these tasks; may be repeated.")] = [],  # noqa: B006
    folds: Annotated[list[int], typer.Option(help="Only these folds; may be repeated.")] = [],  # noqa: B006
    only: Annotated[list[str], typer.Option(help=f"Only these parts: {PARTS}; may be repeated.")] = [],  # noqa: B006
    preset: Annotated[
        list[str], typer.Option(help="These presets; else paper, and best too for main and seeds. May be repeated.")
    ] = [],  # noqa: B006
    settings: Annotated[list[str], typer.Option("--set", metavar="FIELD=VALUE", help="Change a setting.")] = [],  # noqa: B006
    seed: Annotated[int | None, typer.Option(help="Random seed (1).")] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Trainings at a time; 0: four a GPU, one on a CPU.")] = 0,
    limit: options.Limit = None,
    device: options.Device = None,
) -> None:
    """Measure the paper's tables and figures again, beside what was published.

    Each training is kept as soon as it is done: the same command goes on where it was stopped, and a training that
    several tables need is done once. Tables and figures: results.md in --out, each also as .md, .csv and .png; runs.csv
    has every run with its settings, seed, version, seconds and memory.

    Examples:

    mixtea reproduce data --out results

    mixtea reproduce data --out results --tasks D_W_15K_V1 --folds 1 --folds 2 --only main --only ablation
    """
    from mixtea import __version__
    from mixtea.experiments.reproduce.pages import write_pages
    from mixtea.experiments.reproduce.plan import make_plan
    from mixtea.experiments.reproduce.runner import Rows

    chosen = dict(parse_setting(text) for text in settings) | ({} if seed is None else {"seed": seed})
    allowed = options.limits(limit) or current_limits()
    plan = make_plan(data, tasks, folds, only, preset, chosen)
    devices, n_workers = _places(device, jobs)
    console = Console(stderr=True)
    rows = Rows(out)
    for other in rows.of_other_versions(__version__):
        print_line(console, f"warning: some runs in {out} were made by mixtea {other}; they are kept")
    with also_in_new_processes(allowed):
        failed = _measure(plan, rows, devices, n_workers, console)
        page = write_pages(out, plan, rows.rows)
    rows.close()
    print_line(console, f"tables and figures: {page}")
    if failed:
        raise TrainingError(f"{failed} of the runs failed; the same command tries them again.")


def _places(device: str | None, jobs: int) -> tuple[list[str], int]:
    """Return the devices to use in turn, and the number of trainings at a time."""
    import torch

    from mixtea.compute.device import choose_device

    place = choose_device(device or "auto")
    if place.type == "cpu":
        return ["cpu"], jobs or 1
    all_of_them = device in (None, "auto", "cuda")
    devices = [f"cuda:{i}" for i in range(torch.cuda.device_count())] if all_of_them else [str(place)]
    return devices, jobs or 4 * len(devices)


def _measure(plan: Plan, rows: Rows, devices: list[str], n_workers: int, console: Console) -> int:
    """Do all runs that are not done yet, with progress and the time left; return how many failed."""
    from mixtea.experiments.reproduce.runner import run_jobs

    jobs = plan.jobs()
    n_before = sum(job.key in rows.rows for job in jobs)
    where = f"{n_workers} at a time on {', '.join(devices)}"
    print_line(console, f"{len(jobs)} runs, {n_before} of them done before; {where}")
    progress = RunsProgress(n_before, len(jobs), console)

    def stop() -> None:
        kept = f"{len(rows.rows.keys() & {job.key for job in jobs})} of {len(jobs)} runs are kept"
        raise StoppedError(f"interrupted; {kept} in {rows.path.parent}: the same command goes on", stopping.asked)

    with StopSignals(stop) as stopping, progress.bar:
        return len(run_jobs(jobs, plan.folders, rows, devices, n_workers, progress))


class RunsProgress:
    """Progress of runs: a line for each one that ends, with the time left, as a bar in a terminal."""

    def __init__(self, n_before: int, n: int, console: Console) -> None:
        self.n_before, self.n, self.console = n_before, n, console
        self.started, self.done = time.monotonic(), 0
        self.bar = Progress(
            TextColumn("run"), MofNCompleteColumn(), BarColumn(bar_width=20), TimeElapsedColumn(), TextColumn("about"),
            TimeRemainingColumn(), TextColumn("left"), console=console, disable=not console.is_terminal,
        )  # fmt: skip
        self.task = self.bar.add_task("", total=n - n_before)

    def __call__(self, job: Job, result: dict[str, Any] | MixTEAError) -> None:
        self.done += 1
        if isinstance(result, MixTEAError):
            said = f"{job}: failed: {result}"
        else:
            said = f"{job}: Hit@1 {result['scores']['student']['hits@1']:.3f} in {result['seconds']:.1f} s"
        if not self.console.is_terminal:
            left = (time.monotonic() - self.started) / self.done * (self.n - self.n_before - self.done)
            said = f"{self.n_before + self.done}/{self.n} {said}, about {left:.0f} s left"
        print_line(self.console, said)
        self.bar.update(self.task, completed=self.done)


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
    headings = ("trial", "Hit@1", *(one.field for one in study.ranges), "epochs", "seconds")
    table = new_table(f"The best of {len(states)} trials ({counts})", headings, right=headings)
    for trial in study.ranking()[:5]:
        tried = (cell_text(_shown(trial.settings[one.field])) for one in study.ranges)
        table.add_row(f"{trial.number}", f"{trial.value:.3f}", *tried, f"{trial.epochs}", f"{trial.seconds:.1f}")
    Console().print(table)
    importance = study.importance()
    if importance:
        table = new_table("Importance, roughly", ["field", "share"])
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
