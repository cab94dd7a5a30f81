"""Write the results of `reproduce`: tables as Markdown and CSV, figures, and a page of all of them.

Seconds are kept apart, for reproducible tables. Figures are readable in grey and, with one task above the other, on a
narrow screen.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pandas as pd

from mixtea import messages as words
from mixtea.errors import DataError
from mixtea.experiments.reproduce import published
from mixtea.experiments.reproduce.plan import EXPERIMENTS, Plan, Variant
from mixtea.experiments.reproduce.published import METRICS
from mixtea.graph.task import Task
from mixtea.io.load import load_task
from mixtea.runs.atomic import atomic_file, atomic_text

DECODERS = {
    "student": "student",
    "sinkhorn": "Sinkhorn",
    "one_to_one": "one-to-one",
    "csls": "CSLS",
    "nearest": "nearest",
}


@dataclass(frozen=True)
class Measured:
    """A measured table row: the runs of each task."""

    variant: Variant
    runs: Mapping[str, Sequence[Mapping[str, Any]]]

    def values(self, task: str, metric: str, scored_by: str = "student") -> list[float]:
        runs = self.runs.get(task, ())
        return [run["scores"][scored_by][metric] for run in runs if scored_by in run["scores"]]

    def decoders(self) -> list[str]:
        return list(dict.fromkeys(name for runs in self.runs.values() for run in runs for name in run["scores"]))

    @property
    def label(self) -> str:
        share = None if self.variant.share is None else f"{self.variant.share:.0%}"
        return ", ".join(part for part in (self.variant.label, share) if part)


def frame(name: str, measured: Sequence[Measured], tasks: Sequence[str]) -> pd.DataFrame:
    """Return an experiment, one line per figure: measured ones with mean and standard deviation, then published."""
    if name == "curves":
        return _curve_frame(measured)
    lines: list[dict[str, Any]] = []
    for row in measured:
        for scored_by in row.decoders():
            for task in tasks:
                for metric in METRICS:
                    found = row.values(task, metric, scored_by)
                    if found:
                        lines.append(
                            {"row": row.label, "preset": row.variant.preset, "scored_by": scored_by, "task": task,
                             "metric": metric, "mean": mean(found), "std": stdev(found) if len(found) > 1 else None,
                             "runs": len(found)}
                        )  # fmt: skip
    rows = {"main": published.MAIN, "ablation": published.ABLATION}.get(name, {})
    lines += [
        {"row": label, "preset": "published", "task": task, "metric": metric, "mean": value}
        for label, by_task in rows.items() for task in tasks if task in by_task
        for metric, value in zip(METRICS, by_task[task], strict=True)
    ]  # fmt: skip
    return pd.DataFrame(lines)


def _curve_frame(measured: Sequence[Measured]) -> pd.DataFrame:
    return pd.DataFrame(
        {"row": row.label, "preset": row.variant.preset, "task": task, "fold": run["fold"], "epoch": epoch, "hit": hit}
        for row in measured for task, runs in row.runs.items() for run in runs for epoch, hit in run["curve"]
    )  # fmt: skip


def markdown(name: str, measured: Sequence[Measured], tasks: Sequence[str]) -> str:
    """Return the tables of an experiment: one per metric, or of Hit@1 alone where a figure shows the rest."""
    metrics = METRICS if name in ("main", "ablation", "strategies") else METRICS[:1]
    parts = [f"## {EXPERIMENTS[name].title}", EXPERIMENTS[name].about, _folds(measured)]
    for metric in metrics:
        heads = [words.METRICS[metric], *tasks]
        parts.append(table(heads, _lines(name, measured, tasks, metric)))
    if name == "main" and any(task in published.TASKS for task in tasks):
        sources = "; ".join(f"{', '.join(methods)} from {source}" for source, methods in published.SOURCES.items())
        parts.append(f"*Published* figures are from Xie et al. (2023), who have {sources}. KDCoE reads texts too.")
    return "\n\n".join(parts)


def _folds(measured: Sequence[Measured]) -> str:
    """Describe the runs behind a mean."""
    runs = [run for row in measured for of_task in row.runs.values() for run in of_task]
    folds = sorted({str(run["fold"]) for run in runs if run["fold"] is not None})
    seeds = sorted({str(run["seed"]) for run in runs})
    usual = {name for row in measured for name in row.variant.settings.keys() - {*row.variant.own, "seed"}}
    changed = sorted({f"{name}={run['config'][name]}" for run in runs for name in usual})
    said = f"Folds: {', '.join(folds) or 'none'}. Seed: {', '.join(seeds)}."
    return said + (f" Settings changed by --set: {', '.join(changed)}." if changed else "")


def _lines(name: str, measured: Sequence[Measured], tasks: Sequence[str], metric: str) -> list[list[str]]:
    place = METRICS.index(metric)

    def cited(by_task: Mapping[str, Sequence[float]]) -> list[str]:
        return [f"{by_task[task][place]:.3f}" if task in by_task else "" for task in tasks]

    lines: list[list[str]] = []
    if name == "main" and any(task in published.TASKS for task in tasks):
        lines += [[f"*{method}*", *cited(by_task)] for method, by_task in published.MAIN.items()]
    several = len({row.variant.preset for row in measured}) > 1
    for row in measured:
        for scored_by in row.decoders() if name == "main" else ["student"]:
            preset = row.variant.preset
            parts = [f"mixtea `{preset}`" if name == "main" else f"`{preset}`" if several else "", row.label]
            parts += [DECODERS[scored_by]] if name == "main" else []
            cells = [mean_std(row.values(task, metric, scored_by)) for task in tasks]
            lines.append([", ".join(part for part in parts if part), *cells])
        if name == "ablation" and any(cited(published.ABLATION.get(row.variant.label, {}))):
            lines.append([f"*{row.variant.label}, published*", *cited(published.ABLATION[row.variant.label])])
    return lines


def mean_std(values: Sequence[float]) -> str:
    if not values:
        return ""
    return f"{mean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "")


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def data_frame(tasks: Mapping[str, Task]) -> pd.DataFrame:
    """Return the sizes of the graphs, counted and published."""
    lines = []
    for name, task in tasks.items():
        cited = published.DATA.get(name, (None, None))
        for side, graph, said in zip(("source", "target"), (task.source, task.target), cited, strict=True):
            counts: list[Any] = [graph.n_entities, graph.n_relations, graph.n_triples, *(said or (None,) * 3)]
            lines.append([name, side, *counts])
    kinds = ["entities", "relations", "triples"]
    cited_kinds = [f"published {kind}" for kind in kinds]
    counted = pd.DataFrame(lines, columns=["task", "graph", *kinds, *cited_kinds])
    return counted.astype(dict.fromkeys(cited_kinds, "Int64"))


def data_markdown(frame: pd.DataFrame) -> str:
    about = EXPERIMENTS["data"]
    lines = [["" if pd.isna(v) else f"{v:,}" if isinstance(v, int) else str(v) for v in row] for row in frame.values]
    return "\n\n".join([f"## {about.title}", about.about, table(list(frame.columns), lines)])


def cost_frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return one line per run: settings, accuracy and cost."""
    names = ("task", "fold", "preset", "share", "seed", "epochs", "seconds", "decoding_seconds", "peak_gib", "device")
    return pd.DataFrame(
        {
            **{name: row[name] for name in names},
            "settings": " ".join(f"{k}={v}" for k, v in row["settings"].items()),
            "hits@1": row["scores"]["student"]["hits@1"],
            "calibration_error": row.get("calibration_error"),
            "mixtea": row["versions"]["mixtea"],
            "torch": row["versions"]["torch"],
            "key": row["key"],
        }
        for row in sorted(rows, key=lambda row: (row["task"], row["fold"] or 0, row["preset"], row["key"]))
    )


