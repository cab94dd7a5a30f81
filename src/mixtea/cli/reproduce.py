"""mixtea reproduce"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from mixtea.cli import options
from mixtea.cli.console import print_line
from mixtea.config import parse_setting
from mixtea.errors import MixTEAError, StoppedError, TrainingError
from mixtea.io.safe.limits import also_in_new_processes, current_limits
from mixtea.runs.signals import StopSignals

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
