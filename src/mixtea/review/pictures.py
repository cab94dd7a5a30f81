"""Figures of a run for the page: training, votes by agreement, probabilities, calibration, degree. No torch."""

from __future__ import annotations

import base64
from typing import NamedTuple

import pandas as pd

from mixtea.review.model import Model
from mixtea.runs.safe_read import clear_read_errors, read_json
from mixtea.runs.validate import timed_history


class Picture(NamedTuple):
    """A figure as the address of an image, with its title and caption."""

    title: str
    address: str
    caption: str


def pictures(model: Model) -> list[Picture]:
    """Draw the figures for which the run has data."""
    from mixtea.report import figures, findings  # which load matplotlib

    path = model.folder / "history.json"
    with clear_read_errors(path):
        about = model.run.about
        history = pd.DataFrame(timed_history(read_json(path), about["n_epochs"], about["epoch_seconds"]))
    candidates = model.run.predict(2)
    _, links = findings.evaluation_links(model.task)
    rows, right = findings.check_mappings(candidates, links)
    shown = [
        *figures.training_figures(history, model.task),
        *figures.probability_figures(model.task, candidates, rows, right),
    ]
    return [Picture(one.title, _address(str(one.svg)), one.caption) for one in shown]


def _address(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
