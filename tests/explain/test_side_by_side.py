"""Values of two entities side by side: which belong together, in which order, and how they compare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import said_graph, said_task
from hypothesis import given
from hypothesis import strategies as st

from mixtea.config import Config
from mixtea.explain import side_by_side
from mixtea.explain.side_by_side import ColumnPair, SideBySide, column_pairs, shown_values
from mixtea.explain.value_lines import MAX_COLUMN, MAX_SHOWN, MAX_TEXT, line_of, value_lines
from mixtea.graph.entity_table import Attributes
from mixtea.graph.labels import Labels
from mixtea.relations.alignment import normalized_value
from mixtea.voters.attributes import Attributes as Voter

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
MONTHS = ("January", "February", "March", "April", "May", "June")
WORDS = ("red lamp", "green desk", "blue chair", "grey shelf", "white stool", "black bench")


def compared(task):
    """Compared as a run does it."""
    return SideBySide(task, Voter().bind(task, Config.preset("best")).opinions_by_links)


def tables(ours, theirs, n=6):
    """A task of n entities a side; `ours` and `theirs` map a column to its values, "" for none."""
    rows = [
        [(i, name, value) for name, values in of.items() for i, value in enumerate(values) if value]
        for of in (ours, theirs)
    ]
    return said_task(said_graph([""] * n, rows[0], "s"), said_graph([""] * n, rows[1], "t"))


@pytest.fixture(scope="module")
def shop():
    """Dates and prices in columns of other names, texts in one of the same name, and a column on either side alone."""
    ours = {
        "stock": ["1"] * 6, "born": [f"1990-0{i}-03" for i in range(1, 7)],
        "price": ["10.50", "20", "30", "40", "500", ""], "text": [f"{word} {i}" for i, word in enumerate(WORDS)],
    }  # fmt: skip
    theirs = {
        "text": [f"Desk {i}, {word}" for i, word in enumerate(WORDS)], "cost": ["10.5", "20.0", "30", "40", "600", "7"],
        "rank": ["1"] * 6, "geboren": [f"3 {month} 1990" for month in MONTHS],
    }  # fmt: skip
    return tables(ours, theirs)


def shown(rows):
    return [
        (row.state, *(f"{said.column}: {said.text}" if said else "" for said in (row.left, row.right))) for row in rows
    ]


def test_columns_of_other_names_are_paired_and_what_both_have_comes_first(shop):
    rows, n = compared(shop)(0, 0, 10)
    assert shown(rows) == [
        ("same", "stock: 1", "rank: 1"),
        ("same", "born: 1990-01-03", "geboren: 3 January 1990"),
        ("same", "price: 10.50", "cost: 10.5"),
        ("alike", "text: red lamp 0", "text: Desk 0, red lamp"),
    ]
    assert n == 4 and 0.3 < rows[3].likeness < 1
    rows, _ = compared(shop)(4, 4, 10)
    assert shown(rows)[2] == ("differs", "price: 500", "cost: 600") and rows[2].likeness == 0
    rows, n = compared(shop)(5, 5, 10)
    assert shown(rows)[3:] == [("right", "", "cost: 7")] and n == 4


def test_a_row_is_judged_as_the_voter_judges_it(shop):
    compare = compared(shop)
    found = {(one.source, one.target): one.alike for one in compare.opinions().compared(1, 2)}
    rows, _ = compare(1, 2, 10)
    ours = {((row.left.column, row.left.text), (row.right.column, row.right.text)): row.likeness for row in rows}
    assert len(found) == 2 and {ends: ours[ends] for ends in found} == pytest.approx(found, abs=1e-6)


def test_without_the_index_equal_values_are_known_and_others_wait(shop):
    compare = SideBySide(shop)
    assert shown(compare(0, 0, 10)[0]) == [
        ("same", "stock: 1", "rank: 1"), ("same", "born: 1990-01-03", "geboren: 3 January 1990"),
        ("same", "price: 10.50", "cost: 10.5"), ("pending", "text: red lamp 0", "text: Desk 0, red lamp"),
    ]  # fmt: skip
    assert [row.state for row in compare(4, 4, 10)[0]] == ["same", "same", "pending", "left", "right"]
    assert [one[:2] for one in column_pairs(compare, np.array([[0, 0]]))] == [("text", "text")]  # of one name alone


def test_equal_values_of_columns_that_the_other_side_has_too_are_no_pair():
    task = tables({"a": ["1"], "b": ["x"], "n": ["7"]}, {"a": ["2"], "b": ["1"], "m": ["7"]}, n=1)
    assert shown(compared(task)(0, 0, 10)[0]) == [
        ("differs", "a: 1", "a: 2"), ("differs", "b: x", "b: 1"), ("same", "n: 7", "m: 7"),
    ]  # fmt: skip


def test_of_many_values_in_a_column_the_most_alike_stand_together():
    ours = [(0, "has", "red lamp"), (0, "has", "old desk"), (0, "has", "sofa"), (0, "has", "jug")]
    theirs = [(0, "http://x/Has", "desk, oak"), (0, "http://x/Has", "JUG"), (0, "http://x/Has", "lamp (red, big)")]
    fill = [(i, "has", word) for i, word in enumerate(WORDS, 1)]
    task = said_task(said_graph([""] * 7, ours + fill, "s"), said_graph([""] * 7, theirs, "t"))
    rows, n = compared(task)(0, 0, 3)
    assert shown(rows) == [
        ("alike", "has: red lamp", "http://x/Has: lamp (red, big)"),
        ("alike", "has: old desk", "http://x/Has: desk, oak"),
        ("same", "has: jug", "http://x/Has: JUG"),
    ]
    assert n == 4 and shown(compared(task)(0, 0, 4)[0])[3] == ("left", "has: sofa", "")


def test_a_literal_stands_beside_the_name_of_an_entity_that_says_the_same():
    names = [f"Place {word}" for word in WORDS]
    ours = said_graph([""] * 6, [(i, "city", name) for i, name in enumerate(names)], "s")
    theirs = said_graph([*[""] * 6, *names], prefix="t", triples=[(i, 0, 6 + i) for i in range(6)])
    assert shown(compared(said_task(ours, theirs))(2, 2, 5)[0]) == [
        ("same", "city: Place blue chair", "r0: Place blue chair")
    ]
    assert shown(compared(said_task(ours, theirs))(2, 2, 5)[0]) == shown(compared(said_task(ours, theirs))(2, 2, 9)[0])
    assert shown(compared(said_task(theirs, ours))(2, 7, 5)[0]) == []  # nothing but a relation there


def test_values_of_the_same_language_stand_together():
    rows = [(i, "note", f"{word} {tag}", tag) for i, word in enumerate(WORDS) for tag in ("en", "de-at")]
    graphs = [
        replace(said_graph([""] * 6), attributes=Attributes.from_columns(*zip(*part, strict=True)).as_set())
        for part in (rows, rows[::-1])
    ]
    found, _ = compared(said_task(*graphs))(3, 3, 5)
    assert [(row.state, row.left.language, row.right.language) for row in found] == [
        ("same", "en", "en"), ("same", "de-at", "de-at"),
    ]  # fmt: skip


def test_labels_are_values_once_and_one_that_the_voter_does_not_know_is_not_compared():
    graph = said_graph(["Rome"], [(0, LABEL, "Rome"), (0, LABEL, "Roma"), (0, "born", "1")])
    labels = Labels.of_entities([0, 0, 0], ["Rome", "Roma", "the city of Rome"]).as_set()
    assert [one.text for one in shown_values(replace(graph, labels=labels), 0)] == [
        "the city of Rome",
        "Rome",
        "Roma",
        "1",
    ]
    task = said_task(replace(graph, labels=labels), said_graph(["Lazio"], [(0, LABEL, "Milan")]))
    compare = compared(task)
    assert shown(compare(0, 0, 9)[0])[0] == ("differs", "label: the city of Rome", f"{LABEL}: Milan")
    compare.opinions().number_of.clear()
    assert shown(compare(0, 0, 9)[0])[0] == ("pending", "label: the city of Rome", f"{LABEL}: Milan")


def test_entities_of_which_nothing_is_said_need_no_index():
    task = said_task(said_graph(["a"], triples=[(0, 0, 0)]), said_graph(["b"]))
    assert SideBySide(task, lambda: pytest.fail("made an index"))(0, 0, 5) == ([], 0)


def test_many_values_are_each_looked_at_once(monkeypatch):
    """Whatever their number: each is brought into its form once, and only those that are shown are compared."""
    forms = []
    monkeypatch.setattr(
        side_by_side, "normalized_value", lambda *value: forms.append(value) or normalized_value(*value)
    )
    sides = [
        said_graph([""], [(0, f"p{n % 7}", f"value {n} of the {'left' if n % 3 else side}") for n in range(300)])
        for side in ("left", "right")
    ]
    rows, n = SideBySide(said_task(*sides))(0, 0, 5)
    assert len(forms) == 600 and n == 300 and len(rows) == 5


VALUES = st.lists(st.tuples(st.sampled_from(("a", "b", "x:c")), st.sampled_from(("1", "1.0", "x", "X", "—", "?", "y"))))


@given(VALUES, VALUES)
def test_each_value_is_in_one_row_and_equal_ones_of_a_column_are_in_the_same(left, right):
    task = said_task(*(said_graph([""], [(0, *value) for value in dict.fromkeys(side)]) for side in (left, right)))
    for compare in (SideBySide(task), compared(task)):
        rows, n = compare(0, 0, 100)
        for side, given_values in (("left", left), ("right", right)):
            found = [(said.column, said.text) for row in rows if (said := getattr(row, side))]
            assert sorted(found) == sorted({*given_values})
        assert n == len(rows) and [row.state in ("left", "right") for row in rows] == sorted(
            row.state in ("left", "right") for row in rows
        )
        alone = {"left": set(), "right": set()}
        for row in rows:
            if row.state in alone:
                said = getattr(row, row.state)
                alone[row.state].add((said.column, normalized_value(said.text)))
        assert not alone["left"] & alone["right"]


# As lines for people


def line(left, right, **more):
    row = side_by_side.Row(
        more.pop("state"), *(side_by_side.ShownValue(*one) if one else None for one in (left, right)), **more
    )
    graph = said_graph([""], prefixes={"ex": "http://ex.org/"})
    return line_of(row, graph, graph)


def test_differences_are_marked_in_similar_texts_alone():
    found = line(("a", "red lamp"), ("b", "red desk"), state="alike", likeness=0.254)
    assert found.left == [("red ", False), ("lamp", True)] and found.right == [("red ", False), ("desk", True)]
    assert (found.percent, found.columns) == (25, ["a", "b"])
    assert line(("a", "1"), ("a", "2"), state="differs").left == [("1", False)]
    alone = line(None, ("http://ex.org/a", "x", "en"), state="right")
    assert (alone.left, alone.right, alone.columns, alone.percent) == ([], [("x", False)], ["ex:a @en"], 0)


def test_similar_is_neither_nothing_nor_all():
    assert [line(("a", "x"), ("a", "y"), state="alike", likeness=p).percent for p in (0.001, 0.999)] == [1, 99]


def test_a_long_text_is_cut_and_all_of_it_is_there():
    text = "word " * MAX_SHOWN
    found = line(("a", text), ("a", text + "more"), state="alike", likeness=0.9)
    assert found.left == [(text[:MAX_SHOWN] + "…", False)] and found.right == found.left
    assert found.left_all == [(text, False)] and found.right_all == [(text, False), ("more", True)]
    assert line(("a", "short"), None, state="left").left_all == []
    endless = line(("c" * 999, "w" * 99_999), None, state="left")
    assert (len(endless.left_all[0][0]), len(endless.left_by)) == (MAX_TEXT + 1, MAX_COLUMN + 1)


def test_whatever_a_value_holds_it_is_one_line():
    found = line(("by\nme", "a\x1b[31m\nb"), None, state="left")
    assert (found.left, found.left_by) == ([(r"a\x1b[31m\nb", False)], r"by\nme")


def test_lines_of_a_pair(shop):
    lines, n = value_lines(compared(shop), 0, 0, 2)
    assert [(one.state, *one.columns) for one in lines] == [("same", "stock", "rank"), ("same", "born", "geboren")]
    assert n == 4


# Columns


def test_columns_are_counted_by_entities_and_by_pairs(shop):
    found = column_pairs(compared(shop), np.array([[0, 0], [1, 1], [4, 4], [5, 5], [3, 2]]))
    assert found == [
        ColumnPair("born", "geboren", 6, 6, 5, 4), ColumnPair("price", "cost", 5, 6, 4, 2),
        ColumnPair("text", "text", 6, 6, 5, 0),
    ]  # fmt: skip
    assert column_pairs(SideBySide(shop), np.empty((0, 2), dtype=np.int64)) == [ColumnPair("text", "text", 6, 6, 0, 0)]


def test_languages_of_a_predicate_are_one_column():
    rows = [(i, "note", f"{word} {tag}", tag) for i, word in enumerate(WORDS) for tag in ("en", "de")]
    plain = [(i, "remark", f"{word} en", "") for i, word in enumerate(WORDS)]
    graphs = [
        replace(said_graph([""] * 6), attributes=Attributes.from_columns(*zip(*part, strict=True)).as_set())
        for part in (rows, plain)
    ]
    assert column_pairs(compared(said_task(*graphs)), np.array([[0, 0], [1, 2]])) == [
        ColumnPair("note", "remark", 6, 6, 2, 1)
    ]
