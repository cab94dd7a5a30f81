"""Contents of a report as plain numbers and texts: counts, scores, settings, columns of tables, examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from mixtea.calibration.calibrator import BINS
from mixtea.config import FIELDS, Config
from mixtea.decide.answers import Answers
from mixtea.decide.candidates import Candidates
from mixtea.decide.mapping import Mapping as EntityMapping
from mixtea.evaluation.scores import HITS, LINKS, PARTS, STRUCTURE, voters_text
from mixtea.explain.side_by_side import ColumnPair, SideBySide, column_pairs
from mixtea.explain.value_lines import value_lines
from mixtea.fields import written
from mixtea.graph.graph import DisplayName, Graph, display_name
from mixtea.graph.task import SPLITS, Task
from mixtea.messages import METRICS
from mixtea.voters.learned import Learned

DIRECTIONS = {"": "source to target", "backward_": "target to source"}
SPLIT_NAMES = dict(zip(SPLITS, ("training", "validation", "test"), strict=True))
DEGREE_RANGES = ((0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, None))
MAX_CURVE_POINTS = 400  # of a curve that is a few centimetres wide
MAX_COLUMNS_SHOWN, MAX_VALUES_SHOWN = 40, 12  # pairs of columns, and values of an example, that are shown
N_COLUMN_EXAMPLES = 3
NameOf = Callable[[Graph, int], DisplayName]


def graph_counts(task: Task) -> dict[str, Any]:
    """Return headings and counts of each graph: of relations and triples, or of columns and values if it has none."""
    sides = {"source": task.source, "target": task.target}
    if not has_triples(task):
        rows = {side: (g.n_entities, g.attributes.predicate.n_texts, len(g.attributes)) for side, g in sides.items()}
        return {"headings": ("entities", "columns", "values"), "rows": rows}
    counts = {
        side: (g.n_entities, g.n_relations, g.n_triples, int(g.isolated().sum())) for side, g in sides.items()
    }  # fmt: skip
    return {"headings": ("entities", "relations", "triples", "without triples"), "rows": counts}


def has_triples(task: Task) -> bool:
    """Return whether a graph has relation triples."""
    return bool(task.source.n_triples or task.target.n_triples)


def learned_rows(learned: Learned) -> list[dict[str, Any]]:
    """Return a row per opinion: its weight, and where it compares texts the share of matches it is wrong about."""
    names = sorted({*learned.voter_weights, *learned.views}, key=lambda name: -learned.voter_weights.get(name, 1.0))
    wrong = {name: view.wrong for name, view in learned.views.items()}
    return [{"who": name, "weight": learned.voter_weights.get(name, 1.0), "wrong": wrong.get(name)} for name in names]


def changed_settings(config: Config, preset: str) -> list[dict[str, Any]]:
    """Return a row per setting that differs from the preset: its name, both values, its effect."""
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
    """Return a row per direction with its metrics, None for missing ones; no row if all are missing."""
    rows = [
        {"links": links, "direction": words, "n": n_links}
        | {name: scores.get(prefix + back + name) for name in METRICS}
        for back, words in DIRECTIONS.items()
    ]
    return [row for row in rows if any(row[name] is not None for name in METRICS)]


def by_evidence(table: pd.DataFrame, task: Task) -> dict[str, Any]:
    """Return headings and rows (deciding voters, Hit@1 by part of the links, None without a link) of that table.

    Structure has a row if there are triples.
    """
    table = table if has_triples(task) else table.drop(index=STRUCTURE, errors="ignore")
    if table.empty:
        return {}
    headings = [f"{words} ({int(table[part + LINKS].iloc[0]):,})" for part, words in PARTS.items()]
    shares = {str(row): [float(cells[part + HITS]) for part in PARTS] for row, cells in table.iterrows()}
    rows = {voters_text(row): [None if x != x else x for x in found] for row, found in shares.items()}
    return {"headings": headings, "rows": rows}


def voters_line(answers: Answers) -> str:
    """List the active and the inactive voters."""
    inactive = [name for name in answers.voter_names if name not in answers.active_voters]
    active = ", ".join(answers.active_voters or ["none"])
    return active + (f"; without an opinion: {', '.join(inactive)}" if inactive else "")


def last_validation(history: pd.DataFrame) -> dict[str, float]:
    """Return the scores of the last validated epoch, by their names in the history."""
    names = [name for name in history if str(name).startswith("valid_")]
    rows = history[names].dropna(how="all")
    return {} if rows.empty else {str(name): float(rows[name].iloc[-1]) for name in names}


def thinned(history: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """Return the columns that exist, in epochs with any of them, at most MAX_CURVE_POINTS at even distances."""
    there = [name for name in columns if name in history]
    if not there:
        return pd.DataFrame({"epoch": []})
    rows = history[["epoch", *there]].dropna(how="all", subset=there)
    places = np.linspace(0, len(rows) - 1, min(len(rows), MAX_CURVE_POINTS)).round().astype(int)
    return rows.iloc[places]


def evaluation_links(task: Task) -> tuple[str, np.ndarray]:
    """Return (split, links) to evaluate mappings: the test links, else the validation links, else ("", no links)."""
    for split in ("test", "valid"):
        if len(getattr(task, split)):
            return split, getattr(task, split)
    return "", np.empty((0, 2), dtype=np.int64)


def check_mappings(candidates: Candidates, links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows, right): the mappings whose source has a link, and whether each agrees with one."""
    rows = np.flatnonzero(np.isin(candidates.source_index, links[:, 0]))
    m = candidates.target.n_entities
    found = candidates.source_index[rows] * m + candidates.target_index[rows, 0]
    return rows, np.isin(found, links[:, 0] * m + links[:, 1])


