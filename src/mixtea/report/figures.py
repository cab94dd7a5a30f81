"""Figures of a report, with captions: small SVG, readable in grey and bit-identical every time; and curves as files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from io import StringIO
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib import colormaps, rc_context, rcdefaults, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from mixtea.calibration.calibrator import reliability
from mixtea.decide.candidates import Candidates
from mixtea.export.tables import add_link_origin
from mixtea.graph.task import Task
from mixtea.messages import MAX_LABEL_LENGTH, origin_of, visible
from mixtea.report import findings
from mixtea.runs.atomic import atomic_file

SIZE = (4.4, 3.2)  # inches
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "mixtea", "svg.fonttype": "path",
    "font.size": 10.5, "axes.labelpad": 7, "axes.axisbelow": True,
}  # fmt: skip
NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))
COLOURS = ("#1b4f72", "#b9770e", "#1e8449", "#922b21", "#5b2c6f", "#424949")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 3)))
MARKERS = "os^Dvx"
MAX_POINTS_WITH_MARKERS = 25  # that markers leave room for
MIN_LOG_RATIO = 5  # greatest over least value
P = ParamSpec("P")
HISTOGRAM_BINS = 20
OTHER_COUNTS = ("agreed", "of_")  # what other counts of votes are called
LOSSES = {"loss_alignment": "links (L_a)", "loss_pseudo": "votes (L_u)"}
VALIDATION = {"valid_hits@1": "source to target", "valid_backward_hits@1": "target to source"}


@dataclass(frozen=True)
class ReportFigure:
    """A figure with its title and caption."""

    title: str
    svg: Markup
    caption: str


def training_figures(history: pd.DataFrame, task: Task) -> list[ReportFigure]:
    """Draw losses, validation, votes and weights by epoch, as far as the history has them.

    Without triples, the weights of the vectors' parts are meaningless and left out.
    """
    found = []
    kept = (
        history
        if findings.has_triples(task)
        else history.loc[:, [not str(name).startswith("concat_") for name in history]]
    )
    for title, draw, names, more, caption in _by_epoch(kept):
        rows = findings.thinned(kept, names)
        if len(rows):
            found.append(_figure(title, draw(rows, names, *more), caption))
    return found


def _by_epoch(history: pd.DataFrame) -> list[tuple[str, Any, dict[str, str], tuple[Any, ...], str]]:
    """Return (title, drawing function, columns with labels, further arguments, caption) of each figure."""
    voters = {name: words for name, words in _named(history, "votes_").items() if not words.startswith(OTHER_COUNTS)}
    blocks = {name: words.replace("_", " ") for name, words in _named(history, "concat_").items()}
    numbers = _named(history, "votes_of_")
    agreeing = {name: f"{k} of {len(numbers)} voters" for name, k in numbers.items()}
    return [
        ("Losses", curves, LOSSES, ("loss (sum)", "loss"),
         "Both should fall at first; that of the votes can rise again because more votes agree, which is good."),
        ("Validation", curves, VALIDATION, ("Hit@1 (share)", "share"),
         "The share of validation links whose right end is the student's first choice among the ends of all of them: "
         "the higher, the better."),
        ("Votes by voter", curves, voters, ("votes (pairs)",),
         "How many pairs of entities without a link each voter favours; lines that meet mean as many pairs, not always "
         "the same pairs."),
        ("Votes by agreement", bands, agreeing, ("votes (pairs)",),
         "The pairs that are favoured, divided by how many voters favour them: the darker, the more agree."),
        ("What the vectors are made of", curves, blocks, ("weight (share)",),
         "The learned weight of each part of an entity's vector; at every epoch they add up to 1."),
    ]  # fmt: skip


def _named(history: pd.DataFrame, prefix: str) -> dict[str, str]:
    """Return the columns with a prefix and the rest of their names, escaped for matplotlib."""
    names = [str(name) for name in history if str(name).startswith(prefix)]
    return {name: visible(name.removeprefix(prefix), MAX_LABEL_LENGTH).replace("$", r"\$") for name in names}


def probability_figures(task: Task, candidates: Candidates, rows: np.ndarray, right: np.ndarray) -> list[ReportFigure]:
    """Draw all probabilities; for the mappings `rows` also their calibration and accuracy."""
    if not len(candidates):
        return []
    probability, has_triples = candidates.probability[:, 0], findings.has_triples(task)
    found = [
        _figure("All mappings", histogram(findings.bin_counts(probability, HISTOGRAM_BINS), "mappings (number)"),
               "How many of all predicted mappings have which probability: the farther right, the surer"
               + ("; entities without triples stand at 0." if has_triples else ".")),
    ]  # fmt: skip
    if not len(rows):
        return found
    points, counts = reliability(probability[rows], right), findings.bin_counts(probability[rows])
    calibration = _figure(
        "Calibration", reliability_diagram(points, counts),
        "Where the line is below the diagonal, mappings are right less often than promised, above it more often; the "
        "bars count the links in each range, and where there are few, chance decides.",
    )  # fmt: skip
    if not has_triples:
        return [*found, calibration]
    degrees = findings.by_degree(task.source.degrees[candidates.source_index[rows]], right)
    return [
        *found,
        calibration,
        _figure("Right by number of triples", shares(degrees, "triples", "triples of the source entity (number)"),
               "How often the mapping of an entity with so many triples is right; above each bar the number of links."),
    ]  # fmt: skip


def _figure(title: str, svg: str, caption: str) -> ReportFigure:
    """Make a figure whose ids begin with the title, since ids must be unique in a page."""
    return ReportFigure(title, Markup(with_own_ids(svg, title.lower().replace(" ", "-"))), caption)


# Drawing


def _drawn(draw: Callable[Concatenate[Figure, P], None]) -> Callable[P, str]:
    """Turn a function that fills a figure into one that returns SVG, independent of the user's matplotlib settings."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> str:
        with rc_context():
            rcdefaults()
            rcParams.update(STYLE)
            figure, text = Figure(figsize=SIZE, layout="constrained"), StringIO()
            draw(figure, *args, **kwargs)
            figure.savefig(text, format="svg", metadata=NO_METADATA)
        return text.getvalue()[text.getvalue().index("<svg") :]

    return drawn


