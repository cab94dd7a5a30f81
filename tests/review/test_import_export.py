"""Decisions as SSSOM: what is written is read again, by us and by others, whatever the ids look like."""

from __future__ import annotations

import csv
import math
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import sssom_pydantic
from conftest import make_graph, said_task, write
from reviewing import decision

from mixtea.errors import DataError
from mixtea.review.decision import Share, pair_decisions
from mixtea.review.decisions import DecisionStore
from mixtea.review.import_export import read_decisions, write_decisions
from mixtea.review.learning import merge_decision_file
from mixtea.review.reviewers import UNMEASURED

AT = "2024-05-06T07:08:09.000+00:00"
IDS = {
    "plain": (["Rome", "New York", "a/b #c"], ["Roma", "Nueva York", 'x "y"']),
    "IRIs": ([f"http://a.org/{i}" for i in range(3)], [f"http://b.org/onto#{i}" for i in range(3)]),
    "CURIEs": (["MA:0001", "MA:0002", "MA:0003"], ["NCI:C1", "NCI:C2", "NCI:C3"]),
}


def task_of(source, target):
    graphs = [make_graph([(0, 0, 1), (1, 0, 2)], 3, side) for side in "st"]
    ids = [np.array(own, dtype=object) for own in (source, target)]
    return said_task(*(replace(graph, ids=own) for graph, own in zip(graphs, ids, strict=True)))


def said_of(rows):
    return {pair: one.same for pair, one in pair_decisions(rows).items()}


def three(task, **more):
    """One accepted, one rejected by another person, and none of two."""
    source, target = task.source.ids.tolist(), task.target.ids.tolist()
    return [
        decision("a", "accept", source[0], target[0], *target, at=AT, id=1, **more),
        decision("b", "reject", source[1], target[0], *target, at=AT, id=2, reviewer="Bob B."),
        decision("c", "none", source[2], None, *target[1:], at=AT, id=3),
    ]


@pytest.fixture(params=IDS)
def task(request):
    return task_of(*IDS[request.param])


def test_what_is_written_is_read_again(task, tmp_path):
    path = tmp_path / "d.sssom.tsv"
    own = three(task)
    assert write_decisions(task, own, {}, path) == 4
    found = read_decisions(task, path, "somebody")
    assert said_of(found) == said_of(own) and len(found) == 4
    assert {(one.reviewer, one.at, one.reason) for one in found} == {
        ("ann", "2024-05-06", "imported"), ("Bob B.", "2024-05-06", "imported"),
    }  # fmt: skip
    assert {one.action for one in found} == {"accept", "reject"}


def test_all_accepted_targets_are_written_of_a_source_that_may_have_several(tmp_path):
    """Of twelve linked sources s0 alone has two targets."""
    graphs = [make_graph([(i, 0, i + 1) for i in range(15)], 16, side) for side in "st"]
    task = said_task(*graphs, [*((i, i) for i in range(12)), (0, 12)])
    pairs = [("s0", "t13"), ("s0", "t14"), ("s13", "t13"), ("s13", "t15")]
    own = [decision(f"{i}", "accept", *pair, at=AT, id=i) for i, pair in enumerate(pairs)]
    path = tmp_path / "d.sssom.tsv"
    assert write_decisions(task, own, {}, path) == 3
    found = [(one.source, one.target) for one in read_decisions(task, path, "somebody")]
    assert found == [("s0", "t13"), ("s0", "t14"), ("s13", "t15")]


def test_others_can_read_it(task, tmp_path):
    path = tmp_path / "d.sssom.tsv"
    measured = {"ann": UNMEASURED._replace(right=Share(80, 100))}
    write_decisions(task, three(task), measured, path)
    mappings, _, about, errors = sssom_pydantic.read(path, return_errors=True)
    assert errors == [] and about.title == "Decisions of reviewers" and len(mappings) == 4
    assert [one.predicate_modifier for one in mappings] == [None, "Not", "Not", "Not"]
    assert {one.justification.curie for one in mappings} == {"semapv:ManualMappingCuration"}
    assert {one.predicate.curie for one in mappings} == {"skos:exactMatch"}
    assert [one.confidence for one in mappings] == [0.8, None, 0.8, 0.8]  # Bob is not measured
    assert {str(one.mapping_date) for one in mappings} == {"2024-05-06"}


def test_what_a_training_reads_of_it(task, tmp_path):
    """An exported file is learned from without the page: facts and opinions as they were."""
    path = tmp_path / "d.sssom.tsv"
    write_decisions(task, three(task), {"ann": UNMEASURED._replace(right=Share(80, 100))}, path)
    linked = task.replace(train=np.array([[2, 0]]))
    found = merge_decision_file(linked, path)
    assert found.train.tolist() == [[2, 0]] and found.rejected.tolist() == [[1, 0]]
    assert found.reviewed.pairs.tolist() == [[0, 0], [2, 1], [2, 2]]
    assert found.reviewed.log_odds == pytest.approx(math.log(4) * np.array([1, -1, -1]))


