"""What is said of the columns of tables."""

from __future__ import annotations

from mixtea import load_task
from mixtea.evaluation.inspection import column_lines, columns_by_voters, text_summary, text_summary_lines

NAMES = [f"{one} {other}" for one in ("Red", "Blue", "Green") for other in ("Castle", "Harbour", "Garden", "Bridge")]
SOURCE = [{"id": f"s{n}", "title": name, "stars": str(n % 5), "since": f"{1900 + n}"} for n, name in enumerate(NAMES)]
TARGET = [{"id": f"t{n}", "name": name, "founded": f"{1900 + n}"} for n, name in enumerate(NAMES)]


def test_columns_stand_beside_those_that_they_are_compared_with():
    task = load_task(source=SOURCE, target=TARGET, links_from="names", columns={"stars": "number"})
    found = text_summary(task)
    assert column_lines(found["columns"]) == [
        "side    column     taken as             compared with  filled  distinct",
        "source  'id'       id                   –              100%    100%",
        "source  'title'    name                 'name'         100%    100%",
        "source  'stars'    number (as you say)  –              100%    42%",
        "source  'since'    date                 'founded'      100%    100%",
        "target  'id'       id                   –              100%    100%",
        "target  'name'     name                 'title'        100%    100%",
        "target  'founded'  date                 'since'        100%    100%",
    ]
    assert column_lines([]) == [] and columns_by_voters(task, []) != []


def test_of_many_columns_that_one_is_compared_with_some_are_shown():
    row = {"side": "source", "table": "", "column": "a", "taken_as": "text", "refers_to": "", "by_hint": False}
    row |= {"compared_with": ["b", "c", "d", "e", "f", "g"], "filled": 1.0, "distinct": 1.0}
    assert "  'b', 'c', 'd', 'e' and 2 more  " in column_lines([row])[1]


def test_of_several_tables_each_row_names_its_own():
    people = [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bea"}]
    source = {"people": people, "films": [{"id": 1, "title": "Alps", "by": 2}]}
    task = load_task(source=source, target=TARGET, links_from="names")
    lines = column_lines(text_summary(task)["columns"])
    assert [line.split("  ")[0] for line in lines[1:6]] == ["source 'people'"] * 2 + ["source 'films'"] * 3
    assert lines[4].split()[2:5] == ["'title'", "name", "'name'"] and lines[6].startswith("target           'id' ")


def test_how_many_pairs_come_together_and_links_among_them():
    links = [(f"s{n}", f"t{n}") for n in range(9)] + [("s9", "t0")]
    task = load_task(source=SOURCE, target=TARGET, links=links)
    lines = [line for line in text_summary_lines(text_summary(task)) if "bring together" in line]
    assert len(lines) == 2 and lines[0].startswith("names bring together ") and " of 144 pairs; " in lines[0]
    assert lines[0].endswith("of 10 links are among them (90%)") or lines[0].endswith("(100%)")


def test_graphs_without_tables_have_no_columns():
    triples = [("a", "r", "b"), ("b", "r", "c")]
    task = load_task(source=triples, target=triples, links={"a": "a"})
    assert text_summary(task)["columns"] == [] and columns_by_voters(task, []) == []