def with_own_ids(svg: str, name: str) -> str:
    """Prefix all ids of the SVG with `name`, so that several fit into one page."""
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)


@_drawn
def curves(figure: Figure, rows: pd.DataFrame, names: Mapping[str, str], ylabel: str, kind: str = "") -> None:
    """Draw a line by epoch for each column of `names`, which holds its label.

    The axis of kind "share" goes from 0 to 1, that of kind "loss" is logarithmic where values differ much.
    """
    axes = figure.subplots()
    for i, name in enumerate(name for name in names if name in rows):
        marker = MARKERS[i % len(MARKERS)] if len(rows) <= MAX_POINTS_WITH_MARKERS else ""
        colour, filled = COLOURS[i % len(COLOURS)], i % 2 == 0  # every second marker is open: it hides no other
        style: dict[str, Any] = dict(color=colour, linestyle=LINES[i % len(LINES)], linewidth=1.8, marker=marker)
        style |= dict(markersize=5 if filled else 7.5, markerfacecolor=colour if filled else "none")
        axes.plot(rows["epoch"], rows[name], label=names[name], **style)
    values = rows.drop(columns="epoch").to_numpy()
    if kind == "loss" and np.nanmax(values) > MIN_LOG_RATIO * np.nanmin(values) > 0:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(_NUMBERS)
    if kind == "share":
        axes.set_ylim(-0.02, 1.02)
    _finish(figure, axes, ylabel)


@_drawn
def bands(figure: Figure, rows: pd.DataFrame, names: Mapping[str, str], ylabel: str) -> None:
    """Draw stacked bands by epoch, darker and darker; a value holds until the next epoch."""
    axes = figure.subplots()
    there, rows = [name for name in names if name in rows], rows.fillna(0)
    epoch = np.append(rows["epoch"], rows["epoch"].iloc[-1] + 1) - 0.5
    below = np.zeros(len(epoch))
    for name, shade in zip(there, np.linspace(0.12, 0.95, len(there)), strict=True):
        above = below + np.append(rows[name], rows[name].iloc[-1])
        look: dict[str, Any] = dict(facecolor=colormaps["Blues"](shade), edgecolor="#1a1a1a", linewidth=0.5)
        axes.fill_between(epoch, below, above, step="post", label=names[name], **look)
        below = above
    axes.margins(x=0)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(_NUMBERS)
    _finish(figure, axes, ylabel)


