"""Tables of scores and counts for the terminal."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import pandas as pd
from rich.table import Table
from rich.text import Text

from mixtea.compute.intervals import MIN_CASES_ALONE, interval_text
from mixtea.config import PRESETS, Config
from mixtea.decide.answers import Answers
from mixtea.decide.new_entities import Matches
from mixtea.evaluation.scores import HITS, LINKS, NOTE, PARTS, voters_text
from mixtea.fields import assignments
from mixtea.graph.graph import SIDES
from mixtea.graph.task import Task
from mixtea.messages import MAX_LABEL_LENGTH, METRICS, decoded_by, origin_of, visible

MAX_CELL_CHARS = 4096  # characters, of titles and of paths


def cell_text(value: object, longest: int = MAX_CELL_CHARS) -> Text:
    """Return the contents of a cell for text of unknown origin: no markup, nothing invisible, and shortened."""
    return Text(visible(value, longest))


def new_table(title: str | Text, headings: Sequence[str], right: Container[str] = ()) -> Table:
    """Return a table without rows, with the columns `right` flush right."""
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left")
    return table


def score_table(
    scores: Mapping[str, float], behind: Mapping[str, int], title: str, config: Config, answers: Answers
) -> Table:
    """Return the scores of a run with these `answers`; the title names the active voters.

    `behind` is the number of links or mappings of each share: small ones get an interval.
    """
    unlinked = "" if config.only_student_decodes else "unlinked "
    pool = "their own ends" if config.candidates == "given" else f"all {unlinked}entities"
    if config.approximations():
        title += f", approximate ({', '.join(assignments(config.approximations()))})"
    decoder = f"{config.decoder.replace('_', '-')}, {decoded_by(answers.active_voters)}"
    caption = f"{title} ({behind['hits@1']:,} links, ranked among {pool}, ties in expectation; {decoder})"
    said = "; ".join([*_trust(scores, behind), *filter(None, [origin_of(answers.task.links_from)])])
    table = new_table(cell_text(caption), ["direction", *METRICS.values()], right=METRICS.values())
    table.caption, table.caption_justify = said or None, "left"
    for label, prefix in (("source to target", ""), ("target to source", "backward_")):
        table.add_row(label, *(_share(scores, behind, prefix + metric) for metric in METRICS))
    return table


def evidence_table(found: pd.DataFrame) -> Table:
    """Return Hit@1 by deciding voters, and by whether the names of a link are equal."""
    parts = [f"{words} ({int(found[part + LINKS].iloc[0]):,})" for part, words in PARTS.items()]
    table = new_table("Hit@1 by evidence", ["decided by", *parts], right=parts)
    table.caption, table.caption_justify = NOTE, "left"
    for name, row in found.iterrows():
        shares = (row[part + HITS] for part in PARTS)
        table.add_row(
            cell_text(voters_text(str(name))), *("–" if share != share else f"{share:.3f}" for share in shares)
        )
    return table


def _share(scores: Mapping[str, float], behind: Mapping[str, int], name: str) -> str:
    """Format a score, with an interval if it rests on few links."""
    return f"{scores[name]:.3f}{interval_text(scores[name], behind.get(name))}"


def _trust(scores: Mapping[str, float], behind: Mapping[str, int]) -> list[str]:
    """Describe the probabilities and the mapping."""
    said = []
    if "calibration_error" in scores:
        said.append(f"probabilities: expected calibration error {scores['calibration_error']:.3f}")
    if "accepted@95_precision" in scores:
        share, precision = scores["accepted@95"], scores["accepted@95_precision"]
        few = (
            interval_text(precision, behind.get("accepted@95_precision"), "{:.1%}").replace(" (", ", ").replace(")", "")
        )
        found = f"{precision:.1%} found{few}"
        said.append(f"{share:.0%} of these mappings could be accepted unseen at 95 % precision ({found})")
    if "f1" in scores:
        three = (f"{n.replace('f1', 'F1')} {_share(scores, behind, n)}" for n in ("precision", "recall", "f1"))
        said.append(f"mapping among all targets: {', '.join(three)}")
    if any(n < MIN_CASES_ALONE for n in behind.values()):
        said.append("in brackets: where the true share lies with 95 % confidence")
    return said


def match_table(found: Matches) -> Table:
    """Return the candidates of new entities, with the decision at the first one."""
    headings = ("source", "decision", "target", "", "probability", "taken by")
    table = new_table(cell_text(found.summary()), headings, right=["probability"])
    for row in found.frame.itertuples():
        first = row.rank == 1
        ends = (row.source if first else "", row.decision, row.target or "–", found.label(row.target) or "")
        share = "–" if row.probability != row.probability else f"{row.probability:.3f}"
        stored = "the run's answer" if first and row.stored else row.taken_by
        table.add_row(*(cell_text(cell, MAX_LABEL_LENGTH) for cell in ends), share, cell_text(stored, MAX_LABEL_LENGTH))
    return table


def count_table(task: Task) -> Table:
    fold = f", fold {task.fold}" if task.fold else ""
    counted = ("entities", "relations", "triples", "attribute triples", "without triples")
    table = new_table(cell_text(visible(task.name, MAX_LABEL_LENGTH) + fold), ["", *counted], right=counted)
    for name, graph in (("source", task.source), ("target", task.target)):
        counts = (graph.n_entities, graph.n_relations, graph.n_triples, graph.n_attribute_triples)
        table.add_row(name, *(f"{c:,}" for c in (*counts, int(graph.isolated().sum()))))
    return table


def kinds_line(found: Mapping[str, Any]) -> str:
    """List the kinds of entities of both graphs, from `summary`; empty if unknown."""
    sides = [
        f"{side} " + ", ".join(f"{n:,} {kind}" for kind, n in found[side]["kinds"].items())
        for side in SIDES
        if found[side]["kinds"]
    ]
    return f"entities: {'; '.join(sides)} (all are mapped, unless --entities chooses)" if sides else ""


def file_table(found: Mapping[str, Any]) -> Table:
    """Return the files of both graphs, from `summary`."""
    counted = ("triples", "attribute triples")
    table = new_table("Files read", ["", "file", "format", *counted], right=counted)
    for side in SIDES:
        for file in found[side]["files"]:
            counts = (f"{file[name]:,}" for name in ("triples", "attribute_triples"))
            table.add_row(side, cell_text(file["path"]), cell_text(file["format"]), *counts)
    return table


def relation_table(found: Mapping[str, Any]) -> Table:
    """Return the most frequent relations of both graphs side by side, from `summary`."""
    table = new_table("Most frequent relations", ["source", "triples", "target", "triples"], right=["triples"])
    rows = ([(row["relation"], f"{row['triples']:,}") for row in found[side]["top_relations"]] for side in SIDES)
    for left, right in zip_longest(*rows, fillvalue=("", "")):
        table.add_row(*(cell_text(value, MAX_LABEL_LENGTH) for value in (*left, *right)))
    return table


def estimate_table(estimates: Mapping[str, Any]) -> Table:
    measures = ("memory", "an epoch", "epochs", "in all")
    title = f"To expect on {estimates['device']} (within a factor of two)"
    table = new_table(cell_text(title), ["preset", *measures, "suggestion"], right=measures)
    for preset in (name for name in PRESETS if name in estimates):
        row = estimates[preset]
        quick = row["suggestion"] == {"max_epochs": 0}
        changes = "--quick" if quick else " ".join(f"--set {one}" for one in assignments(row["suggestion"]))
        advice = f"{changes}: {_duration(row['seconds_with_suggestion'])}" if changes else "none needed"
        times = (_duration(row["seconds_per_epoch"]), str(row["epochs"]), _duration(row["seconds"]))
        table.add_row(preset, f"{row['mib']:,} MiB", *times, advice)
    return table


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
