"""Entities that their files call obsolete."""

from __future__ import annotations

import pytest
from conftest import write

from mixtea import DataError, GraphFilter, load_task

OBO = """format-version: 1.2
[Term]
id: MA:1
name: heart
is_a: MA:2

[Term]
id: MA:2
name: organ

[Term]
id: MA:3
name: old heart
is_obsolete: true
replaced_by: MA:1

[Term]
id: MA:4
is_obsolete: false
is_a: MA:2
"""
TTL = """@prefix : <http://t.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:A rdfs:subClassOf :B . :C a owl:Class ; owl:deprecated true ; rdfs:subClassOf :Gone . :D a owl:DeprecatedClass .
:B owl:deprecated false .
"""
LINKS = "MA:1\thttp://t.org/A\nMA:2\thttp://t.org/B\nMA:3\thttp://t.org/B\n"


def task_of(folder, links=LINKS, **options):
    write(folder, {"s.obo": OBO, "t.ttl": TTL, "l.tsv": links})
    return load_task(source=folder / "s.obo", target=folder / "t.ttl", links=folder / "l.tsv", **options)


def test_they_are_left_out_with_a_count_and_so_are_links_to_them(tmp_path):
    task = task_of(tmp_path)
    assert [id.rpartition("/")[2] for id in (*task.source.ids, *task.target.ids)] == [
        *("MA_1", "MA_2", "MA_4"), *("A", "B", "Gone")
    ]  # fmt: skip
    assert len(task.train) + len(task.valid) == 2
    assert task.warnings == (
        "3 obsolete entities are left out (owl:deprecated, is_obsolete in OBO): 1 of the source, 2 of the target; "
        "--keep-obsolete keeps them",
        f"{tmp_path / 'l.tsv'}: 1 link left out, of entities that are obsolete",
    )


def test_they_can_be_kept(tmp_path):
    task = task_of(tmp_path, graph_filter=GraphFilter(keep_obsolete=True))
    assert task.source.n_entities == 4 and task.target.n_entities == 5 and len(task.train) + len(task.valid) == 3


def test_links_to_them_alone_are_an_error(tmp_path):
    with pytest.raises(DataError, match=r"no link is left with these options\. .*--keep-obsolete"):
        task_of(tmp_path, "MA:3\thttp://t.org/A\n")


def test_a_graph_of_nothing_else_stays(tmp_path):
    write(tmp_path, {"s.nt": '<http://s/a> <http://www.w3.org/2002/07/owl#deprecated> "TRUE" .\n'})
    assert load_task(source=tmp_path / "s.nt", target=[("A", "r", "B")], links=[("http://s/a", "A")]).warnings == ()
