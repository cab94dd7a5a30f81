"""Compare table columns for a report: fill rates, equality, and a few pairs side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixtea.decide.mapping import Mapping
from mixtea.explain.columns import ColumnPair, column_pairs
from mixtea.explain.side_by_side import SideBySide
from mixtea.explain.value_lines import value_lines
from mixtea.graph.graph import display_name
from mixtea.graph.task import Task
from mixtea.report.findings import draw_rows

MAX_COLUMNS_SHOWN, MAX_VALUES_SHOWN = 40, 12  # pairs of columns, and values of an example, that are shown
N_EXAMPLES = 3


def has_columns(task: Task) -> bool:
    """Return whether both sides have more attribute triples than triples, as tables do."""
    return all(side.n_attribute_triples > side.n_triples for side in (task.source, task.target))


def compare_columns(compare: SideBySide, mapping: Mapping, seed: int) -> dict[str, Any]:
    """Return column pairs, by number of mapped pairs with both, and examples; {} if the task is not of tables."""
    task = compare.task
    if not has_columns(task):
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
            for row in draw_rows(np.arange(len(pairs)), probability, seed, N_EXAMPLES).tolist()
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
