"""Scores and counts as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from mixtea.config import PRESETS, Config
from mixtea.data.task import Task

METRICS = ("hits@1", "hits@5", "hits@10", "mrr")
DECODED = {"student": "the student alone", "agreement": "student and neighbour agreement", "all": "all voters"}
NAMES = {"hits@1": "Hit@1", "hits@5": "Hit@5", "hits@10": "Hit@10", "mrr": "MRR"}


def approximate_label(config: Config) -> str:
    """`votes_every=2, normaliser=moments` and the like; empty for an exact run."""
    return ", ".join(f"{name}={value}" for name, value in config.approximations().items())


def score_table(scores: Mapping[str, float], n_links: int, title: str, config: Config) -> Table:
    plain = (config.decoder, config.decode_voters) == ("nearest", "student")
    pool = "their own ends" if config.candidates == "given" else f"all {'' if plain else 'unlinked '}entities"
    if config.approximations():
        title += f", approximate ({approximate_label(config)})"
    decoder = f"{config.decoder.replace('_', '-')}, {DECODED[config.decode_voters]}"
    caption = f"{title} ({n_links:,} links, ranked among {pool}, ties in expectation; {decoder})"
    table = Table(title=Text(caption), title_justify="left", caption=_trust(scores), caption_justify="left")
    table.add_column("direction")
    for metric in METRICS:
        table.add_column(NAMES[metric], justify="right")
    for label, prefix in (("source to target", ""), ("target to source", "backward_")):
        table.add_row(label, *(f"{scores[prefix + metric]:.3f}" for metric in METRICS))
    return table


def _trust(scores: Mapping[str, float]) -> str | None:
    """What can be said of the probabilities, in words."""
    if "calibration_error" not in scores:
        return None
    said = f"probabilities: expected calibration error {scores['calibration_error']:.3f}"
    if "accepted@95_precision" in scores:
        share, precision = scores["accepted@95"], scores["accepted@95_precision"]
        said += f"; {share:.0%} of these mappings could be accepted unseen at 95 % precision ({precision:.1%} found)"
    return said


def count_table(task: Task) -> Table:
    table = Table(title=Text(task.name + (f", fold {task.fold}" if task.fold else "")), title_justify="left")
    for heading in ("", "entities", "relations", "triples", "attribute triples", "without triples"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, graph in (("source", task.source), ("target", task.target)):
        counts = (graph.n_entities, graph.n_relations, graph.n_triples, graph.n_attribute_triples)
        table.add_row(name, *(f"{c:,}" for c in counts), f"{int(graph.isolated().sum()):,}")
    return table


def estimate_table(estimates: Mapping[str, Any]) -> Table:
    title = f"To expect on {estimates['device']} (within a factor of two)"
    table = Table(title=title, title_justify="left")
    for heading in ("preset", "memory", "an epoch", "epochs", "a training", "suggestion"):
        table.add_column(heading, justify="left" if heading in ("preset", "suggestion") else "right")
    for preset in PRESETS:
        row = estimates[preset]
        changes = " ".join(f"--set {name}={value}" for name, value in row["suggestion"].items())
        advice = f"{changes}: {_duration(row['seconds_with_suggestion'])}" if changes else "none needed"
        times = (_duration(row["seconds_per_epoch"]), str(row["epochs"]), _duration(row["seconds"]))
        table.add_row(preset, f"{row['mib']:,} MiB", *times, advice)
    return table


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
