"""What a report shows, as plain numbers and words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from mixtea.calibration.calibrator import BINS
from mixtea.config import FIELDS, Config
from mixtea.decide.answers import Answers
from mixtea.decide.candidates import Candidates
from mixtea.evaluation.by_voter import HITS, LINKS, PARTS, STRUCTURE, deciders
from mixtea.fields import written
from mixtea.graph.graph import display_name
from mixtea.graph.task import SPLITS, Task
from mixtea.messages import MAX_LABEL_LENGTH, METRICS, visible

DIRECTIONS = {"": "source to target", "backward_": "target to source"}
SPLIT_NAMES = dict(zip(SPLITS, ("training", "validation", "test"), strict=True))
DEGREES = ((0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, None))
MOST_POINTS = 400  # of a curve that is a few centimetres wide


def shown(label: object) -> str:
    """A label of unknown origin as one line of text, however long it is."""
    return visible(label, MAX_LABEL_LENGTH)


def graph_counts(task: Task) -> dict[str, Any]:
    """Headings and, of each graph, numbers: of relations and triples, or of columns and values where none has any."""
    sides = {"source": task.source, "target": task.target}
    if not has_triples(task):
        rows = {side: (g.n_entities, g.attributes.predicate.n_texts, len(g.attributes)) for side, g in sides.items()}
        return {"headings": ("entities", "columns", "values"), "rows": rows}
    counts = {
        side: (g.n_entities, g.n_relations, g.n_triples, int(g.isolated().sum())) for side, g in sides.items()
    }  # fmt: skip
    return {"headings": ("entities", "relations", "triples", "without triples"), "rows": counts}


def has_triples(task: Task) -> bool:
    """Whether a graph has relations, so that there is structure to speak of."""
    return bool(task.source.n_triples or task.target.n_triples)


def changed_settings(config: Config, preset: str) -> list[dict[str, Any]]:
    """A row a setting that is not as the preset has it: its name, both values, what it does."""
    usual, here = Config.preset(preset).to_dict(), config.to_dict()
    return [
        {
            "field": name,
            "preset": written(usual[name]),
            "here": written(here[name]),
            "why": FIELDS[name].metadata["why"],
        }
        for name in here
        if here[name] != usual[name]
    ]


def score_rows(scores: Mapping[str, float], links: str, prefix: str = "", *, n_links: int = 0) -> list[dict[str, Any]]:
    """A row a direction with the metrics that are there, None for others; no row where there is none at all."""
    rows = [
        {"links": links, "direction": words, "n": n_links}
        | {name: scores.get(prefix + back + name) for name in METRICS}
        for back, words in DIRECTIONS.items()
    ]
    return [row for row in rows if any(row[name] is not None for name in METRICS)]


def by_evidence(table: pd.DataFrame, task: Task) -> dict[str, Any]:
    """Headings and rows (who decides, Hit@1 by part of the links, None where there is no link) of that table.

    Structure has a row where there is any.
    """
    table = table if has_triples(task) else table.drop(index=STRUCTURE, errors="ignore")
    if table.empty:
        return {}
    headings = [f"{words} ({int(table[part + LINKS].iloc[0]):,})" for part, words in PARTS.items()]
    shares = {str(row): [float(cells[part + HITS]) for part in PARTS] for row, cells in table.iterrows()}
    rows = {deciders(row): [None if x != x else x for x in found] for row, found in shares.items()}
    return {"headings": headings, "rows": rows}


def who_spoke(answers: Answers) -> str:
    """The voters that decided, and those that were silent."""
    silent = [name for name in answers.voter_names if name not in answers.spoke]
    return ", ".join(answers.spoke or ["nobody"]) + (f"; silent: {', '.join(silent)}" if silent else "")


def last_validation(history: pd.DataFrame) -> dict[str, float]:
    """The scores of the last epoch that was validated, by their names in the history."""
    names = [name for name in history if str(name).startswith("valid_")]
    rows = history[names].dropna(how="all")
    return {} if rows.empty else {str(name): float(rows[name].iloc[-1]) for name in names}


def thinned(history: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Those of the columns that are there, in the epochs that have any of them; evenly fewer of a long training."""
    there = [name for name in columns if name in history]
    if not there:
        return pd.DataFrame({"epoch": []})
    rows = history[["epoch", *there]].dropna(how="all", subset=there)
    places = np.linspace(0, len(rows) - 1, min(len(rows), MOST_POINTS)).round().astype(int)
    return rows.iloc[places]


def truth_of(task: Task) -> tuple[str, np.ndarray]:
    """(split, links) to judge mappings by: the test links, else the validation links, else ("", no links)."""
    for split in ("test", "valid"):
        if len(getattr(task, split)):
            return split, getattr(task, split)
    return "", np.empty((0, 2), dtype=np.int64)


def check(candidates: Candidates, links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows, right): the mappings whose source has a link, and whether each leads to a target it is linked to."""
    rows = np.flatnonzero(np.isin(candidates.source_index, links[:, 0]))
    m = candidates.target.n_entities
    found = candidates.source_index[rows] * m + candidates.target_index[rows, 0]
    return rows, np.isin(found, links[:, 0] * m + links[:, 1])


def by_degree(triples: np.ndarray, right: np.ndarray) -> list[dict[str, Any]]:
    """For each range of how many triples a source has: how many mappings, and the share that is right."""
    ranges = [(low, np.inf if high is None else high) for low, high in DEGREES]
    places = [(triples >= low) & (triples <= high) for low, high in ranges]
    names = [f"{low}+" if high == np.inf else str(low) if low == high else f"{low}–{high}" for low, high in ranges]
    return [
        {"triples": name, "n": int(here.sum()), "right": float(right[here].mean())}
        for name, here in zip(names, places, strict=True)
        if here.any()
    ]


def bin_counts(probability: np.ndarray, bins: int = BINS) -> np.ndarray:
    """[bins]: how many mappings are in each of equal ranges of probability, as `reliability` divides them."""
    return np.bincount(np.minimum((probability * bins).astype(int), bins - 1), minlength=bins)


def drawn(rows: np.ndarray, probability: np.ndarray, seed: int, n: int = 10) -> np.ndarray:
    """At most n of the rows, drawn at random but the same for a seed, the most probable first."""
    chosen = np.sort(np.random.default_rng(seed).choice(rows, size=min(n, len(rows)), replace=False))
    return chosen[np.argsort(-probability[chosen], kind="stable")]


def doubtful(probability: np.ndarray, n: int = 10) -> np.ndarray:
    """The rows of the n probabilities nearest to one half, the most probable first."""
    chosen = np.sort(np.argsort(np.abs(probability - 0.5), kind="stable")[:n])
    return chosen[np.argsort(-probability[chosen], kind="stable")]


def example(candidates: Candidates, row: int, links: np.ndarray) -> dict[str, Any]:
    """A row of candidates in words: labels, probability, who voted, the runner-up, and the targets that are right."""
    source, found = int(candidates.source_index[row]), candidates.target_index[row].tolist()
    right, probability = links[links[:, 0] == source, 1].tolist(), candidates.probability[row].tolist()
    label = partial(display_name, candidates.target)
    return {
        "source": display_name(candidates.source, source),
        "target": label(found[0]),
        "probability": probability[0],
        "voters": candidates.names_of(row),
        "runner_up": (label(found[1]), probability[1]) if len(found) > 1 else None,
        "right": found[0] in right if right else None,
        "right_targets": [label(target) for target in right[:3]],
    }
