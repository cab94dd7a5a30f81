"""Tables of scores and counts for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
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
from mixtea.graph.task import Task
from mixtea.messages import MAX_LABEL_LENGTH, METRICS, decoded_by, origin_of, visible

SIDES = ("source", "target")
MAX_CELL_CHARS = 4096  # characters, of titles and of paths


def cell_text(value: object, longest: int = MAX_CELL_CHARS) -> Text:
    """Return the contents of a cell for text of unknown origin: no markup, nothing invisible, and shortened."""
    return Text(visible(value, longest))


def approximate_label(config: Config) -> str:
    """Return the approximate settings, as `votes_every=2, normaliser=moments`; empty for an exact run."""
    return ", ".join(assignments(config.approximations()))


def score_table(
    scores: Mapping[str, float], behind: Mapping[str, int], title: str, config: Config, answers: Answers
) -> Table:
    """Return the scores of a run with these `answers`; the title names the active voters.

    `behind` is the number of links or mappings of each share: small ones get an interval.
    """
    unlinked = "" if config.only_student_decodes else "unlinked "
    pool = "their own ends" if config.candidates == "given" else f"all {unlinked}entities"
    if config.approximations():
        title += f", approximate ({approximate_label(config)})"
    decoder = f"{config.decoder.replace('_', '-')}, {decoded_by(answers.active_voters)}"
    caption = f"{title} ({behind['hits@1']:,} links, ranked among {pool}, ties in expectation; {decoder})"
    said = "; ".join([*_trust(scores, behind), *filter(None, [origin_of(answers.task.links_from)])])
    table = Table(title=cell_text(caption), title_justify="left", caption=said or None, caption_justify="left")
    table.add_column("direction")
    for name in METRICS.values():
        table.add_column(name, justify="right")
    for label, prefix in (("source to target", ""), ("target to source", "backward_")):
        table.add_row(label, *(_share(scores, behind, prefix + metric) for metric in METRICS))
    return table


def evidence_table(found: pd.DataFrame) -> Table:
    """Return Hit@1 by deciding voters, and by whether the names of a link are equal."""
    table = Table(title="Hit@1 by evidence", title_justify="left", caption=NOTE, caption_justify="left")
    table.add_column("decided by")
    for part, words in PARTS.items():
        table.add_column(f"{words} ({int(found[part + LINKS].iloc[0]):,})", justify="right")
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
    table = Table(title=cell_text(found.summary()), title_justify="left")
    for heading in ("source", "decision", "target", "", "probability", "taken by"):
        table.add_column(heading, justify="right" if heading == "probability" else "left")
    for row in found.frame.itertuples():
        first = row.rank == 1
        ends = (row.source if first else "", row.decision, row.target or "–", found.label(row.target) or "")
        share = "–" if row.probability != row.probability else f"{row.probability:.3f}"
        stored = "the run's answer" if first and row.stored else row.taken_by
        table.add_row(*(cell_text(cell, MAX_LABEL_LENGTH) for cell in ends), share, cell_text(stored, MAX_LABEL_LENGTH))
    return table


def count_table(task: Task) -> Table:
    fold = f", fold {task.fold}" if task.fold else ""
    table = Table(title=cell_text(visible(task.name, MAX_LABEL_LENGTH) + fold), title_justify="left")
    for heading in ("", "entities", "relations", "triples", "attribute triples", "without triples"):
        table.add_column(heading, justify="right" if heading else "left")
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
    table = Table(title="Files read", title_justify="left")
    for heading in ("", "file", "format", "triples", "attribute triples"):
        table.add_column(heading, justify="right" if "triples" in heading else "left")
    for side in SIDES:
        for file in found[side]["files"]:
            counts = (f"{file[name]:,}" for name in ("triples", "attribute_triples"))
            table.add_row(side, cell_text(file["path"]), cell_text(file["format"]), *counts)
    return table


def relation_table(found: Mapping[str, Any]) -> Table:
    """Return the most frequent relations of both graphs side by side, from `summary`."""
    table = Table(title="Most frequent relations", title_justify="left")
    for side in SIDES:
        table.add_column(side)
        table.add_column("triples", justify="right")
    rows = ([(row["relation"], f"{row['triples']:,}") for row in found[side]["top_relations"]] for side in SIDES)
    for left, right in zip_longest(*rows, fillvalue=("", "")):
        table.add_row(*(cell_text(value, MAX_LABEL_LENGTH) for value in (*left, *right)))
    return table


def estimate_table(estimates: Mapping[str, Any]) -> Table:
    title = f"To expect on {estimates['device']} (within a factor of two)"
    table = Table(title=cell_text(title), title_justify="left")
    for heading in ("preset", "memory", "an epoch", "epochs", "in all", "suggestion"):
        table.add_column(heading, justify="left" if heading in ("preset", "suggestion") else "right")
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
