"""HTML report of a run, `report.html`: one file without scripts or external resources."""

from __future__ import annotations

import math
from functools import cache, partial
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from mixtea.aligner import MixTEA
from mixtea.aligner.saving import versions
from mixtea.calibration.calibrator import calibration_measures
from mixtea.compute.device import describe_device
from mixtea.compute.intervals import interval_text
from mixtea.config import VECTOR_VOTERS, Config
from mixtea.council.summary import misleading_lines
from mixtea.decide.answers import Answers
from mixtea.decide.candidates import Candidates
from mixtea.evaluation.scores import NOTE
from mixtea.explain.value_lines import SIGNS, WORDS
from mixtea.graph.graph import display_name
from mixtea.graph.task import SPLITS
from mixtea.io.checks import task_warnings
from mixtea.messages import MAX_LABEL_LENGTH, METRICS, decoded_by, origin_of, visible
from mixtea.report import figures, findings

MAX_REASONS_SHOWN = 4  # reasons of a voter that are shown


def make_report(aligner: MixTEA) -> str:
    """Render the report of a fitted aligner as HTML. The same aligner gives the same page."""
    history, task = aligner.history_, aligner.task_
    candidates, mapping = aligner.predict(k=2), aligner.map()
    split, links = findings.evaluation_links(task)
    rows, right = findings.check_mappings(candidates, links)
    why = Reasons(aligner)
    origin = [f"{said}." for said in [origin_of(task.links_from)] if said]
    page = {
        "task": task,
        "aligner": aligner,
        "device": describe_device(aligner.vectors_.device),
        "versions": versions(),
        "graphs": findings.graph_counts(task),
        "columns": findings.compare_columns(why.explain.side_by_side, mapping, aligner.config.seed),
        "signs": SIGNS,
        "words": WORDS,
        "links": {findings.SPLIT_NAMES[s]: len(getattr(task, s)) for s in SPLITS},
        "notes": [
            *origin,
            *task.warnings,
            *task_warnings(task),
            *misleading_lines(aligner.misleading_, aligner.misleading_links_),
            *mapping.warnings(),
        ],
        "decided": mapping.summary(),
        "promise": mapping.expected_quality(),
        "settings": findings.changed_settings(aligner.config_, aligner.preset),
        "metrics": METRICS,
        "scores": _scores(aligner, history),
        "ranked": _ranked(aligner.config, aligner.answers_) if aligner.metrics_ and len(task.test) else "",
        "by_evidence": findings.by_evidence(aligner.by_evidence_, task),
        "learned": findings.learned_rows(aligner.learned_),
        "evidence_note": NOTE,
        "voters": findings.voters_line(aligner.answers_),
        "trust": _trust(candidates, rows, right),
        "truth": findings.SPLIT_NAMES[split] if len(rows) else "",
        "n_mappings": len(candidates),
        "training": figures.training_figures(history, task),
        "probabilities": figures.probability_figures(task, candidates, rows, right),
        "examples": _examples(aligner, candidates, rows, right, why),
    }
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = cache(partial(visible, longest=MAX_LABEL_LENGTH))
    environment.globals["beside"] = interval_text
    template, style = (
        files("mixtea.report").joinpath(name).read_text(encoding="utf-8") for name in ("report.html.j2", "report.css")
    )
    return environment.from_string(template).render(page, style=Markup(style))


def _scores(aligner: MixTEA, history: pd.DataFrame) -> list[dict[str, Any]]:
    validated = findings.last_validation(history)
    scored = "test" if len(aligner.task_.test) else "scored"
    n_test, n_valid = len(aligner.task_.test), len(aligner.task_.valid)
    rows = findings.score_rows(aligner.metrics_, scored, n_links=n_test)
    return [*rows, *findings.score_rows(validated, "validation", "valid_", n_links=n_valid)]


def _ranked(config: Config, answers: Answers) -> str:
    """Describe how the test links were ranked."""
    everything = "all entities" if config.only_student_decodes else "all entities without a training link"
    pool = "the ends of the test links" if config.candidates == "given" else everything
    decoder = f"decoder {config.decoder.replace('_', '-')}, {decoded_by(answers.active_voters)}"
    return f"The test ranks among {pool} ({decoder}); ties count in expectation."


def _trust(candidates: Candidates, rows: np.ndarray, right: np.ndarray) -> dict[str, float]:
    """Return the calibration scores, the number of checked mappings, and the share that is right."""
    if not len(rows):
        return {}
    measures = dict(calibration_measures(candidates.probability[rows, 0], right))
    found = {"n": len(rows), "right": float(right.mean())} | measures
    return found | {"accepted": round(found["accepted@95"] * len(rows))}


def _examples(
    aligner: MixTEA, candidates: Candidates, rows: np.ndarray, right: np.ndarray, why: Reasons
) -> dict[str, Any]:
    task, seed = aligner.task_, aligner.config.seed
    known, probability = np.concatenate([task.valid, task.test]), candidates.probability[:, 0]
    chosen = {
        "right": findings.draw_rows(rows[right], probability, seed),
        "wrong": findings.draw_rows(rows[~right], probability, seed),
        "doubtful": findings.most_uncertain(probability),
    }
    name_of = cache(display_name)
    described = cache(lambda row: findings.example_mapping(candidates, row, known, name_of) | why(row))
    return {name: [described(row) for row in which.tolist()] for name, which in chosen.items()}


class Reasons:
    """Explanations of the first candidate of each row of an aligner's answers."""

    def __init__(self, aligner: MixTEA) -> None:
        self.answers, self.explain = aligner.answers_, aligner.explainer()
        self.evidence = self.answers.evidence()

    def __call__(self, row: int) -> dict[str, Any]:
        """Return `evidence`, the contribution of each opinion, and `reasons`, the voters by piece of evidence."""
        said = self.explain(int(self.answers.source_index[row]), int(self.answers.ranked.target[row, 0]))
        reasons: dict[str, list[str]] = {}
        said = said[~said["voter"].isin(VECTOR_VOTERS)]  # the cosine is in the score
        for _, rows in said.groupby("voter", sort=False):
            for voter, what, weight in rows.head(MAX_REASONS_SHOWN).itertuples(index=False):
                if not math.isnan(weight):
                    reasons.setdefault(what, []).append(voter)
        return {"evidence": [part.replace("=", " ") for part in self.evidence[row].split()], "reasons": reasons}
