"""What a report shows, from small inputs written out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import make_graph, said_graph, said_task

from mixtea.calibration.calibrator import reliability
from mixtea.config import STRUCTURE_VOTERS, Config
from mixtea.decide.candidates import Candidates
from mixtea.decide.mapping import Mapping
from mixtea.evaluation.scores import hits_by_voter
from mixtea.explain.side_by_side import SideBySide
from mixtea.graph.graph import DisplayName, display_name
from mixtea.graph.task import Task
from mixtea.messages import MAX_LABEL_LENGTH, visible
from mixtea.report import figures, findings
from mixtea.report.findings import MAX_COLUMNS_SHOWN, MAX_VALUES_SHOWN, compare_columns

NOTHING = np.empty((0, 2), dtype=np.int64)


def links(*pairs):
    return np.array(pairs, dtype=np.int64)


@pytest.fixture
def candidates():
    """Sources 1 to 4 with two candidates each."""
    source, target = make_graph([(0, 0, 1), (1, 0, 2), (2, 0, 3)], 5, "s"), make_graph([(0, 0, 1)], 6, "t")
    found = np.array([[1, 2], [3, 2], [3, 0], [0, 5]])
    probability = np.array([[0.9, 0.05], [0.55, 0.4], [0.45, 0.5], [0.0, 0.0]])
    bits = np.array([[15, 0], [5, 0], [2, 8], [0, 0]])
    voters, names = (bits[..., None] >> np.arange(4) & 1).astype(bool), STRUCTURE_VOTERS
    return Candidates(source, target, np.arange(1, 5), found, probability, probability, voters, np.ones(4), names)


def test_mappings_are_checked_by_the_links_of_their_source(candidates):
    rows, right = findings.check_mappings(candidates, links((1, 1), (2, 2), (2, 3), (3, 4), (0, 0)))
    assert rows.tolist() == [0, 1, 2] and right.tolist() == [True, True, False]
    assert [len(a) for a in findings.check_mappings(candidates, NOTHING)] == [0, 0]


def test_test_links_are_the_truth_then_validation_links():
    graph = make_graph([(0, 0, 1)], 2)
    splits = [(NOTHING, links((1, 1))), (links((0, 0)), NOTHING), (NOTHING, NOTHING)]
    tasks = [Task.of_two("t", graph, graph, NOTHING, valid, test) for valid, test in splits]
    assert [(name, found.tolist()) for name, found in map(findings.evaluation_links, tasks)] == [
        ("test", [[1, 1]]), ("valid", [[0, 0]]), ("", []),
    ]  # fmt: skip


def test_accuracy_by_degree_has_the_ranges_that_occur():
    triples = np.array([0, 1, 1, 3, 4, 16, 17, 1000])
    right = np.array([False, True, False, True, True, True, False, False])
    found = [(row["triples"], row["n"], row["right"]) for row in findings.by_degree(triples, right)]
    assert found == [("0", 1, 0.0), ("1", 2, 0.5), ("3–4", 2, 1.0), ("9–16", 1, 1.0), ("17+", 2, 0.0)]


def test_ranges_of_probability_are_those_of_the_reliability():
    probability = np.array([0.0, 0.05, 0.1, 0.95, 1.0])
    assert findings.bin_counts(probability).tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    assert [row["n"] for row in reliability(probability, probability > 0)] == [2, 1, 2]
    assert findings.bin_counts(probability[:0], 4).tolist() == [0, 0, 0, 0]


def test_examples_are_drawn_alike_for_a_seed_and_sorted_by_probability():
    probability = np.arange(100) / 100
    first, again = (findings.draw_rows(np.arange(0, 100, 2), probability, seed=3, n=4) for _ in range(2))
    assert first.tolist() == again.tolist() == sorted(first, reverse=True) and not (first % 2).any()
    assert findings.draw_rows(np.array([7, 5]), probability, seed=1).tolist() == [7, 5]
    assert findings.draw_rows(np.array([], dtype=int), probability, seed=1).tolist() == []
    assert findings.most_uncertain(np.array([0.1, 0.52, 0.9, 0.49, 0.3]), n=3).tolist() == [1, 3, 4]


def test_an_example_in_words(candidates):
    known = links((1, 1), (2, 2), (2, 4))
    first, second, _, last = (findings.example_mapping(candidates, row, known) for row in range(4))
    assert first == {
        "source": DisplayName("s1"), "target": DisplayName("t1"), "probability": 0.9,
        "runner_up": (DisplayName("t2"), 0.05), "right": True,
        "voters": ["forward", "backward", "propagation", "agreement"], "right_targets": [DisplayName("t1")],
    }  # fmt: skip
    assert (second["voters"], second["right"]) == (["forward", "propagation"], False)
    assert second["right_targets"] == [DisplayName("t2"), DisplayName("t4")]
    assert (last["voters"], last["right"], last["right_targets"]) == ([], None, [])


def test_counts_settings_and_scores():
    graph = make_graph([(0, 0, 1), (1, 1, 0)], 3)
    task = Task.of_two("t", graph, make_graph([], 2), NOTHING, NOTHING, NOTHING)
    assert findings.graph_counts(task)["rows"] == {"source": (3, 2, 2, 1), "target": (2, 0, 0, 2)}
    (changed,) = findings.changed_settings(Config.preset("best", max_epochs=6), "best")
    assert (changed["field"], changed["preset"], changed["here"]) == ("max_epochs", "60", "6") and changed["why"]
    (row,) = findings.score_rows({"valid_hits@1": 0.5, "valid_mrr": 0.6}, "validation", "valid_")
    assert (row["direction"], row["hits@1"], row["hits@5"], row["mrr"]) == ("source to target", 0.5, None, 0.6)
    assert findings.score_rows({}, "test") == []


def test_the_last_validation_and_the_epochs_of_a_curve():
    history = pd.DataFrame({"epoch": [1, 2, 3], "loss": [3.0, 2.0, 1.0], "valid_mrr": [np.nan, 0.4, np.nan]})
    assert findings.last_validation(history) == {"valid_mrr": 0.4}
    assert findings.last_validation(history[["epoch", "loss"]]) == {}
    assert findings.thinned(history, ["valid_mrr", "other"]).to_numpy().tolist() == [[2.0, 0.4]]
    assert len(findings.thinned(history, ["other"])) == 0
    long = pd.DataFrame({"epoch": np.arange(1, 10_001), "loss": 1.0})
    epochs = findings.thinned(long, ["loss"])["epoch"].tolist()
    assert (len(epochs), epochs[0], epochs[-1]) == (findings.MAX_CURVE_POINTS, 1, 10_000)


def test_labels_become_visible_text():
    hidden = "a\x00b\tc\x85d\u202ee\u2066f\u2028g\ud800h\u200fi\ufeffj\U000e0041k\u200bl"
    shown = "a\\x00b\\tc\\x85d\\u202ee\\u2066f\\u2028g\\ud800h\\u200fi\\ufeffj\\U000e0041k\\u200bl"
    assert visible(hidden, MAX_LABEL_LENGTH) == shown
    for plain in (
        "Ελλάδα 中国 עברית العربية",
        "می\u200cخواهم",
        "👩\u200d💻❤\ufe0f",
        r"\x1b",
        "a\u00a0b\u0301",
    ):
        assert visible(plain, MAX_LABEL_LENGTH) == plain
    assert (
        visible("x" * 160, MAX_LABEL_LENGTH) == "x" * 160 and visible("x" * 5000, MAX_LABEL_LENGTH) == "x" * 160 + "…"
    )


def test_only_addresses_on_the_web_are_links():
    good = ["http://example.org/a", "HTTPS://ex.org", "https://de.example.org/Köln?x=1#y@z", "http://e.org:80/(a)'b&c"]
    bad = [
        "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http:javascript", "http://", "ftp://e.org/a",
        "http://e.org/a b", "http://e.org/\u202e", "http://me@e.org/", 'http://e.org/"onclick="x', " http://e.org/a",
        "http://e.org/\n", "urn:a:b", "//e.org/a", "http://e.org/" + "a" * 5000, "",
    ]  # fmt: skip
    graph = make_graph([], len(good) + len(bad))
    graph.ids[:] = good + bad
    assert [display_name(graph, i).address for i in range(graph.n_entities)] == good + [""] * len(bad)
    assert display_name(graph, 0).text == "http://example.org/a"


def test_figures_are_the_same_bits_every_time_and_hold_no_link_to_elsewhere():
    rows = pd.DataFrame({"epoch": [1], "a": [0.0], "b": [3.0]})
    names = {"a": "first", "b": "second", "c": "not there"}
    for draw in (figures.curves, figures.bands):
        first, again = (draw(rows, names, "number") for _ in range(2))
        assert first == again and first.startswith("<svg") and "metadata" not in first
    own = figures.with_own_ids(first, "mine")
    assert 'id="mine-figure_1"' in own and own.count('id="') == own.count('id="mine-')
    assert own.count('href="#') == own.count('href="#mine-') > 0


def test_tables_have_columns_and_no_structure():
    values = [(0, "price", "1"), (1, "price", "2"), (1, "colour", "red")]
    sides = [said_graph(["a", "b"], values, prefix) for prefix in "st"]
    task, links_of = said_task(*sides), links((0, 0), (1, 1))
    assert findings.graph_counts(task) == {
        "headings": ("entities", "columns", "values"), "rows": {"source": (2, 2, 3), "target": (2, 2, 3)},
    }  # fmt: skip
    table = hits_by_voter(dict.fromkeys(("all", "structure", "names"), np.ones(2)), np.array([True, False]))
    assert [*findings.by_evidence(table, task)["rows"]] == ["all voters", "names alone"]
    found = np.array([[0], [1]])
    likely = np.array([[0.9], [0.8]])
    named = np.zeros((2, 1, 1), dtype=bool)
    candidates = Candidates(*sides, np.arange(2), found, likely, likely, named, np.ones(2), ("names",))
    drawn = figures.probability_figures(task, candidates, *findings.check_mappings(candidates, links_of))
    assert [one.title for one in drawn] == ["All mappings", "Calibration"] and "triples" not in drawn[0].caption
    history = pd.DataFrame({"epoch": [1, 2], "loss_alignment": [2.0, 1.0], "concat_layer": [0.5, 0.5]})
    assert [one.title for one in figures.training_figures(history, task)] == ["Losses"]


def test_a_report_shows_so_many_columns_and_values_of_tables_alone():
    rows = [(i, f"c{k:02}", f"{i} and {k}") for i in range(3) for k in range(MAX_COLUMNS_SHOWN + 2)]
    sides = [said_graph(["a", "b", "c"], rows, prefix) for prefix in "st"]
    frame = pd.DataFrame({"source": ["s0", "s1"], "target": ["t0", "t2"], "probability": [0.9, 0.6], "given": False})
    mapping = Mapping(*sides, frame)
    found = compare_columns(SideBySide(said_task(*sides)), mapping, 1)
    assert (len(found["pairs"]), found["more"], found["n_mapped"]) == (MAX_COLUMNS_SHOWN, 2, 2)
    first = found["pairs"][0]
    assert (first["names"], first["n_both"], first["n_equal"], first["filled"]["source"]) == (["c00"], 2, 1, 1.0)
    assert [(one["source"].text, one["target"].text, one["more"]) for one in found["examples"]] == [
        ("a", "a", MAX_COLUMNS_SHOWN + 2 - MAX_VALUES_SHOWN), ("b", "c", MAX_COLUMNS_SHOWN + 2 - MAX_VALUES_SHOWN),
    ]  # fmt: skip
    linked = said_graph(["a"], [(0, "price", "1")], triples=[(0, 0, 0)])
    assert compare_columns(SideBySide(said_task(linked, linked)), mapping, 1) == {}