@_drawn
def reliability_diagram(figure: Figure, points: Sequence[Mapping[str, Any]], counts: np.ndarray) -> None:
    """Draw the share right against mean probability, with the diagonal; below, the number of mappings per range."""
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2.6, 1))
    upper.plot([0, 1], [0, 1], color="#777777", linestyle="--", linewidth=1.2, label="as promised")
    at, right = ([point[name] for point in points] for name in ("probability", "right"))
    upper.plot(at, right, color=COLOURS[0], marker="o", markersize=5, linewidth=1.8, label="found")
    upper.set(ylabel="share right", ylim=(-0.04, 1.04), yticks=[0, 0.5, 1])
    upper.grid(alpha=0.3)
    _bars(lower, _middles(counts), counts, 0.092, [_short(n) if n else "" for n in counts.tolist()], fontsize=8)
    lower.set(xlabel="probability", ylabel="links", yticks=[], ylim=(0, max(counts.max(), 1) * 1.6), xlim=(0, 1))
    figure.legend(loc="outside upper center", ncols=2, frameon=False)


@_drawn
def histogram(figure: Figure, counts: np.ndarray, ylabel: str) -> None:
    """Draw the number of mappings in equal ranges of probability."""
    axes = figure.subplots()
    _bars(axes, _middles(counts), counts, 0.92 / len(counts))
    axes.set(xlabel="probability", ylabel=ylabel, xlim=(0, 1), ylim=(0, max(counts.max(), 1) * 1.05))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.yaxis.set_major_formatter(_NUMBERS)
    axes.grid(alpha=0.3, axis="y")


@_drawn
def shares(figure: Figure, rows: Sequence[Mapping[str, Any]], by: str, xlabel: str) -> None:
    """Draw a bar for each row's share `right`, named by its column `by`, with its number `n` above."""
    axes = figure.subplots()
    places = np.arange(len(rows))
    _bars(axes, places, np.array([row["right"] for row in rows]), 0.75, [_short(row["n"]) for row in rows], fontsize=9)
    axes.set_xticks(places, [row[by] for row in rows])
    axes.set(xlabel=xlabel, ylabel="share right", xlim=(-0.6, len(rows) - 0.4), ylim=(0, 1.12))
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.grid(alpha=0.3, axis="y")


def _bars(
    axes: Axes, places: np.ndarray, heights: np.ndarray, width: float, above: Sequence[str] = (), **text: Any
) -> None:
    bars = axes.bar(places, heights, width=width, color="#7fa6c4", edgecolor="#1b4f72", linewidth=0.8)
    if above:
        axes.bar_label(bars, above, padding=1, **text)


def _finish(figure: Figure, axes: Axes, ylabel: str) -> None:
    """Label the epochs, and put the legend above the axes."""
    axes.set(xlabel="epoch", ylabel=ylabel)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7, min_n_ticks=1))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=2, frameon=False, handlelength=2.8)


def _middles(counts: np.ndarray) -> np.ndarray:
    return (np.arange(len(counts)) + 0.5) / len(counts)


def _short(n: int) -> str:
    """Format 9,999 unchanged, 12,345 as 12k."""
    return f"{n:,}" if n < 10_000 else f"{n / 1e3:.0f}k" if n < 1_000_000 else f"{n / 1e6:.1f}M"


_NUMBERS = FuncFormatter(lambda value, _: f"{value:,.0f}" if abs(value) >= 10 else f"{value:.3g}")


# Curves as files


def write_curve(curve: pd.DataFrame, path: Path, links_from: str = "given") -> None:
    """Write all columns of a threshold curve (.csv), or draw precision, recall and F1 by minimum probability (.png)."""
    with atomic_file(path) as temporary:
        if path.suffix.lower() == ".csv":
            add_link_origin(curve, links_from).to_csv(temporary, index=False)
        else:
            _draw_curve(curve, temporary, origin_of(links_from))


def _draw_curve(curve: pd.DataFrame, path: Path, title: str) -> None:
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    axes = figure.subplots()
    for name, style, colour in (("precision", "-", "#1b4f72"), ("recall", "--", "#b9770e"), ("f1", ":", "#616a6b")):
        axes.step(curve["threshold"], curve[name], style, where="post", color=colour, label=name.replace("f1", "F1"))
    axes.set(xlabel="least probability of a mapping", ylabel="share", xlim=(0, 1), ylim=(0, 1.02))
    axes.set_title(title, fontsize="medium")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, format="png", dpi=130, metadata={"Software": None, "Description": title or None})