STYLES = (("-", "o", "#1b4f72"), ("--", "s", "#b9770e"), (":", "^", "#616a6b"), ("-.", "D", "#943126"))
MIN_AXIS_RANGE = 0.1  # of Hit@1 on an axis
AXES = {
    "curves": "epoch",
    "layers": "attention layers",
    "momentum": "momentum",
    "seeds": "links that train (share of all)",
}  # fmt: skip


def draw(name: str, measured: Sequence[Measured], tasks: Sequence[str], path: Path) -> None:
    """Draw one panel per task."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 2.9 * len(tasks) + 1), layout="constrained")
    panels = figure.subplots(len(tasks), 1, squeeze=False).flatten()
    for panel, task in zip(panels, tasks, strict=True):
        (_curves if name == "curves" else _sensitivity)(panel, measured, task)
        panel.set(title=task, xlabel=AXES[name], ylabel="test Hit@1")
        panel.grid(alpha=0.3)
        low, high = panel.get_ylim()
        missing = max(0.0, MIN_AXIS_RANGE - (high - low))  # what differs little should look so
        panel.set_ylim(low - missing / 2, high + missing / 2)
    labels = panels[0].get_legend_handles_labels()
    if len(labels[1]) > 1:
        figure.legend(*labels, loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle(EXPERIMENTS[name].title)
    figure.savefig(path, format="png", dpi=130, metadata={"Software": None})


def _curves(panel: Any, measured: Sequence[Measured], task: str) -> None:
    several = len({row.variant.preset for row in measured}) > 1
    for row, (line, marker, colour) in zip(measured, STYLES * len(measured), strict=False):
        curves = [run["curve"] for run in row.runs.get(task, ()) if run["curve"]]
        if curves:
            epochs = [epoch for epoch, _ in max(curves, key=len)]
            heights = [mean(dict(map(tuple, c))[e] for c in curves if e in dict(map(tuple, c))) for e in epochs]
            label = f"{row.label} ({row.variant.preset})" if several else row.label
            panel.plot(epochs, heights, line, marker=marker, color=colour, label=label, markersize=4, markevery=4)


def _sensitivity(panel: Any, measured: Sequence[Measured], task: str) -> None:
    presets = list(dict.fromkeys(row.variant.preset for row in measured))
    ticks = list(dict.fromkeys(row.label for row in measured))
    for preset, (line, marker, colour) in zip(presets, STYLES, strict=False):
        points = [(row.label, row.values(task, "hits@1")) for row in measured if row.variant.preset == preset]
        points = [(label, values) for label, values in points if values]
        if points:
            x = [ticks.index(label) for label, _ in points]
            y = [mean(values) for _, values in points]
            spread = [stdev(values) if len(values) > 1 else 0.0 for _, values in points]
            panel.errorbar(x, y, spread, linestyle=line, marker=marker, color=colour, label=preset, capsize=3)
    panel.set_xticks(range(len(ticks)), ticks)
    panel.margins(x=0.1)


PAGE = "results.md"


def write_pages(folder: Path, plan: Plan, rows: Mapping[str, Any]) -> Path:
    """Write the tables and figures of a plan from the rows so far, and the page of all results in the folder."""
    if "data" in plan.rows:
        counts = data_frame(dict(_readable(plan)))
        atomic_text(folder / "data.csv", counts.to_csv(index=False))
        atomic_text(folder / "data.md", f"{data_markdown(counts)}\n")
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
    atomic_text(folder / f"{name}.csv", frame(name, measured, tasks).to_csv(index=False))
    if name in AXES:
        text += f"\n\n![{EXPERIMENTS[name].title}]({name}.png)"
        with atomic_file(folder / f"{name}.png", follow=False) as path:
            draw(name, measured, tasks, path)
    atomic_text(folder / f"{name}.md", f"{text}\n")


def write_page(folder: Path, rows: Mapping[str, Any]) -> Path:
    """Write all tables so far in one page, and every run with its cost in runs.csv."""
    atomic_text(folder / "runs.csv", cost_frame(list(rows.values())).to_csv(index=False))
    parts = [path.read_text(encoding="utf-8").strip() for n in EXPERIMENTS if (path := folder / f"{n}.md").is_file()]
    about = "Made by `mixtea reproduce`. Every run, its settings, seconds and memory: [runs.csv](runs.csv)."
    atomic_text(folder / PAGE, "\n\n".join(["# Results", about, *parts]) + "\n")
    return folder / PAGE
