"""Objects in tables that look like values, and what makes values of them."""

from __future__ import annotations

import pytest
from conftest import write

from mixtea import DataError, GraphFilter, load_task

PEOPLE = """subject,predicate,object
Q1,name,Ada Lovelace
Q1,born,1815-12-10
Q1,knows,Q2
Q1,about,"She wrote the first program, for a machine that was never built"
Q2,name,Charles Babbage
Q2,born,1791-12-26
Q2,knows,Q3
Q3,name,Mary Somerville
Q3,born,1780-12-26
"""
OTHERS = "a\tknows\tb\nb\tknows\tc\n"


def task_of(folder, graph=PEOPLE, name="s.csv", **options):
    write(folder, {name: graph, "t.tsv": OTHERS, "l.tsv": "Q1\ta\nQ2\tb\n"})
    return load_task(source=folder / name, target=folder / "t.tsv", links=folder / "l.tsv", **options)


def test_objects_that_look_like_values_are_told_with_the_way_out(tmp_path):
    (warning,) = task_of(tmp_path).warnings
    assert warning == (
        "the objects of 'name', 'born', 'about' look like values, such as 'Ada Lovelace', and are read as entities of "
        "the source graph. If they are values: --literals name --literals born --literals about"
    )


def test_literals_are_values_and_names_are_labels(tmp_path):
    task = task_of(tmp_path, graph_filter=GraphFilter(literals=("name", "born", "about")))
    assert task.source.ids.tolist() == ["Q1", "Q2", "Q3"] and task.source.relations.tolist() == ["knows"]
    assert task.source.label(0) == "Ada Lovelace" and ("born", "1815-12-10", "", "") in task.source.attributes_of(0)
    assert task.warnings == ()


def test_labels_by_a_vocabulary_are_labels_in_a_table_too(tmp_path):
    task = task_of(tmp_path, "Q1\trdfs:label\tAda\nQ1\tknows\tQ2\nQ2\tskos:prefLabel\tQ:3\n", "s.tsv")
    assert task.source.label(0) == "Ada" and task.source.ids.tolist() == ["Q1", "Q2", "Q:3"] and not task.warnings


@pytest.mark.parametrize(
    "graph",
    [
        "New York\tin\tUnited States\nBoston\tin\tUnited States\nNew York\tnear\tBoston\n",
        "1\tr\t2\n2\tr\t33\n2\tq\t44\n",
        "http://e.org/a\tr\thttp://e.org/b\nhttp://e.org/a\tr\te:c\n",
        "".join(f"e{i}\tr\te{i + 1}\n" for i in range(50)) + "e1\tq\t7\ne1\tq\te8\ne1\tq\te9\n",
    ],
)
def test_entities_that_are_written_as_others_are_no_values(tmp_path, graph):
    write(tmp_path, {"s.tsv": graph})
    task = load_task(source=tmp_path / "s.tsv", target=[("A", "r", "B")], links=[(graph.partition("\t")[0], "A")])
    assert task.warnings == ()


def test_a_predicate_that_is_not_there_is_told_and_folders_are_whole(tmp_path):
    assert (
        "--literals age: neither graph has it" in task_of(tmp_path, graph_filter=GraphFilter(literals="age")).warnings
    )
    with pytest.raises(DataError, match="A benchmark folder is read as a whole"):
        load_task(tmp_path, graph_filter=GraphFilter(literals="age"))
