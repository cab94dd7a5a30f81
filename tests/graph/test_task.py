"""Tasks of any number of graphs, their parts, and what is asked about."""

import numpy as np
import pytest

from mixtea import DataError, MixTEA, load_graph
from mixtea.graph.fingerprint import checksum
from mixtea.graph.task import Links, Reviewed, Task, no_links
from mixtea.io.columns.hints import ComparedColumns

NONE = no_links()


@pytest.fixture
def three():
    """Chains 1-2-3 of graphs a, b and c; links a1-b1 (train), b2-c2 (train), a3-c3 (test), a2-b3 rejected."""
    chains = [load_graph([(f"{x}1", "r", f"{x}2"), (f"{x}2", "r", f"{x}3")]) for x in "abc"]
    links = Links(np.array([[0, 3], [4, 7]]), NONE, np.array([[2, 8]]), np.array([[1, 5]]))
    opinions = Reviewed(np.array([[0, 6]]), np.array([2.0]))
    return Task("three", tuple(chains), links, opinions=opinions)


def test_a_task_of_three_graphs_has_no_source(three):
    for name in ("source", "target", "train", "valid", "test", "rejected", "reviewed"):
        with pytest.raises(DataError, match="3 graphs"):
            getattr(three, name)
    with pytest.raises(DataError, match="two graphs"):
        MixTEA().fit(three)
    assert repr(three).count("3 entities") == 3 and "graph 3" in three._repr_html_()


@pytest.mark.parametrize(
    ("graphs", "train", "test", "rejected"),
    [((0, 1), [[0, 0]], [], [[1, 2]]), ((1, 2), [[1, 1]], [], []), ((0, 2), [], [[2, 2]], [])],
)
def test_two_of_its_graphs_are_a_task(three, graphs, train, test, rejected):
    pair, turned = three.between(*graphs), three.between(*graphs[::-1])
    assert [pair.source.ids[0], pair.target.ids[0]] == ["abc"[side] + "1" for side in graphs]
    assert (pair.train.tolist(), pair.test.tolist(), pair.rejected.tolist()) == (train, test, rejected)
    assert turned.source.ids.tolist() == pair.target.ids.tolist()
    assert turned.train.tolist() == [link[::-1] for link in train]
    assert turned.links.train.tolist() == [[link[1], 3 + link[0]] for link in train]


def test_uncertain_decisions_stay_with_their_pair(three):
    assert len(three.between(0, 1).reviewed.pairs) == 0
    assert [part.tolist() for part in three.between(2, 0).reviewed] == [[[0, 0]], [2.0]]


def test_a_part_keeps_order_triples_and_pairs_within(three):
    kept = np.array([True, False, True, True, True, False, False, True, True])
    part = three.subtask(kept)
    assert [graph.ids.tolist() for graph in part.graphs] == [["a1", "a3"], ["b1", "b2"], ["c2", "c3"]]
    assert [graph.n_triples for graph in part.graphs] == [0, 1, 1]
    assert part.links.train.tolist() == [[0, 2], [3, 4]] and part.links.test.tolist() == [[1, 5]]
    assert not len(part.links.rejected) and not len(part.opinions.pairs) and not len(part.opinions.log_odds)


def test_what_is_asked_about_goes_with_the_entities(three):
    asked = np.arange(9) % 2 == 0
    found = three.subtask(np.ones(9, dtype=bool), asked)
    assert found.between(1, 2).asked.tolist() == [False, True, False, True, False, True]
    assert found.between(2, 1).asked.tolist() == [True, False, True, False, True, False]
    assert three.is_asked(2).all() and found.is_asked(0).tolist() == [True, False, True]
    with pytest.raises(DataError, match="8 values"):
        three.replace(asked=np.ones(8, dtype=bool))


def test_other_graphs_have_other_joint_indices(rings):
    """Pairs are kept by entity index when a graph of another size takes the place of one."""
    longer = load_graph([(f"n{i}", "r", f"n{i + 1}") for i in range(50)])
    changed = rings.replace(source=longer)
    assert changed.train.tolist() == rings.train.tolist() and changed.links.train[0, 1] != rings.links.train[0, 1]


def test_context_competes_for_targets_and_has_no_answer(rings, tmp_path):
    settings = dict(preset="paper", max_epochs=3, device="cpu", seed=1)
    whole = MixTEA(**settings).fit(rings)
    n = rings.joint_index.n
    asked = np.arange(n) % 3 == 0
    task = rings.replace(asked=asked)
    part = MixTEA(**settings).fit(task)
    expected = whole.map().frame
    expected = expected[expected["source"].isin(rings.source.ids[asked[: rings.source.n_entities]])]
    assert 0 < len(expected) < len(whole.map().frame)
    assert part.map().frame.equals(expected.reset_index(drop=True))
    assert set(part.predict(3).source_index) <= set(np.flatnonzero(asked)) and part.score(task.test)["hits@1"] >= 0
    context = next(int(i) for i in whole.predict().source_index if not asked[i])
    with pytest.raises(DataError, match="context"):
        part.predict(sources=[context])
    part.save(tmp_path / "run")
    again = MixTEA.load(tmp_path / "run")
    assert again.task_.asked.tolist() == asked.tolist() and again.map().frame.equals(part.map().frame)
    assert checksum(task) == checksum(again.task_) != checksum(rings)


def test_what_two_graphs_share_is_turned_with_them(three):
    slots = {("a1", "b1"): {"comment": "ab"}, ("b2", "c2"): {"comment": "bc"}}
    task = three.replace(slots=slots, compared=(ComparedColumns("s", "t", 2.0, False),))
    assert task.between(0, 1).slots == {("a1", "b1"): {"comment": "ab"}} and task.between(0, 2).slots == {}
    turned = task.between(2, 1)
    assert turned.slots == {("c2", "b2"): {"comment": "bc"}}
    assert turned.compared == (ComparedColumns("t", "s", 2.0, False),)


@pytest.mark.parametrize("graphs", [(-1, 0), (0, 0), (0, 3)])
def test_only_two_of_its_graphs_are_a_task(three, graphs):
    with pytest.raises(DataError, match="name two of the 3 graphs"):
        three.between(*graphs)
