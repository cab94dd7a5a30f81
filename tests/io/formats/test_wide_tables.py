"""Tables with an entity in each row, whatever holds them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import write
from small_files import graph_of, parquet, triples_of

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
    assert task.warnings == (f"{tmp_path / 'terms.csv'}: 1 row has no id in the column id and is left out",)
    assert [column[:3] for column in task.source.files[0].columns] == [
        ("id", "id", ""), ("Name", "name", ""), ("parent", "reference", "terms"),
    ]  # fmt: skip


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
    with pytest.raises(DataError, match="line 1: no column gives the relation: 'source;target;weight'"):
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


PLACES = [
    {"id": "p1", "name": "arnie mortons", "stars": 5, "price": 5.0, "open": True, "since": datetime(2020, 1, 31),
     "of": None},
    {"id": "p2", "name": "arts deli", "stars": None, "price": None, "open": None, "since": None, "of": "p1"},
    {"id": "p3", "name": None, "stars": 4, "price": 2.5, "open": False, "since": datetime(2021, 1, 31), "of": "p1"},
]  # fmt: skip
HOLDERS = [
    "CSV", "CSV by semicolons", "TSV", "Parquet", "Parquet with an index", "Excel", "SQLite", "JSON lines", "frame",
    "frame of objects",
    "nullable frame", "Arrow table", "dictionaries", "records of NumPy",
]  # fmt: skip


def held(how, rows, folder):
    """A table of these rows as a holder has it: a file, or an object."""
    frame = pd.DataFrame(rows)
    days = frame.assign(
        **{name: column.dt.strftime("%Y-%m-%d") for name, column in frame.select_dtypes("datetime").items()}
    )
    whole = days.convert_dtypes()
    if how == "CSV":
        whole.to_csv(folder / "g.csv", index=False)
    elif how == "CSV by semicolons":
        whole.to_csv(folder / "g.csv", index=False, sep=";")
    elif how == "TSV":
        whole.to_csv(folder / "g.tsv", index=False, sep="\t")
    elif how == "Parquet":
        frame.to_parquet(folder / "g.parquet")
    elif how == "Parquet with an index":
        frame.set_index(pd.Index(["x", "y", "z"])).to_parquet(folder / "g.parquet")
    elif how == "Excel":
        frame.to_excel(folder / "g.xlsx", index=False)
    elif how == "SQLite":  # which has neither truth values nor dates
        with closing(sqlite3.connect(folder / "g.db")) as base:
            days.map(lambda cell: str(cell) if isinstance(cell, bool) else cell).to_sql("places", base, index=False)
    elif how == "JSON lines":
        days.to_json(folder / "g.jsonl", lines=True, orient="records")
    else:
        objects = pd.DataFrame(rows, dtype=object)
        return {
            "frame": frame, "frame of objects": objects, "nullable frame": frame.convert_dtypes(),
            "Arrow table": pa.Table.from_pandas(frame), "dictionaries": rows,
            "records of NumPy": objects.to_records(index=False),
        }[how]  # fmt: skip
    (path,) = folder.glob("g.*")
    return path


def said(graph):
    """All that a graph says, ids and values as they are."""
    values = [(graph.ids[i], *value) for i in range(graph.n_entities) for value in graph.attributes_of(i)]
    labels = [graph.label(i) for i in range(graph.n_entities)]
    return graph.ids.tolist(), triples_of(graph), values, labels


def beside_separator(task, how):
    """The warnings of a task, less one that says which unusual separator was found."""
    found = [one for one in task.warnings if not one.endswith(": separated by semicolons")]
    assert len(task.warnings) - len(found) == ("semicolons" in how)
    return found


LINKED = dict(target=[("a", "r", "b"), ("b", "r", "c")], links=[("p1", "a"), ("p2", "b")])
NUMBERED = LINKED | dict(links=[("1", "a"), ("2", "b")])


@pytest.mark.parametrize("how", HOLDERS)
def test_a_row_is_an_entity_whatever_holds_it(tmp_path, how):
    """It was read as triples of the first three columns, but for text: a relation called arnie mortons."""
    task = load_task(source=held(how, PLACES, tmp_path), **LINKED)
    assert said(task.source) == (
        ["p1", "p2", "p3"],
        [("p2", "of", "p1"), ("p3", "of", "p1")],
        [("p1", "rdfs:label", "arnie mortons", "", ""), ("p1", "stars", "5", "", ""), ("p1", "price", "5.0", "", ""),
         ("p1", "open", "True", "", ""), ("p1", "since", "2020-01-31", "", ""),
         ("p2", "rdfs:label", "arts deli", "", ""), ("p3", "stars", "4", "", ""), ("p3", "price", "2.5", "", ""),
         ("p3", "open", "False", "", ""),
         ("p3", "since", "2021-01-31", "", "")],
        ["arnie mortons", "arts deli", None],
    )  # fmt: skip
    assert beside_separator(task, how) == []
    kinds = {column.name: column.kind for column in task.source.files[0].columns}
    assert kinds == {
        "id": "id",
        "name": "name",
        "stars": "number",
        "price": "number",
        "open": "category",
        "since": "date",
        "of": "reference",
    }


@pytest.mark.parametrize(
    "names", [("name", "stars", "open", "since"), ("name", "stars", "open"), ("name", "of", "stars")]
)
@pytest.mark.parametrize("how", HOLDERS)
def test_without_a_column_of_ids_rows_are_numbered(tmp_path, how, names):
    if "TSV" in how or "CSV" in how:
        names = [name for name in names if name != "of"]  # of three columns, what repeats may be a relation
        names = names if len(names) > 2 else ["name", "stars", "open"]
    rows = [{name: row[name] for name in names} for row in PLACES]
    task = load_task(source=held(how, rows, tmp_path), **NUMBERED)
    assert task.source.ids.tolist() == ["1", "2", "3"] and task.source.n_triples == 0
    assert [task.source.label(i) for i in range(3)] == ["arnie mortons", "arts deli", None]
    assert ("3", "stars", "4", "", "") in said(task.source)[2]
    (warning,) = beside_separator(task, how)
    assert warning.endswith("each row is an entity, whose id is the number of the row, as no column is called id")


@pytest.mark.parametrize("how", HOLDERS)
def test_a_column_of_ids_may_stand_anywhere(tmp_path, how):
    rows = [{name: row[name] for name in ("name", "stars", "id", "open")} for row in PLACES]
    assert said(load_task(source=held(how, rows, tmp_path), **LINKED).source)[0] == ["p1", "p2", "p3"]


@pytest.mark.parametrize("names", [("tail", "head", "relation"), ("object", "subject", "predicate"), ("c", "a", "b")])
@pytest.mark.parametrize("how", HOLDERS)
def test_triples_stay_triples_whatever_holds_them(tmp_path, how, names):
    """By the names of their columns, or by the second one alone."""
    if names == ("c", "a", "b"):
        names, order = ("one", "type", "other"), ("one", "type", "other")
    else:
        order = (names[1], names[2], names[0])
    triples = [("p1", "r", "p2"), ("p2", "r", "p3"), ("p3", "s", "p1")]
    rows = [{name: dict(zip(order, triple, strict=True))[name] for name in names} for triple in triples]
    task = load_task(source=held(how, rows, tmp_path), **LINKED)
    is_text = "TSV" in how or "CSV" in how
    assert triples_of(task.source)[is_text and names[0] == "one" :] == triples
    assert len(beside_separator(task, how)) == (is_text and names[0] == "one")


def test_tuples_and_columns_without_names_are_triples():
    triples = [("p1", "r", "p2"), ("p2", "s", "p3"), ("p3", "t", "p4")]
    for source in (triples, np.array(triples), pd.DataFrame(triples)):
        task = load_task(source=source, **LINKED)
        assert triples_of(task.source) == triples and task.warnings == ()


FIRST_LINES = {
    "a column whose words repeat": ("name,city,kind\nA,x,p\nB,x,q\nC,y,r\n", 4),
    "tails that are heads": ("un,deux,trois\nA,x,B\nB,y,C\nC,z,D\n", 4),
    "two rows": ("name,city,kind\nA,x,p\nB,y,q\n", 3),
    "a number": ("name,5,kind\nA,x,p\nB,y,q\nC,z,r\n", 4),
    "an id": ("name,e:in,kind\nA,x,p\nB,y,q\nC,z,r\n", 4),
    "a word that stands below": ("A,in,kind\nA,x,p\nB,y,q\nC,z,r\n", 4),
    "a header": ("name,city,kind\nA,x,p\nB,y,q\nC,z,r\n", 0),
    "a header below a comment": ("# mine\nname,city,kind\nA,x,p\nB,y,q\nC,z,r\n", 0),
    "cells that are empty": ("name,city,kind\nA,,p\nB,y,\n,z,r\n", 0),
    "lines inside cells": ('name,city,kind\n"A\na",x,p\nB,y,q\nC,z,r\n', 0),
    "many rows": ("name,city,kind\n" + "".join(f"a{i},x{i},b{i}\n" for i in range(20_000)), 0),
}


@pytest.mark.parametrize("kind", FIRST_LINES)
def test_a_first_line_of_three_words_is_a_header_only_if_nothing_looks_like_triples(tmp_path, kind):
    text, n_triples = FIRST_LINES[kind]
    graph = graph_of(tmp_path, {"g.csv": text})
    assert graph.n_triples == n_triples and ("1" in graph.ids) == (not n_triples)


@pytest.mark.parametrize("text", ["a,r,b,c\nb,s,c,d\nd,t,e,f\n", "a,b,c,d\n", "x,x,y,z\na,b,c,d\n1,2,3,4\n",
                                  'x,y,"z\n', "a,b\nc,d\ne,f\n"])  # fmt: skip
def test_rows_that_are_neither_are_refused(tmp_path, text):
    with pytest.raises(DataError, match=r"Write 3 columns|2 columns, as links have|an open quote|needs lines"):
        graph_of(tmp_path, {"g.csv": text})


def test_of_parquet_a_list_is_told(tmp_path):
    content = parquet({"id": ["a"], "vector": [[0.5]]})
    with pytest.raises(DataError, match=r"of type list<element: double>: 'vector'\. Write it as text, or leave"):
        graph_of(tmp_path, {"g.parquet": content})


def test_parquet_without_rows_is_empty(tmp_path):
    with pytest.raises(DataError, match=r"the file is empty\. It needs rows"):
        graph_of(tmp_path, {"g.parquet": parquet({"id": [], "name": []}, id=pa.string(), name=pa.string())})
