"""Rows that come later are read by the columns of the graph that they belong to."""

from __future__ import annotations

import pytest

from mixtea import DataError, load_task
from mixtea.io.new_rows import read_new_rows

PAGES = [
    {"id": "a", "title": "Arbor", "page": "first", "in": "x"},
    {"id": "b", "title": "Brin", "page": "second", "in": "x"},
    {"id": "x", "title": "Xavi", "page": "third", "in": "a"},
]


@pytest.fixture(scope="module")
def known():
    target = [{"id": str(i), "title": row["title"]} for i, row in enumerate(PAGES)]
    return load_task(source=PAGES, target=target, links_from="names", name_column="title").source


def test_a_row_has_the_values_relations_and_names_of_the_graph(known):
    found = read_new_rows({"id": "c", "title": "Calu", "page": "http://x.org/p", "in": "x"}, known)
    graph, c = found.graph, found.rows[0]
    assert known.relations.tolist() == ["in"] and "page" in known.attributes.predicate.texts()
    assert graph.ids[found.rows].tolist() == ["c"] and found.place.tolist() == [-1] and not found.same.any()
    assert ("page", "http://x.org/p") in {(predicate, value) for predicate, value, _, _ in graph.attributes_of(c)}
    assert graph.label(c) == "Calu" and graph.name_predicates == ("title",) and found.warnings == ()


def test_what_a_row_leads_to_is_called_as_in_the_graph(known):
    rows = [PAGES[0], {"id": "d", "in": "x"}, {"id": "e", "in": "nowhere"}]
    found = read_new_rows([*rows[:1], *[{"title": None, "page": None, **row} for row in rows[1:]]], known)
    assert found.graph.ids[found.rows].tolist() == ["a", "d", "e"] and found.same.tolist() == [True, False, False]


def test_as_a_graph_of_triples_too(known):
    found = read_new_rows([("d", "in", "x"), ("d", "in", "a")], known)
    assert found.graph.ids[found.rows].tolist() == ["d"]
    names = {found.graph.label(i) for i in range(found.graph.n_entities)}
    assert names == {None, "Arbor", "Xavi"} and len(found.warnings) == 1


def test_only_what_a_row_says_is_compared_with_what_is_known(known):
    same = read_new_rows({"id": "a", "title": "Arbor"}, known)
    other = read_new_rows({"id": "a", "title": "Harbour"}, known)
    assert (same.place.tolist(), same.same.tolist(), other.same.tolist()) == ([0], [True], [False])


def test_labels_without_a_common_column_are_enough_unless_others_are_names(known):
    graph = load_task(source=[("a", "in", "b")], target=[("A", "in", "B")], links=[("a", "A")]).source
    assert read_new_rows({"id": "f", "name": "Fasto"}, graph).graph.label(0) == "Fasto"
    with pytest.raises(DataError, match="no column is one"):
        read_new_rows({"id": "f", "name": "Fasto"}, known)
    with pytest.raises(DataError, match=r"They have: 'colour'\. The run's source has: 'title', 'page', 'in'\."):
        read_new_rows({"id": "f", "colour": "red"}, known)
