"""Two tables as record linkage has them: rows numbered from 0, years, and columns of names beside each other."""

from __future__ import annotations

import pytest

from mixtea import GraphFilter, load_task

N = 2_100  # so that the years are numbers of rows
LISTS = {
    "dblp": [{"id": i, "title": f"On the joins of view {i}", "year": 1994 + i % 10, "officialName": f"View {i}"}
             for i in range(N)],
    "acm": [{"id": i, "title": f"The joins of view {i}", "year": 1994 + i % 10, "officialName": f"View no. {i}"}
            for i in range(N - 50)],
}  # fmt: skip
LINKS = [(i, i + 1) for i in range(1990, 2010)]  # ids that are years of other rows among them


@pytest.mark.parametrize("literals", [[], ["year"], ["officialName"]])
def test_years_and_second_names_stay_values_and_nobody_is_warned(literals):
    """Papers pointed at paper no. 1999, links seemed to be triples, and the advice was to name literals."""
    task = load_task(
        source=LISTS["dblp"], target=LISTS["acm"], links=LINKS, graph_filter=GraphFilter(literals=literals)
    )
    assert task.warnings == ()
    for graph in (task.source, task.target):
        assert graph.n_triples == 0 and graph.name_predicates == ("title",)
        assert {column.name: column.kind for column in graph.files[0].columns}["year"] == "date"
        assert {predicate for predicate, *_ in graph.attributes_of(1999)} >= {"year", "officialName"}
    assert task.source.ids[1999] == "1999" and task.source.label(1999) == "On the joins of view 1999"


def test_the_advice_about_values_changes_nothing():
    """Of tables with a row per entity, what --literals names was a value before: no score can become worse by it."""
    plain, advised = (
        load_task(
            source=LISTS["dblp"], target=LISTS["acm"], links_from="names", graph_filter=GraphFilter(literals=literals)
        )
        for literals in ([], ["officialName", "year"])
    )
    for one, other in ((plain.source, advised.source), (plain.target, advised.target)):
        assert one.ids.tolist() == other.ids.tolist() and one.name_predicates == other.name_predicates
        assert [[*one.attributes_of(i)] for i in (0, 1999)] == [[*other.attributes_of(i)] for i in (0, 1999)]
