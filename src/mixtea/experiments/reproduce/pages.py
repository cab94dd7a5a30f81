"""Write the results of `reproduce`: a page of all tables and figures, and each of them as a file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mixtea.errors import DataError
from mixtea.experiments.reproduce.experiments import EXPERIMENTS, Variant
from mixtea.experiments.reproduce.plan import Plan
from mixtea.experiments.reproduce.plots import AXES, draw
from mixtea.experiments.reproduce.tables import Measured, cost_frame, data_frame, data_markdown, frame, markdown
from mixtea.graph.task import Task
from mixtea.io.load import load_task
from mixtea.runs.atomic import atomic_file

PAGE = "results.md"


def write_pages(folder: Path, plan: Plan, rows: Mapping[str, Any]) -> Path:
    """Write the tables and figures of a plan from the rows so far, and the page of all results in the folder."""
    if "data" in plan.rows:
        write_data(folder, dict(_readable(plan)))
    for name, variants in plan.rows.items():
        if name != "data":
            write_experiment(folder, name, [_measured(row, plan, rows) for row in variants], list(plan.folders))
    return write_page(folder, rows)


def _readable(plan: Plan) -> Iterator[tuple[str, Task]]:
    """Yield the tasks whose files can be read; problems of others were reported by their runs."""
    for name, path in plan.folders.items():
        with contextlib.suppress(DataError):
            yield name, load_task(path, fold=plan.folds[name][0])


def _measured(variant: Variant, plan: Plan, rows: Mapping[str, Any]) -> Measured:
    runs = {task: [rows[j.key] for j in plan.jobs_of(variant, task) if j.key in rows] for task in plan.folders}
    return Measured(variant, runs)


def write_experiment(folder: Path, name: str, measured: Sequence[Measured], tasks: Sequence[str]) -> None:
    """Write NAME.md, NAME.csv and, for a figure, NAME.png."""
    text = markdown(name, measured, tasks)
    with atomic_file(folder / f"{name}.csv", follow=False) as path:
        frame(name, measured, tasks).to_csv(path, index=False)
    if name in AXES:
        text += f"\n\n![{EXPERIMENTS[name].title}]({name}.png)"
        with atomic_file(folder / f"{name}.png", follow=False) as path:
            draw(name, measured, tasks, path)
    _write(folder / f"{name}.md", text)


def write_data(folder: Path, tasks: Mapping[str, Task]) -> None:
    counts = data_frame(tasks)
    with atomic_file(folder / "data.csv", follow=False) as path:
        counts.to_csv(path, index=False)
    _write(folder / "data.md", data_markdown(counts))


def write_page(folder: Path, rows: Mapping[str, Any]) -> Path:
    """Write all tables so far in one page, and every run with its cost in runs.csv."""
    with atomic_file(folder / "runs.csv", follow=False) as path:
        cost_frame(list(rows.values())).to_csv(path, index=False)
    parts = [path.read_text(encoding="utf-8").strip() for n in EXPERIMENTS if (path := folder / f"{n}.md").is_file()]
    about = "Made by `mixtea reproduce`. Every run, its settings, seconds and memory: [runs.csv](runs.csv)."
    _write(folder / PAGE, "\n\n".join(["# Results", about, *parts]))
    return folder / PAGE


def _write(path: Path, text: str) -> None:
    with atomic_file(path, follow=False) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