def by_degree(triples: np.ndarray, right: np.ndarray) -> list[dict[str, Any]]:
    """Return for each range of triple counts of the source the number of mappings and the share that is right."""
    ranges = [(low, np.inf if high is None else high) for low, high in DEGREE_RANGES]
    places = [(triples >= low) & (triples <= high) for low, high in ranges]
    names = [f"{low}+" if high == np.inf else str(low) if low == high else f"{low}–{high}" for low, high in ranges]
    return [
        {"triples": name, "n": int(here.sum()), "right": float(right[here].mean())}
        for name, here in zip(names, places, strict=True)
        if here.any()
    ]


def bin_counts(probability: np.ndarray, bins: int = BINS) -> np.ndarray:
    """[bins]: count the mappings in equal ranges of probability, divided as in `reliability`."""
    return np.bincount(np.minimum((probability * bins).astype(int), bins - 1), minlength=bins)


def draw_rows(rows: np.ndarray, probability: np.ndarray, seed: int, n: int = 10) -> np.ndarray:
    """Draw at most n of the rows at random, the same for a seed, most probable first."""
    chosen = np.sort(np.random.default_rng(seed).choice(rows, size=min(n, len(rows)), replace=False))
    return chosen[np.argsort(-probability[chosen], kind="stable")]


def most_uncertain(probability: np.ndarray, n: int = 10) -> np.ndarray:
    """Return the rows of the n probabilities nearest to one half, most probable first."""
    chosen = np.sort(np.argsort(np.abs(probability - 0.5), kind="stable")[:n])
    return chosen[np.argsort(-probability[chosen], kind="stable")]


def example_mapping(
    candidates: Candidates, row: int, links: np.ndarray, name_of: NameOf = display_name
) -> dict[str, Any]:
    """Describe a row of candidates: names, probability, voters, runner-up, and the right targets."""
    source, found = int(candidates.source_index[row]), candidates.target_index[row].tolist()
    right, probability = links[links[:, 0] == source, 1].tolist(), candidates.probability[row].tolist()
    return {
        "source": name_of(candidates.source, source),
        "target": name_of(candidates.target, found[0]),
        "probability": probability[0],
        "voters": candidates.names_of(row),
        "runner_up": (name_of(candidates.target, found[1]), probability[1]) if len(found) > 1 else None,
        "right": found[0] in right if right else None,
        "right_targets": [name_of(candidates.target, target) for target in right[:3]],
    }


def compare_columns(compare: SideBySide, mapping: EntityMapping, seed: int) -> dict[str, Any]:
    """Return column pairs, by number of mapped pairs with both, and examples; {} if the task is not of tables."""
    task = compare.task
    if not all(side.n_attribute_triples > side.n_triples for side in (task.source, task.target)):
        return {}
    rows = mapping.pairs()
    pairs = np.stack([task.source.find(rows["source"].to_numpy()), task.target.find(rows["target"].to_numpy())], axis=1)
    found = sorted(column_pairs(compare, pairs), key=lambda one: -one.n_both)
    probability = rows["probability"].to_numpy(np.float64)
    return {
        "pairs": [_in_words(task, one) for one in found[:MAX_COLUMNS_SHOWN]],
        "more": max(len(found) - MAX_COLUMNS_SHOWN, 0),
        "n_mapped": len(pairs),
        "examples": [
            _example(compare, pairs[row], float(probability[row]))
            for row in draw_rows(np.arange(len(pairs)), probability, seed, N_COLUMN_EXAMPLES).tolist()
        ],
    }


def _in_words(task: Task, one: ColumnPair) -> dict[str, Any]:
    """Return a column pair with display names and fill rates."""
    names = dict.fromkeys([task.source.shorten(one.source), task.target.shorten(one.target)])
    shares = {"source": one.n_source / task.source.n_entities, "target": one.n_target / task.target.n_entities}
    return one._asdict() | {"names": [*names], "filled": shares}


def _example(compare: SideBySide, pair: np.ndarray, probability: float) -> dict[str, Any]:
    source, target = pair.tolist()
    lines, n = value_lines(compare, source, target, MAX_VALUES_SHOWN)
    task = compare.task
    return {
        "source": display_name(task.source, source), "target": display_name(task.target, target),
        "probability": probability, "lines": lines, "more": n - len(lines),
    }  # fmt: skip
