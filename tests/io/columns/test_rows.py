"""Tables with an entity per row: several per side, what refers to what, and ids that repeat or are missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import write
from small_files import graph_of, triples_of

from mixtea import DataError, load_task
from mixtea.errors import Problems
from mixtea.io.columns.rows import RowTable
from mixtea.io.load_graph import read_graph

PEOPLE = "id,name,boss,born\n1,Ada,2,1901\n2,Bea,,1902\n3,Cy,2,1903\n"
FILMS = "id,title,director,year,tags\n1,Alps,3,1,a|b\n7,Bonn,1,2,b|c\n8,Cork,2,3,c|d\n"
CITIES = "id,name,country\nr,Rome,IT\np,Paris,FR\nl,Lyon,FR\n"
LANDS = "id,code,land\nx1,IT,Italy\nx2,FR,France\n"


def columns_of(graph, file=0):
    return {column.name: (column.kind, column.refers_to) for column in graph.files[file].columns}


def test_tables_of_one_side_refer_to_each_other(tmp_path):
    """`director` holds ids of the people, `year` numbers that are ids by chance, `country` codes of another table."""
    graph = graph_of(tmp_path, {"people.csv": PEOPLE.replace("\n", "\nq", 3), "films.csv": FILMS})
    assert columns_of(graph, 1)["year"] == ("date", "")
    graph = graph_of(tmp_path, {"cities.csv": CITIES, "lands.csv": LANDS})
    assert columns_of(graph)["country"] == ("reference", "lands") and columns_of(graph, 1)["code"] == ("id", "")
    assert triples_of(graph) == [("r", "country", "x1"), ("p", "country", "x2"), ("l", "country", "x2")]
    types = [graph.attributes_of(i)[0][:2] for i in range(graph.n_entities)]
    assert types == [("rdf:type", "cities")] * 3 + [("rdf:type", "lands")] * 2


def test_ids_that_two_tables_have_are_kept_apart(tmp_path):
    graph = graph_of(tmp_path, {"people.csv": PEOPLE, "films.csv": FILMS})
    assert graph.ids.tolist() == ["people/1", "people/2", "people/3", "films/1", "films/7", "films/8"]
    assert graph.kept_apart == ("people", "films")
    assert triples_of(graph) == [
        ("people/1", "boss", "people/2"), ("people/3", "boss", "people/2"), ("films/1", "director", "people/3"),
        ("films/7", "director", "people/1"), ("films/8", "director", "people/2"),
    ]  # fmt: skip
    assert "another table has some of its ids: they are written films/ID" in graph.files[1].notes


def test_tables_in_memory_have_names():
    people = [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bea"}]
    films = pd.DataFrame({"id": [1, 2], "title": ["Alps", "Bonn"], "people_id": [2, 1]})
    task = load_task(source={"people": people, "films": films}, target=[("a", "r", "b")], links={"people/1": "a"})
    assert triples_of(task.source) == [("films/1", "people_id", "people/2"), ("films/2", "people_id", "people/1")]
    with pytest.raises(DataError, match="an object of type dict is not read"):
        load_task(source={1: people}, target=people)


@pytest.mark.parametrize(
    "path, name",
    [
        ("a/people.csv.gz", "people"),
        ("staff.db#people", "people"),
        ("staff.xlsx#A B", "A B"),
        ("sqlite:s.db#(SELECT 1)", "s"),
    ],
)
def test_names_of_tables(path, name):
    assert RowTable(Path(path), (), np.empty(0)).name == name


def test_links_name_such_ids_with_their_table_or_without_it_where_that_is_enough(tmp_path):
    write(tmp_path, {"people.csv": PEOPLE, "films.csv": FILMS})
    source = [tmp_path / "people.csv", tmp_path / "films.csv"]
    links = [("people/1", "a"), ("films/1", "b"), ("7", "c"), ("1", "d")]
    task = load_task(source=source, target=[("a", "r", "b"), ("c", "r", "d")], links=links, valid_links=[("3", "d")])
    assert [str(task.source.ids[i]) for i in task.train[:, 0]] == ["people/1", "films/1", "films/7"]
    assert any("1 of 4 links" in warning for warning in task.warnings)


def test_parts_of_one_table_and_tables_of_one_kind_of_ids_share_their_ids(tmp_path):
    parts = graph_of(tmp_path, {"a.csv": "id,name\n1,Ada\n2,Bea\n", "b.csv": "id,name\n2,Bea\n3,Cy\n"})
    assert parts.ids.tolist() == ["1", "2", "3"] and parts.kept_apart == ()
    rows = "name,city,x,y\nAda,R,1,2\nBea,P,3,4\n"
    numbered = graph_of(tmp_path, {"e.csv": rows, "f.csv": rows})
    assert numbered.ids.tolist() == ["e/1", "e/2", "f/1", "f/2"]
    more = graph_of(tmp_path, {"c.csv": "person_id,name\n1,Ada\n", "d.csv": "person_id,city,x\n1,Rome,y\n"})
    assert [found[:2] for found in more.attributes_of(0)] == [("rdfs:label", "Ada"), ("city", "Rome"), ("x", "y")]


def test_ids_of_another_table_that_repeat_are_references(tmp_path):
    fame = "playerID,year,votes\n" + "p1,1936,10\np1,1937,20\np2,1938,30\n"
    graph = graph_of(tmp_path, {"people.csv": "playerID,name\np1,Ada\np2,Bea\n", "fame.csv": fame})
    assert columns_of(graph, 1)["playerID"] == ("reference", "people") and graph.n_entities == 5
    assert triples_of(graph) == [("1", "playerID", "p1"), ("2", "playerID", "p1"), ("3", "playerID", "p2")]


@pytest.mark.parametrize(
    "column, values, refers",
    [
        ("year", ["1", "2", "3"], False),
        ("stars", ["1", "2", "3"], False),
        ("x", ["1", "2", "3"], False),
        ("x_id", ["3", "2", "1"], True),
        ("parent", ["2", "3", "9"], False),
        ("x", ["1.5", "2.5", "3.5"], False),
        ("homepage", ["http://a.org/1", "http://a.org/2", ""], False),
        ("country", ["http://a.org/1", "http://a.org/2", ""], True),
        ("picture", ["http://a.org/1.jpg", "http://a.org/2.jpg", ""], False),
        ("copy", ["1", "2", "3"], False),
    ],
)
def test_numbers_and_pages_are_no_references(tmp_path, column, values, refers):
    """DBLP's papers pointed at paper no. 1999, as its years are ids of rows by chance."""
    ids = ["1", "2", "3"]
    text = f"id,{column}\n" + "".join(f"{id},{value}\n" for id, value in zip(ids, values, strict=True))
    assert bool(graph_of(tmp_path, {"t.csv": text}).n_triples) is refers


