"""What people decided, in a task: facts become links and rejected pairs, the rest opinions."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from conftest import SMALL_BEST, make_graph, write
from small_files import parquet

from mixtea import Config, DataError, MixTEA, Task
from mixtea.council.adapt import REVIEWER, with_reviewer
from mixtea.review.learning import merge_decision_file, merge_decisions
from mixtea.review.reviewers import MAX_RELIABILITY, MIN_RELIABILITY
from mixtea.runs.reader import StoredRun

NAN = float("nan")
HEAD = "subject_id\tpredicate_id\tobject_id\tpredicate_modifier\tconfidence\n"


def pairs(*found):
    return np.array(found, dtype=np.int64).reshape(-1, 2)


@pytest.fixture
def six():
    """Six a side; 0 and 1 train, 2 validates, 3 and 4 test, (5, 0) is rejected."""
    graphs = [make_graph([(i, 0, i + 1) for i in range(5)], 6, side) for side in "st"]
    links = pairs(*((i, i) for i in range(6)))
    return Task.of_two("six", *graphs, links[:2], links[2:3], links[3:5], rejected=pairs((5, 0)))


def decided(task, found, same, reliability=None):
    sure = np.full(len(found), NAN) if reliability is None else np.array(reliability, dtype=np.float64)
    return merge_decisions(task, pairs(*found), np.array(same, dtype=bool), sure)


def links_of(task):
    return [[tuple(pair) for pair in part.tolist()] for part in (task.train, task.valid, task.test, task.rejected)]


def test_accepted_pairs_are_training_links_and_are_not_asked_about(six):
    task = decided(six, [(3, 3), (5, 5)], [True, True])
    assert links_of(task) == [[(0, 0), (1, 1), (3, 3), (5, 5)], [(2, 2)], [(4, 4)], [(5, 0)]]
    assert 3 not in task.unlabelled()[0] and 4 in task.unlabelled()[0]
    assert len(task.reviewed.pairs) == 0


def test_an_accepted_pair_leaves_nothing_to_ask_about_either_end(six):
    assert links_of(decided(six, [(3, 4)], [True]))[2] == []


def test_what_is_a_link_already_stays_what_it_is(six):
    assert links_of(decided(six, [(0, 0), (2, 2)], [True, True])) == links_of(six)


def test_a_source_keeps_its_link_unless_that_is_rejected(six, caplog):
    assert links_of(decided(six, [(0, 5)], [True]))[0] == [(0, 0), (1, 1)] and "another link" in caplog.text
    task = decided(six, [(0, 0), (0, 5)], [False, True])
    assert links_of(task)[0] == [(1, 1), (0, 5)] and not len(task.multi_target_sources)


def test_a_source_that_may_have_several_targets_gets_further_ones(caplog):
    """Of twelve sources one has two targets: it alone may have a third."""
    graphs = [make_graph([(i, 0, i + 1) for i in range(13)], 14, side) for side in "st"]
    links = pairs(*((i, i) for i in range(12)), (0, 12))
    task = decided(Task.of_two("few", *graphs, links, links[:0], links[:0]), [(0, 13), (1, 13)], [True, True])
    assert links_of(task)[0][len(links) :] == [(0, 13)] and "1 accepted pairs are left out" in caplog.text


def test_where_many_sources_have_several_targets_any_gets_further_ones(six):
    many = six.replace(train=pairs((0, 0), (0, 1), (1, 2)))
    assert links_of(decided(many, [(1, 5), (3, 3), (3, 4)], [True] * 3))[0][3:] == [(1, 5), (3, 3), (3, 4)]


def test_rejected_pairs_are_no_links_and_said_once(six):
    task = decided(six, [(1, 1), (2, 2), (5, 0), (3, 3)], [False] * 4)
    assert links_of(task) == [[(0, 0)], [], [(3, 3), (4, 4)], [(1, 1), (2, 2), (5, 0), (3, 3)]]


def test_what_was_rejected_before_can_be_accepted(six):
    task = decided(six, [(5, 0)], [True])
    assert links_of(task)[0][-1] == (5, 0) and links_of(task)[3] == []


def test_unreliable_decisions_are_opinions_of_their_weight(six):
    task = decided(six, [(3, 3), (4, 4), (5, 5), (5, 4)], [True, False, True, True], [0.9, 0.8, 0.3, 0.95])
    assert links_of(task)[0] == [(0, 0), (1, 1), (5, 4)]  # from .95 on it is a fact
    assert task.reviewed.pairs.tolist() == [[3, 3], [4, 4], [5, 5]]
    assert task.reviewed.log_odds == pytest.approx([math.log(9), -math.log(4), 0])
    assert links_of(task)[2] == [(3, 3)] and links_of(task)[3] == [(5, 0)] and MIN_RELIABILITY == 0.5
    further = decided(task, [(3, 4)], [False], [0.75])
    assert further.reviewed.pairs.tolist() == [[3, 3], [4, 4], [5, 5], [3, 4]]
    assert further.reviewed.log_odds[-1] == pytest.approx(-math.log(3))


def test_where_links_come_from_names_accepted_pairs_are_opinions(six):
    task = six.replace(train=six.train[:0], valid=six.valid[:0], links_from="names")
    task = decided(task, [(3, 3), (4, 3)], [True, False])
    assert len(task.train) == 0 and task.reviewed.pairs.tolist() == [[3, 3]]
    assert task.reviewed.log_odds == pytest.approx([math.log(MAX_RELIABILITY / (1 - MAX_RELIABILITY))])
    assert links_of(task)[3] == [(5, 0), (4, 3)]


def test_nothing_is_left_to_learn_from_if_all_training_links_are_rejected(six):
    with pytest.raises(DataError, match="reject all training links: there is nothing left to learn from"):
        decided(six, [(0, 0), (1, 1)], [False, False])
    assert links_of(decided(six, [(0, 0), (1, 1), (3, 3)], [False, False, True]))[0] == [(3, 3)]


def test_nothing_decided_changes_nothing(six):
    assert links_of(decided(six, [], [])) == links_of(six)


def test_opinions_vote_where_there_are_any(six):
    config = Config.preset("best")
    assert with_reviewer(six, config) == {}
    task = decided(six, [(3, 3)], [True], [0.8])
    assert with_reviewer(task, config) == {"voters": (*config.voters, REVIEWER)}
    assert with_reviewer(task, config.replace(voters=(*config.voters, REVIEWER))) == {}


def test_opinions_are_kept_with_the_run(six, tmp_path):
    task = decided(six, [(3, 3), (4, 3)], [True, False], [0.9, 0.6])
    aligner = MixTEA(**SMALL_BEST | {"voters": ("forward", "backward", "propagation", REVIEWER)}).fit(task)
    aligner.save(tmp_path / "run")
    for found in (StoredRun(tmp_path / "run").task_, MixTEA.load(tmp_path / "run").task_):
        assert found.reviewed.pairs.tolist() == [[3, 3], [4, 3]]
        assert found.reviewed.log_odds.tolist() == task.reviewed.log_odds.tolist()


# Files


def test_a_file_of_decisions(six, tmp_path):
    write(tmp_path, {"d.sssom.tsv": "".join([
        HEAD, "s3\tskos:exactMatch\tt3\t\t\n", "s5\tskos:exactMatch\tt5\t\t0.99\n",
        "s4\tskos:exactMatch\tt4\tNot\t\n", "s4\tskos:exactMatch\tt5\t\t0.8\n",
    ])})  # fmt: skip
    task = merge_decision_file(six, tmp_path / "d.sssom.tsv")
    assert links_of(task) == [[(0, 0), (1, 1), (3, 3), (5, 5)], [(2, 2)], [(4, 4)], [(5, 0), (4, 4)]]
    assert task.reviewed.pairs.tolist() == [[4, 5]] and task.reviewed.log_odds == pytest.approx([math.log(4)])


def test_a_file_says_how_sure_each_row_is_also_beside_rows_of_unknown_entities(six, tmp_path, caplog):
    rows = [("gone", "t3", "", "0.7"), ("s3", "t3", "", "0.8"), ("s4", "gone", "", ""), ("s5", "t5", "Not", "0.6")]
    write(tmp_path, {"d.sssom.tsv": HEAD + "".join(f"{s}\tskos:exactMatch\t{t}\t{n}\t{c}\n" for s, t, n, c in rows)})
    task = merge_decision_file(six, tmp_path / "d.sssom.tsv")
    assert task.reviewed.pairs.tolist() == [[3, 3], [5, 5]]
    assert task.reviewed.log_odds == pytest.approx([math.log(4), -math.log(1.5)])
    assert "2 of 4 pairs" in caplog.text


def test_the_last_word_of_a_file_counts(six, tmp_path):
    rows = [("s3", "t3", "", "0.7"), ("s3", "t3", "Not", ""), ("s4", "t4", "Not", ""), ("s4", "t4", "", "0.6")]
    write(tmp_path, {"d.sssom.tsv": HEAD + "".join(f"{s}\tskos:exactMatch\t{t}\t{n}\t{c}\n" for s, t, n, c in rows)})
    task = merge_decision_file(six, tmp_path / "d.sssom.tsv")
    assert links_of(task)[3] == [(5, 0), (3, 3)] and task.reviewed.pairs.tolist() == [[4, 4]]


@pytest.mark.parametrize("name", ["d.tsv", "d.csv", "d.json", "d.parquet"])
def test_other_formats_are_accepted_pairs(six, tmp_path, name):
    content = {
        "d.tsv": "s3\tt3\ns5\tt5\n",
        "d.csv": "source,target\ns3,t3\ns5,t5\n",
        "d.json": json.dumps([{"source": "s3", "target": "t3"}, {"source": "s5", "target": "t5"}]),
        "d.parquet": parquet({"source": ["s3", "s5"], "target": ["t3", "t5"]}),
    }[name]
    task = merge_decision_file(six, write(tmp_path, {name: content}) / name)
    assert links_of(task)[0] == [(0, 0), (1, 1), (3, 3), (5, 5)] and len(task.reviewed.pairs) == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        ("", "the file is empty"),
        ("s3 t3\n", "1 column"),
        ("a\tb\nc\td\n", "none of its 2 links fits the graphs"),
        (HEAD + "a\tskos:exactMatch\tt3\tNot\t\n", "its only pair does not fit the graphs"),
    ],
)
def test_a_wrong_file_is_named(six, tmp_path, content, said):
    path = tmp_path / ("d.sssom.tsv" if content and content.startswith(HEAD) else "d.tsv")
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match=said) as error:
        merge_decision_file(six, path)
    assert path.name in str(error.value)
