"""Tables with an entity in each row."""

from __future__ import annotations

import pytest
from conftest import write
from small_files import graph_of, triples_of

from mixtea import DataError, load_task

TERMS = "id,Name,parent\n100,Food,\n110,Fruit,100\n,lost,100\n111,Apple,110\n112,,\n"
QUERY = """item,itemLabel,country,countryLabel,population
http://w.org/Q64,Berlin,http://w.org/Q183,Germany,3677472
http://w.org/Q90,Paris,http://w.org/Q142,France,2145906
"""


def test_ids_of_other_rows_lead_to_entities_and_names_are_labels(tmp_path):
    graph = graph_of(tmp_path, {"terms.csv": TERMS})
    assert graph.ids.tolist() == ["100", "110", "111", "112"]
    assert triples_of(graph) == [("110", "parent", "100"), ("111", "parent", "110")]
    assert [graph.label(i) for i in range(4)] == ["Food", "Fruit", "Apple", None] and graph.n_attribute_triples == 3


@pytest.mark.parametrize("separator, name", [(",", "q.csv"), (";", "q.csv"), ("\t", "q.tsv"), ("\t", "q.csv")])
def test_the_result_of_a_query(tmp_path, separator, name):
    graph = graph_of(tmp_path, {name: QUERY.replace(",", separator)})
    assert triples_of(graph) == [("http://w.org/Q64", "country", "http://w.org/Q183"),
                                 ("http://w.org/Q90", "country", "http://w.org/Q142")]  # fmt: skip
    assert sorted(map(graph.label, range(4))) == ["Berlin", "France", "Germany", "Paris"]
    assert graph.attributes_of(0)[-1][:2] == ("population", "3677472")


def test_it_is_told_what_the_columns_are_taken_for(tmp_path):
    write(tmp_path, {"terms.csv": TERMS, "l.csv": "100,a\n"})
    task = load_task(source=tmp_path / "terms.csv", target=[("a", "r", "b")], links=tmp_path / "l.csv")
    assert task.warnings == (
        f"{tmp_path / 'terms.csv'}: read as a table with an entity in each row: 'parent' leads to entities, 'Name' "
        "holds values",
    )


def test_numbers_lead_to_entities_only_if_all_are_ids(tmp_path):
    graph = graph_of(tmp_path, {"n.tsv": "node_id\tage\tfriend\n1\t2\t2\n2\t30\t1\n"})
    assert graph.relations.tolist() == ["friend"] and graph.ids.tolist() == ["1", "2"]


@pytest.mark.parametrize("header", ["id\trelation\tid2", "subject\tpredicate\tobject"])
def test_triples_stay_triples(tmp_path, header):
    graph = graph_of(tmp_path, {"n.tsv": f"{header}\nx\tr\ty\nz\tr\ty\n"})
    assert ("x", "r", "y") in triples_of(graph)


@pytest.mark.parametrize(
    "header", ["source,target,type", "from,to,label", ":START_ID,:END_ID,:TYPE", "end,start,Relation"]
)
def test_edges_are_triples(tmp_path, header):
    graph = graph_of(tmp_path, {"e.csv": f"{header}\nx,y,r\n"})
    assert triples_of(graph) == [("y", "r", "x") if header.startswith("end") else ("x", "r", "y")]


def test_edges_without_a_relation_are_refused(tmp_path):
    with pytest.raises(DataError, match="line 1: no column says by which relation: 'source;target;weight'"):
        graph_of(tmp_path, {"e.csv": "source;target;weight\nx;y;1\n"})


@pytest.mark.parametrize("first", ["Madrid", "http://e.org/Madrid", "http://e.org/some_id", "lipid", "MADRID"])
def test_a_first_triple_is_no_header(tmp_path, first):
    graph = graph_of(tmp_path, {"g.tsv": f"{first}\tin\tSpain\nRome\tin\tItaly\n"})
    assert graph.n_triples == 2 and graph.ids[0] == first


@pytest.mark.parametrize(
    "first", ["id", "ID", "node_id", "Concept URI", "conceptId", "geonameid", ":ID", "uri", "item"]
)
def test_names_of_a_column_of_ids(tmp_path, first):
    assert graph_of(tmp_path, {"g.csv": f"{first},name\n1,Rome\n"}).label(0) == "Rome"


def test_two_columns_of_one_name_are_refused(tmp_path):
    with pytest.raises(DataError, match="two columns named b"):
        graph_of(tmp_path, {"n.csv": "id,b,b\n1,2,3\n"})


@pytest.mark.parametrize(
    "first, told",
    [
        ("Wer,Verb,Wen", True),
        ("A1,Verb,Wen", False),
        ("Wer,in,Wen", False),
        ("e:S,Verb,Wen", False),
    ],
)
def test_a_first_line_whose_words_stand_nowhere_else_may_be_a_header(tmp_path, first, told):
    write(tmp_path, {"g.csv": f"{first}\nA1,in,B1\nA2,in,B1\n"})
    task = load_task(source=tmp_path / "g.csv", target=[("a", "r", "b")], links=[("A1", "a")])
    assert [("may be a header, and is read as a triple" in warning) for warning in task.warnings] == [True] * told
