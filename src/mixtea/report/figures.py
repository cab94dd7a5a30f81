"""Choose the figures of a report, with captions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from mixtea.calibration.calibrator import reliability
from mixtea.decide.candidates import Candidates
from mixtea.graph.task import Task
from mixtea.report import findings, plots

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
        ("Losses", plots.curves, LOSSES, ("loss (sum)", "loss"),
         "Both should fall at first; that of the votes can rise again because more votes agree, which is good."),
        ("Validation", plots.curves, VALIDATION, ("Hit@1 (share)", "share"),
         "The share of validation links whose right end is the student's first choice among the ends of all of them: "
         "the higher, the better."),
        ("Votes by voter", plots.curves, voters, ("votes (pairs)",),
         "How many pairs of entities without a link each voter favours; lines that meet mean as many pairs, not always "
         "the same pairs."),
        ("Votes by agreement", plots.bands, agreeing, ("votes (pairs)",),
         "The pairs that are favoured, divided by how many voters favour them: the darker, the more agree."),
        ("What the vectors are made of", plots.curves, blocks, ("weight (share)",),
         "The learned weight of each part of an entity's vector; at every epoch they add up to 1."),
    ]  # fmt: skip


def _named(history: pd.DataFrame, prefix: str) -> dict[str, str]:
    """Return the columns with a prefix and the rest of their names, escaped for matplotlib."""
    names = [str(name) for name in history if str(name).startswith(prefix)]
    return {name: findings.label_text(name.removeprefix(prefix)).replace("$", r"\$") for name in names}


def probability_figures(task: Task, candidates: Candidates, rows: np.ndarray, right: np.ndarray) -> list[ReportFigure]:
    """Draw all probabilities; for the mappings `rows` also their calibration and accuracy."""
    if not len(candidates):
        return []
    probability, has_triples = candidates.probability[:, 0], findings.has_triples(task)
    found = [
        _figure("All mappings", plots.histogram(findings.bin_counts(probability, HISTOGRAM_BINS), "mappings (number)"),
               "How many of all predicted mappings have which probability: the farther right, the surer"
               + ("; entities without triples stand at 0." if has_triples else ".")),
    ]  # fmt: skip
    if not len(rows):
        return found
    points, counts = reliability(probability[rows], right), findings.bin_counts(probability[rows])
    calibration = _figure(
        "Calibration", plots.reliability_diagram(points, counts),
        "Where the line is below the diagonal, mappings are right less often than promised, above it more often; the "
        "bars count the links in each range, and where there are few, chance decides.",
    )  # fmt: skip
    if not has_triples:
        return [*found, calibration]
    degrees = findings.by_degree(task.source.degrees[candidates.source_index[rows]], right)
    return [
        *found,
        calibration,
        _figure("Right by number of triples", plots.shares(degrees, "triples", "triples of the source entity (number)"),
               "How often the mapping of an entity with so many triples is right; above each bar the number of links."),
    ]  # fmt: skip


def _figure(title: str, svg: str, caption: str) -> ReportFigure:
    """Make a figure whose ids begin with the title, since ids must be unique in a page."""
    return ReportFigure(title, Markup(plots.with_own_ids(svg, title.lower().replace(" ", "-"))), caption)
