"""Rows about entities: attribute triples as a set, moved, joined and taken apart."""

from __future__ import annotations

import numpy as np

from mixtea.graph.entity_table import Attributes
from mixtea.graph.labels import Labels


def rows(table):
    columns = (table.entity, table.predicate, table.value, table.language, table.datatype)
    return list(zip(*(column.tolist() for column in columns), strict=True))


SIZE = Attributes.from_columns([2, 0, 2, 2], ["p", "p", "p", "q"], ["3", "x", "3", "3"], ["", "en", "", ""])


def test_an_attribute_triple_counts_once_and_stands_with_its_entity():
    found = SIZE.as_set()
    assert rows(found) == [(0, "p", "x", "en", ""), (2, "p", "3", "", ""), (2, "q", "3", "", "")]
    assert found.value.texts() == ["x", "3"] and found.entity.dtype == np.int32
    assert list(found.rows_of(2)) == [1, 2] and list(found.rows_of(1)) == [] and list(found.rows_of(9)) == []


def test_what_differs_in_language_or_datatype_is_not_the_same():
    table = Attributes.from_columns([0] * 4, ["p"] * 4, ["x"] * 4, ["", "en", "de", ""], ["", "", "", "int"])
    assert len(table.as_set()) == 4


def test_entities_that_stay_are_numbered_anew():
    kept = SIZE.subset(np.array([False, True, True]))
    assert kept.entity.tolist() == [1, 1, 1] and kept.as_set().value.texts() == ["3"]


def test_joined_tables_and_empty_ones():
    more = Attributes.from_columns([0], ["q"], ["x"])
    table = Attributes.concat([Attributes.empty(), SIZE, more.moved(np.array([5]))])
    assert rows(table)[-1] == (5, "q", "x", "", "") and len(table) == 5 and table.value.texts() == ["3", "x"]
    assert len(Attributes.concat([Attributes.empty(), Attributes.empty()]).as_set()) == 0


def test_a_table_is_its_arrays():
    for table in (SIZE.as_set(), Attributes.empty()):
        again = Attributes.from_arrays(table.arrays())
        assert rows(again) == rows(table) and again.nbytes == table.nbytes
    assert set(SIZE.arrays()) >= {"entity", "value.data", "value.offsets", "value.codes"}


def test_labels_are_in_the_order_in_which_they_are_shown():
    table = Labels.from_columns(
        [1, 0, 0, 0, 0, 0, 0],
        ["x", "Hund", "dog", "hound", "animal", "cur", "dog"],
        ["", "de", "en-gb", "en", "", "en", "en-gb"],
        [0, 0, 0, 1, 0, 5, 1],
    )
    assert table.as_set().text.tolist() == ["hound", "dog", "animal", "Hund", "cur", "x"]  # an alternative comes last
    assert table.as_set(("de",)).text.tolist() == ["Hund", "animal", "hound", "dog", "cur", "x"]
    assert table.as_set().rank.tolist() == [1, 0, 0, 0, 5, 0]  # of the same label twice, the better one


def test_the_order_of_labels_does_not_depend_on_how_they_come():
    table = Labels.from_columns([0, 0, 0], ["b", "a", "c"])
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        assert table.take(np.array(order)).as_set().text.tolist() == ["a", "b", "c"]
