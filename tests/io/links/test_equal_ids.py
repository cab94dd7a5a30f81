"""Entities with the same id on both sides as links: dealt out like given ones, never test links."""

from __future__ import annotations

import pytest
from conftest import write

from mixtea import DataError, load_task

OLD = [(f"x:{i}", "r", f"x:{i + 1}") for i in range(9)] + [("x:0", "r", "old")]
NEW = [(f"x:{i}", "r", f"x:{i + 1}") for i in range(9)] + [("x:0", "r", "new")]


def by_ids(**given):
    return load_task(**dict(source=OLD, target=NEW, links_from="ids") | given)


def named(task, split):
    return [(str(task.source.ids[s]), str(task.target.ids[t])) for s, t in getattr(task, split)]


def test_four_fifths_train_and_one_validates_as_of_a_file_of_links():
    task = by_ids()
    assert (len(task.train), len(task.valid), len(task.test), task.links_from) == (8, 2, 0, "ids")
    assert sorted(named(task, "train") + named(task, "valid")) == [(f"x:{i}", f"x:{i}") for i in range(10)]
    given = load_task(source=OLD, target=NEW, links=[(f"x:{i}", f"x:{i}") for i in range(10)])
    assert sorted(named(given, "train")) == sorted(named(task, "train")) and not task.warnings
    assert "links from ids: 8 train, 2 valid" in repr(task)


def test_who_has_a_test_link_is_no_link_by_its_id():
    task = by_ids(test_links=[("x:0", "x:0"), ("x:1", "new"), ("old", "x:2")])
    known = [*named(task, "train"), *named(task, "valid")]
    assert len(task.test) == 3 and sorted(known) == [(f"x:{i}", f"x:{i}") for i in range(3, 10)]


def test_rejected_pairs_blank_nodes_and_words_of_rdf_are_no_links(tmp_path):
    head = "subject_id\tpredicate_id\tpredicate_modifier\tobject_id\n"
    write(tmp_path, {"no.sssom.tsv": head + "x:3\tskos:exactMatch\tNot\tx:3\nold\tskos:exactMatch\t\tnew\n"})
    more = [("_:b0", "r", "http://www.w3.org/2002/07/owl#Thing")]
    task = by_ids(source=OLD + more, target=NEW + more, test_links=tmp_path / "no.sssom.tsv")
    known = [one for one, _ in named(task, "train") + named(task, "valid")]
    assert sorted(known) == [f"x:{i}" for i in range(10) if i != 3]


def test_numbers_may_be_counted_by_each_side():
    task = by_ids(source=[(1, "r", 2)], target=[(1, "r", 2)])
    assert len(task.train) + len(task.valid) == 2 and "all 2 ids that both sides share are numbers" in task.warnings[0]


@pytest.mark.parametrize(
    "given, message",
    [
        (dict(target=[("y", "r", "z")]), r"No id is on both sides.*'x:0'.*'y'.*--links-from names"),
        (dict(test_links=[(f"x:{i}", f"x:{i}") for i in range(10)]), "have test links or are rejected"),
        (dict(links=[("x:0", "x:0")]), "found by names or ids: leave the links out"),
    ],
)
def test_what_is_no_task_by_ids_knows_a_way_out(given, message):
    with pytest.raises(DataError, match=message):
        by_ids(**given)


@pytest.mark.parametrize(
    "ids, said", [(["u:1", "u:2"], True), (["1", "2"], False), (["a", "b"], False), (["_:1", "_:2"], False)]
)
def test_without_links_ids_on_both_sides_are_told(ids, said):
    graph = [(ids[0], "r", ids[1])]
    task = load_task(source=graph, target=[("u:1", "s", "u:2"), ("1", "s", "2")])
    assert task.links_from == "names"
    assert [w for w in task.warnings if w.endswith("--links-from ids takes them as links")] == (
        ["2 ids are on both sides, such as 'u:1': --links-from ids takes them as links"] * said
    )
