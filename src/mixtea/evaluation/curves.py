"""Curves of a training: losses and validation scores by epoch."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def draw_curves(history: list[dict[str, Any]], path: Path, title: str = "") -> None:
    """Draw two panels, readable in grey: the losses on the left, validation Hit@1 in both directions on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    losses, scores = figure.subplots(1, 2)
    _plot(losses, history, "loss_alignment", "links (L_a)", "-", "#1b4f72")
    _plot(losses, history, "loss_pseudo", "votes (L_u)", "--", "#b9770e")
    scale = "log" if any((line.get_ydata() > 0).any() for line in losses.lines) else "linear"
    losses.set(xlabel="epoch", ylabel="loss (sum)", title="Losses", yscale=scale)
    _plot(scores, history, "valid_hits@1", "source to target", "-o", "#1b4f72")
    _plot(scores, history, "valid_backward_hits@1", "target to source", "--s", "#b9770e")
    scores.set(xlabel="epoch", ylabel="Hit@1", title="Validation links", ylim=(0, 1))
    for axes in (losses, scores):
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend()
    figure.suptitle(title)
    figure.savefig(path, dpi=120, metadata={"Software": None})


def _plot(axes: Any, history: list[dict[str, Any]], name: str, label: str, style: str, colour: str) -> None:
    points = [(record["epoch"], record[name]) for record in history if name in record]
    if points:
        axes.plot(*zip(*points, strict=True), style, label=label, color=colour, markersize=4)
