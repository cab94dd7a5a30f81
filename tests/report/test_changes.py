"""What became of earlier mappings, reason by reason, between aligners that answer as they are told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from conftest import make_graph

from mixtea import Task
from mixtea.decide.mapping import Mapping
from mixtea.graph.graph import Graph
from mixtea.report.compare import CHANGE_REASONS, COLUMNS, UNCHANGED, drop_unchanged, explain_changes

EDGES = [(i, 0, i + 1) for i in range(8)]


def named(graph: Graph, names: str) -> Graph:
    return replace(graph, ids=np.array(list(names), dtype=object), relations=np.array(["r"], dtype=object))


class Told:
    """An aligner that maps as it is told."""

    def __init__(self, source, target, mapping, given=None):
        none = np.empty((0, 2), dtype=np.int64)
        self.task_ = Task.of_two("told", source, target, none, none, none)
        self.mapping, self.given = mapping, given or {}

    def map(self, with_given=False):
        rows = dict(self.mapping) | (self.given if with_given else {})
        frame = pd.DataFrame({"source": list(rows), "target": pd.Series(list(rows.values()), dtype=object)})
        frame = frame.assign(given=[s in self.given for s in rows], probability=0.9)
        return Mapping(self.task_.source, self.task_.target, frame)


def test_every_reason_is_found():
    source, target = named(make_graph(EDGES, 9), "abcdefghi"), named(make_graph(EDGES, 9), "ABCDEFGHI")
    old = Told(source, target, dict(zip("abcdefgh", "ABCDEFGH", strict=True)))
    without_a = named(make_graph([*EDGES[:6], (6, 0, 6)], 8), "bcdefghi")  # a is gone; the edge h-i is another one
    target_now = named(make_graph(EDGES, 9), "AXCDEFGHI")  # B is gone, X is new
    new = Told(
        without_a,
        target_now,
        {"b": "X", "c": None, "d": "X", "e": "D", "f": "F", "g": "G", "h": "I"},
        {"c": "I", "i": "D"},
    )
    found = explain_changes(old, new).set_index("source")
    assert found.columns.tolist() == [*(name for name in COLUMNS if name != "source"), "why"]
    as_before = found[found["change"] == UNCHANGED]
    assert as_before.index.tolist() == ["f", "g"] and as_before["why"].isna().all()
    texts = found[["change", "target_before", "target", "why"]]
    assert texts.loc["a"].tolist() == ["gone", "A", None, "source gone"]
    assert texts.loc["b"].tolist() == ["changed", "B", "X", "target gone"]
    assert texts.loc["c"].tolist() == ["changed", "C", "I", "given"]
    assert texts.loc["i"].tolist() == ["new", None, "D", "given"]
    assert found.loc["d", "why"] == "given to another"
    assert found.loc["h", "why"] == "own triples"
    assert set(found["why"].dropna()) <= set(CHANGE_REASONS)


def test_a_source_that_was_not_there():
    source, target = named(make_graph(EDGES, 9), "abcdefghi"), named(make_graph(EDGES, 9), "ABCDEFGHI")
    old = Told(source, target, {"a": "A"})
    new = Told(named(make_graph(EDGES, 9), "abcdefghj"), target, {"a": "A", "j": "I"})
    found = drop_unchanged(explain_changes(old, new))
    assert found.drop(columns="probability_before").values.tolist() == [["new", "j", None, "I", 0.9, "new source"]]


def test_neighbours_and_what_is_left():
    source, target = named(make_graph(EDGES, 9), "abcdefghi"), named(make_graph(EDGES, 9), "ABCDEFGHI")
    old = Told(source, target, dict(zip("abcdefghi", "ABCDEFGHI", strict=True)))
    new = Told(source, target, dict(zip("abcdefghi", "BACDEFGHA", strict=True)))
    found = drop_unchanged(explain_changes(old, new)).set_index("source")["why"]
    assert found.to_dict() == {"a": "neighbours", "b": "neighbours", "i": "learning"}


def test_nothing_changed():
    source = named(make_graph(EDGES, 9), "abcdefghi")
    told = Told(source, source, {"a": "a", "b": None})
    assert explain_changes(told, told)[["change", "source", "why"]].values.tolist() == [["unchanged", "a", None]]


def test_a_run_differs_from_itself_in_nothing(fitted):
    found = explain_changes(fitted, fitted)
    assert len(found) > 100 and set(found["change"]) == {UNCHANGED}
