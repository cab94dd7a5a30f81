"""Figures of curves and sensitivity, readable in grey and, with one task above the other, on a narrow screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from mixtea.experiments.reproduce.experiments import EXPERIMENTS
from mixtea.experiments.reproduce.tables import Measured

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
