"""A page about a run, `report.html`: one file without scripts that needs nothing from elsewhere."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from mixtea.aligner import MixTEA
from mixtea.aligner.saving import versions
from mixtea.calibration.calibrator import trust
from mixtea.compute.device import describe_device
from mixtea.compute.intervals import beside
from mixtea.config import Config
from mixtea.council.summary import misleading_lines
from mixtea.decide.answers import Answers
from mixtea.decide.candidates import Candidates
from mixtea.evaluation.by_voter import NOTE
from mixtea.explain.value_lines import SIGNS, WORDS
from mixtea.graph.task import SPLITS
from mixtea.io.checks import task_warnings
from mixtea.messages import METRICS, decoded_by, origin_of
from mixtea.report import figures, findings
from mixtea.report.columns import columns
from mixtea.report.reasons import Why


def make_report(aligner: MixTEA) -> str:
    """The page of a fitted aligner as HTML. The same aligner gives the same page."""
    history, task = aligner.history_, aligner.task_
    candidates, mapping = aligner.predict(k=2), aligner.map()
    split, links = findings.truth_of(task)
    rows, right = findings.check(candidates, links)
    why = Why(aligner)
    origin = [f"{said}." for said in [origin_of(task.links_from)] if said]
    page = {
        "task": task,
        "aligner": aligner,
        "device": describe_device(aligner.vectors_.device),
        "versions": versions(),
        "graphs": findings.graph_counts(task),
        "columns": columns(why.explain.side_by_side, mapping, aligner.config.seed),
        "signs": SIGNS,
        "words": WORDS,
        "links": {findings.SPLIT_NAMES[s]: len(getattr(task, s)) for s in SPLITS},
        "notes": [
            *origin,
            *task.warnings,
            *task_warnings(task),
            *misleading_lines(aligner.misleading_, aligner.misleading_links_),
            *mapping.doubts(),
        ],
        "decided": mapping.summary(),
        "promise": mapping.promise(),
        "settings": findings.changed_settings(aligner.config_, aligner.preset),
        "metrics": METRICS,
        "scores": _scores(aligner, history),
        "ranked": _ranked(aligner.config, aligner.answers_) if aligner.metrics_ and len(task.test) else "",
        "by_evidence": findings.by_evidence(aligner.by_evidence_, task),
        "evidence_note": NOTE,
        "voters": findings.who_spoke(aligner.answers_),
        "trust": _trust(candidates, rows, right),
        "truth": findings.SPLIT_NAMES[split] if len(rows) else "",
        "n_mappings": len(candidates),
        "training": figures.training_figures(history, task),
        "probabilities": figures.probability_figures(task, candidates, rows, right),
        "examples": _examples(aligner, candidates, rows, right, why),
    }
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = findings.shown
    environment.globals["beside"] = beside
    return environment.from_string(_text("report.html.j2")).render(page, style=Markup(_text("report.css")))


def _text(name: str) -> str:
    """A file beside this one."""
    return files("mixtea.report").joinpath(name).read_text(encoding="utf-8")


def _scores(aligner: MixTEA, history: pd.DataFrame) -> list[dict[str, Any]]:
    validated = findings.last_validation(history)
    scored = "test" if len(aligner.task_.test) else "scored"
    n_test, n_valid = len(aligner.task_.test), len(aligner.task_.valid)
    rows = findings.score_rows(aligner.metrics_, scored, n_links=n_test)
    return [*rows, *findings.score_rows(validated, "validation", "valid_", n_links=n_valid)]


def _ranked(config: Config, answers: Answers) -> str:
    """Among what, and by what, the test links were ranked."""
    everything = "all entities" if config.only_student_decodes else "all entities without a training link"
    pool = "the ends of the test links" if config.candidates == "given" else everything
    decoder = f"decoder {config.decoder.replace('_', '-')}, {decoded_by(answers.spoke)}"
    return f"The test ranks among {pool} ({decoder}); ties count in expectation."


def _trust(candidates: Candidates, rows: np.ndarray, right: np.ndarray) -> dict[str, float]:
    """What `score` says of the probabilities, how many mappings were checked, and the share that is right."""
    if not len(rows):
        return {}
    found = {"n": len(rows), "right": float(right.mean())} | dict(trust(candidates.probability[rows, 0], right))
    return found | {"accepted": round(found["accepted@95"] * len(rows))}


def _examples(aligner: MixTEA, candidates: Candidates, rows: np.ndarray, right: np.ndarray, why: Why) -> dict[str, Any]:
    task, seed = aligner.task_, aligner.config.seed
    known, probability = np.concatenate([task.valid, task.test]), candidates.probability[:, 0]
    chosen = {
        "right": findings.drawn(rows[right], probability, seed),
        "wrong": findings.drawn(rows[~right], probability, seed),
        "doubtful": findings.doubtful(probability),
    }
    return {
        name: [findings.example(candidates, row, known) | why(row) for row in which.tolist()]
        for name, which in chosen.items()
    }