def test_read_twice_it_is_taken_over_once(task, tmp_path):
    path = tmp_path / "d.sssom.tsv"
    write_decisions(task, three(task), {}, path)
    with closing(DecisionStore(tmp_path / "d.sqlite")) as store:
        for _ in range(2):
            store.add(read_decisions(task, path, "somebody"))
        assert store.last_id() == 4
        assert said_of(store.active()) == said_of(three(task))
        write_decisions(task, store.active(), {}, tmp_path / "again.sssom.tsv")
    assert (tmp_path / "again.sssom.tsv").read_text() == path.read_text()


def test_only_what_stands_is_written(tmp_path):
    task = task_of(*IDS["plain"])
    rows = [
        decision("a", "accept", "Rome", "Roma", at=AT, id=1),
        decision("b", "accept", "Rome", "Nueva York", at=AT, id=4),
        decision("c", "unsure", "New York", "Roma", at=AT, id=2),
        decision("d", "accept", "a/b #c", "Roma", at=AT, id=3, reason="known"),
    ]  # fmt: skip
    assert write_decisions(task, rows, {}, tmp_path / "d.sssom.tsv") == 1
    (one,) = read_decisions(task, tmp_path / "d.sssom.tsv", "")
    assert (one.source, one.target, one.action) == ("Rome", "Nueva York", "accept")


def test_nothing_decided_is_a_file_without_rows(tmp_path):
    task = task_of(*IDS["IRIs"])
    assert write_decisions(task, [], {}, tmp_path / "d.sssom.tsv") == 0
    assert sssom_pydantic.read(tmp_path / "d.sssom.tsv").mappings == []


def test_labels_are_beside_the_ids_and_names_of_reviewers_are_one_line(tmp_path):
    task = task_of(*IDS["plain"])
    path = tmp_path / "d.sssom.tsv"
    write_decisions(task, [decision("a", "accept", "Rome", "Roma", at=AT, id=1, reviewer="a\tb\nc")], {}, path)
    rows = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    (row,) = csv.DictReader(rows, delimiter="\t")
    assert (row["subject_label"], row["object_label"]) == ("Rome", "Roma")
    assert "\t" not in row["author_label"] and row["author_label"].startswith("a")


def test_entities_that_are_gone_keep_their_decisions(tmp_path):
    """A file about an earlier state of the graphs: those who come back are known again."""
    before, path = task_of(*IDS["IRIs"]), tmp_path / "d.sssom.tsv"
    write_decisions(before, three(before), {}, path)
    now = task_of([*IDS["IRIs"][0][:2], "http://a.org/new"], IDS["IRIs"][1])
    assert said_of(read_decisions(now, path, "")) == said_of(three(before))
    again = tmp_path / "again.sssom.tsv"
    write_decisions(now, [one._replace(id=i) for i, one in enumerate(read_decisions(now, path, ""), 1)], {}, again)
    assert said_of(read_decisions(before, again, "")) == said_of(three(before))


def test_any_link_file_is_decisions_of_who_reads_it(tmp_path):
    task = task_of(*IDS["plain"])
    write(tmp_path, {"l.tsv": "Rome\tRoma\nNew York\tNueva York\n"})
    found = read_decisions(task, tmp_path / "l.tsv", "ann")
    assert [(one.reviewer, one.action, one.source, one.target) for one in found] == [
        ("ann", "accept", "Rome", "Roma"), ("ann", "accept", "New York", "Nueva York"),
    ]  # fmt: skip


def test_links_that_are_turned_round_are_turned_back(tmp_path):
    task = task_of(*IDS["IRIs"])
    text = "subject_id\tpredicate_id\tobject_id\nhttp://b.org/onto#1\tskos:exactMatch\thttp://a.org/1\n"
    write(tmp_path, {"d.sssom.tsv": text})
    (one,) = read_decisions(task, tmp_path / "d.sssom.tsv", "ann")
    assert (one.source, one.target) == ("http://a.org/1", "http://b.org/onto#1")


def test_a_file_that_is_none_is_named(tmp_path):
    task = task_of(*IDS["plain"])
    with pytest.raises(DataError, match=r"nothing\.tsv"):
        read_decisions(task, tmp_path / "nothing.tsv", "ann")
    write(tmp_path, {"d.tsv": "one column\n"})
    with pytest.raises(DataError, match=r"d\.tsv.*\n.*1 column"):
        read_decisions(task, tmp_path / "d.tsv", "ann")
