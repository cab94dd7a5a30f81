"""The voter `keys`: columns that the user calls keys decide alone; others are weighed as the user says."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from mixtea import load_task
from mixtea.compute.scored_pairs import pairs_of_keys
from mixtea.config import Config
from mixtea.graph.joint_index import OpenIndex
from mixtea.io.columns.hints import ComparedColumns
from mixtea.voters.attributes import AlignedPredicates, apply_weights
from mixtea.voters.base import VotingState
from mixtea.voters.stated import DIFFERENT, EQUAL, Keys

CONFIG = Config.preset("best")
SOURCE = [{"id": "a", "tel": "310/246-1501"}, {"id": "b", "tel": "818-762"}, {"id": "c", "tel": None}]
TARGET = [{"id": "x", "tel": "310 246 1501"}, {"id": "y", "tel": "818 762"}, {"id": "z", "tel": "818 762"}]


def voter(columns):
    return Keys().bind(load_task(source=SOURCE, target=TARGET, links={"a": "x"}, columns=columns), CONFIG)


def test_equal_values_are_the_same_and_different_ones_are_not():
    keys = voter({"tel": {"key": True}})
    entities = OpenIndex((torch.arange(3), torch.arange(3, 6)), (3, 3), (3, 3))
    state = VotingState(keys.task, CONFIG, entities, torch.Generator())
    scores = np.asarray(keys.score(entities.open_pairs(pairs_of_keys(torch.arange(9), (3, 3))), state)).reshape(3, 3)
    equal, one_of_two, different = np.array([EQUAL, EQUAL - math.log(2), DIFFERENT]) + math.log(3)
    wanted = [[equal, different, different], [different, one_of_two, one_of_two], [math.nan] * 3]
    np.testing.assert_allclose(scores, np.array(wanted) * CONFIG.sinkhorn_temperature)
    assert keys.propose(state).tolist() == [[0, 0], [1, 1], [1, 2]]
    assert keys.explain(0, 0)[0].what == "key tel: 3102461501 = 3102461501" and keys.explain(0, 1)[0].weight < 0
    assert keys.explain(2, 0) == []


def test_nobody_decides_without_a_key():
    assert voter({"tel": {"key": True}}).is_applicable() and not voter({"tel": {"weight": 2}}).is_applicable()


FOUND = [AlignedPredicates((0, 0), 0.5), AlignedPredicates((0, 1), 0.3), AlignedPredicates((2, 2), 0.1)]


@pytest.mark.parametrize(
    "wanted, left",
    [
        (ComparedColumns("a", "x", 2.0, False), [AlignedPredicates((2, 2), 0.1), AlignedPredicates((0, 0), 1.0)]),
        (
            ComparedColumns("b", "x", 1.0, False),
            [AlignedPredicates((0, 1), 0.3), AlignedPredicates((2, 2), 0.1), AlignedPredicates((1, 0), 0.3)],
        ),
        (ComparedColumns("a", "", 0.0, False), [AlignedPredicates((2, 2), 0.1)]),
        (
            ComparedColumns("", "z", 3.0, False),
            [AlignedPredicates((0, 0), 0.5), AlignedPredicates((0, 1), 0.3), AlignedPredicates((2, 2), 0.3)],
        ),
    ],
)
def test_columns_are_compared_as_the_user_says(wanted, left):
    found = apply_weights(FOUND, [wanted], ["a", "b", "c"], ["x", "y", "z"])
    assert [pair.ends for pair in found] == [pair.ends for pair in left]
    np.testing.assert_allclose([pair.weight for pair in found], [pair.weight for pair in left])
    assert apply_weights([], [ComparedColumns("a", "x", 1.0, False)], ["a"], ["x"]) == [AlignedPredicates((0, 0), 1.0)]
