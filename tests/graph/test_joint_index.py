"""The three index spaces, and pairs that move between them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import make_graph

from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.graph.joint_index import JointIndex, OpenIndex, joint_triples, relation_numbers

OPEN = OpenIndex((torch.tensor([2, 0]), torch.tensor([4, 6, 3])), (3, 4), (2, 3))  # sources 2, 0 and targets 1, 3, 0


def test_entities_of_any_number_of_graphs_follow_each_other():
    joint = JointIndex((3, 0, 2))
    assert joint.n == 5 and joint.offsets == (0, 3, 3) and joint.rows(2) == slice(3, 5)
    every = np.arange(5)
    assert joint.side_of(every).tolist() == [0, 0, 0, 2, 2]
    assert np.asarray(joint.to_entities(2, joint.of_entities(2, np.array([0, 1])))).tolist() == [0, 1]
    assert joint.to_entity(2, joint.of_entity(2, 1)) == 1 and joint.of_entity(2, 1) == 4


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
def test_pairs_go_to_the_joint_index_and_back_unchanged(kind):
    pairs, joint = kind([[0, 0], [2, 3]]), JointIndex((3, 4))
    assert joint.of_pairs(pairs).tolist() == [[0, 3], [2, 6]]
    assert joint.to_pairs(joint.of_pairs(pairs)).tolist() == pairs.tolist() == [[0, 0], [2, 3]]


def test_open_pairs_keep_their_columns_and_lose_what_is_not_open():
    pairs = ScoredPairs(
        np.array([0, 1, 2, 0]), np.array([0, 1, 3, 2]), (3, 4), {"belief": np.array([0.1, 0.2, 0.3, 0.4])}
    )
    found = pairs.reindex(OPEN)
    assert found.space is OPEN and found.shape == (2, 3)
    assert list(zip(found.source.tolist(), found.target.tolist(), strict=True)) == [(0, 1), (1, 2)]
    assert found.belief.tolist() == [0.3, 0.1]
    back = found.by_entity
    assert (back.source.tolist(), back.target.tolist(), back.belief.tolist()) == ([2, 0], [3, 0], [0.3, 0.1])
    assert back.space is None and back.shape == (3, 4)


def test_relations_of_one_name_are_one_where_they_are_shared():
    graphs = [make_graph([(0, 0, 1)], 2), make_graph([(0, 1, 1), (1, 0, 0)], 2), make_graph([(1, 2, 0)], 2)]
    numbers, n = relation_numbers(graphs, True)
    assert [part.tolist() for part in numbers] == [[0], [0, 1], [0, 1, 2]] and n == 3
    numbers, n = relation_numbers(graphs, False)
    assert [part.tolist() for part in numbers] == [[0], [1, 2], [3, 4, 5]] and n == 6
    triples, _ = joint_triples(graphs, shared_relations=False)
    assert triples.T.tolist() == [[0, 0, 1], [2, 2, 3], [3, 1, 2], [5, 5, 4]]


def test_a_subgraph_has_the_triples_between_its_entities():
    graph = make_graph([(0, 0, 1), (1, 1, 2), (2, 0, 0), (3, 0, 3)], 4)
    part = graph.subgraph(np.array([False, True, True, True]))
    assert part.ids.tolist() == ["e1", "e2", "e3"] and part.triples.tolist() == [[0, 1, 1], [2, 0, 2]]
    assert part.degrees.tolist() == [1, 1, 2] and part.relations.tolist() == graph.relations.tolist()
    assert graph.subgraph(np.array([3, 1])).ids.tolist() == ["e1", "e3"]  # in their own order
