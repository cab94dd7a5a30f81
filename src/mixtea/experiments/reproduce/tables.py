"""Turn rows into tables: Markdown to read, CSV to compute with. Seconds are kept apart, for reproducible tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

import pandas as pd

from mixtea import messages as words
from mixtea.experiments.reproduce import published
from mixtea.experiments.reproduce.experiments import EXPERIMENTS, Variant
from mixtea.experiments.reproduce.published import METRICS
from mixtea.graph.task import Task

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
    usual = {name for row in measured for name in row.variant.settings if not _is_own(row, name)}
    changed = sorted({f"{name}={run['config'][name]}" for run in runs for name in usual})
    said = f"Folds: {', '.join(folds) or 'none'}. Seed: {', '.join(seeds)}."
    return said + (f" Settings changed by --set: {', '.join(changed)}." if changed else "")


def _is_own(row: Measured, name: str) -> bool:
    """Return whether the row itself changes the setting, so that its label names it."""
    return name in row.variant.own or name == "seed"


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