def test_numbers_that_chance_does_not_make_ids_are_references(tmp_path):
    ids = [10_007, 25_013, 31_991, 47_011]
    text = "id,x\n" + "".join(f"{id},{other}\n" for id, other in zip(ids, ids[1:] + ids[:1], strict=True))
    assert graph_of(tmp_path, {"t.csv": text}).n_triples == 4


def test_repeated_and_missing_ids_are_counted(tmp_path):
    text = "id,name\n1,Ada\n1,Ada B\n,Nobody\n2,Bea\n"
    graph = graph_of(tmp_path, {"t.csv": text})
    assert graph.ids.tolist() == ["1", "2"] and graph.files[0].notes == (
        "1 row has no id in the column id and is left out",
        "1 row has an id that an earlier one has, such as '1': each id is one entity",
    )
    with pytest.raises(DataError, match=r"line 3: an id that 2 rows have: '1'\. Write each id once"):
        graph_of(tmp_path, {"t.csv": text}, strict=True)


def test_the_labels_of_rows_that_pandas_writes_are_ids_unless_there_are_others(tmp_path):
    frame = pd.DataFrame({"title": ["Ada", "Bea"], "year": [1901, 1902]}, index=["a", "b"])
    assert graph_of(tmp_path, {"t.csv": frame.to_csv()}).ids.tolist() == ["a", "b"]
    graph = graph_of(tmp_path, {"u.csv": frame.assign(id=[7, 8]).to_csv()})
    assert graph.ids.tolist() == ["7", "8"] and [*columns_of(graph)] == ["title", "year", "id"]


@pytest.mark.parametrize(
    "codes, ids", [(["S1", "S2"], ["S1", "S2"]), (["S1", "S1"], ["1", "2"]), (["S1", ""], ["1", "2"])]
)
def test_a_code_that_differs_in_each_row_is_the_id_where_no_column_is_called_id(tmp_path, codes, ids):
    rows = "".join(f"{name},{code},5\n" for name, code in zip(["Ada", "Bea"], codes, strict=True))
    assert graph_of(tmp_path, {"t.csv": f"title,sku,stars,x\n{rows.replace(',5', ',5,6')}"}).ids.tolist() == ids


def test_several_ids_in_a_cell_are_refused():
    problems, rows = Problems(), [{"id": ["a", "b"], "name": "x"}, {"id": "c", "name": "y"}]
    task = dict(target=[("a", "r", "b")], links=[("c", "a")])
    with pytest.raises(DataError, match="several ids of an entity, in 'id'"):
        load_task(source=rows, **task)
    assert not problems.found


def test_a_table_that_cannot_be_read_leaves_an_empty_graph(tmp_path):
    write(tmp_path, {"t.csv": "id,name\n1,Ada\n"})
    problems = Problems()
    graph = read_graph([tmp_path / "t.csv", tmp_path / "u.csv"], problems)
    assert graph.n_entities == 0 and len(problems.found) == 1


def test_several_names_in_a_cell_are_names_of_the_row(tmp_path):
    """Between bars and semicolons, in a column that is called as names are; commas may be parts of names."""
    graph = graph_of(tmp_path, {"a.csv": "id,name\n1,Ether; Oxide\n2,Rust; Iron\n3,Salt\n"})
    names = [[text for text, _ in graph.labels_of(i)] for i in range(3)]
    assert names == [["Ether", "Oxide"], ["Iron", "Rust"], ["Salt"]]
    graph = graph_of(tmp_path, {"b.csv": 'id,names\n1,"Doe, Jane"\n2,"Roe, Jim"\n'})
    assert [value for _, value, *_ in graph.attributes_of(0)] == ["Doe, Jane"]
    graph = graph_of(tmp_path, {"c.csv": "id,name,tags\n1,A,x; y\n2,B,y; z\n"})
    assert ("tags", "x; y") in [found[:2] for found in graph.attributes_of(0)]
