"""The voter `reviewer`: what people said of pairs, as much as their word is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from conftest import SMALL_BEST, make_graph, said_task

from mixtea import MixTEA
from mixtea.compute.scored_pairs import pairs_of_keys
from mixtea.config import STRUCTURE_VOTERS, Config
from mixtea.graph.joint_index import OpenIndex
from mixtea.graph.task import Reviewed
from mixtea.voters.base import VotingState
from mixtea.voters.registry import voter_class
from mixtea.voters.stated import Reviewer

CONFIG = Config.preset("best")


def told(pairs=((1, 2), (2, 1), (1, 2)), log_odds=(1.5, -2.0, 0.5)):
    """Three entities a side, 0 linked; two spoke of the pair (1, 2), one against (2, 1)."""
    graphs = [make_graph([(0, 0, 1), (1, 0, 2)], 3, side) for side in "st"]
    said = Reviewed(np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(log_odds, dtype=np.float64))
    return said_task(*graphs, [(0, 0)]).replace(reviewed=said)


def asked(task):
    """All pairs of 1 and 2 with 2 and 1, and what is looked at meanwhile."""
    entities = OpenIndex((torch.tensor([1, 2]), torch.tensor([5, 4])), (3, 3), (2, 2))
    state = VotingState(task, CONFIG, entities, torch.Generator())
    return entities.open_pairs(pairs_of_keys(torch.arange(4), (2, 2))), state


def test_it_has_a_name_and_needs_opinions():
    assert voter_class("reviewer") is Reviewer and Reviewer.is_calibrated
    assert Reviewer().bind(told(), CONFIG).is_applicable() and not Reviewer().bind(told((), ()), CONFIG).is_applicable()


def test_it_scores_what_was_said_and_is_silent_about_the_rest():
    task = told()
    scores = np.asarray(Reviewer().bind(task, CONFIG).score(*asked(task)))
    wanted = np.array([2.0, math.nan, math.nan, -2.0]) * CONFIG.sinkhorn_temperature  # (1, 2), (1, 1), (2, 2), (2, 1)
    np.testing.assert_allclose(scores, wanted)


def test_without_opinions_it_is_silent():
    task = told((), ())
    assert np.isnan(Reviewer().bind(task, CONFIG).score(*asked(task))).all()


def test_it_proposes_what_was_accepted():
    task = told()
    assert Reviewer().bind(task, CONFIG).propose(asked(task)[1]).tolist() == [[1, 2], [1, 2]]


def test_it_says_why():
    voter = Reviewer().bind(told(), CONFIG)
    assert [tuple(row) for row in voter.explain(1, 2)] == [("a reviewer accepted it", 2.0)]
    assert [tuple(row) for row in voter.explain(2, 1)] == [("a reviewer rejected it", -2.0)]
    assert list(voter.explain(1, 1)) == []


@pytest.fixture(scope="module")
def voted(rings):
    """The rings, of which somebody has said that the first open source is another one's target, and is not its own."""
    source, right = rings.test[0].tolist()
    wrong = int(rings.test[1, 1])
    said = {}
    for weight in (6.0, -6.0):
        pairs, log_odds = np.array([[source, wrong], [source, right]]), np.array([weight, -weight])
        task = rings.replace(reviewed=Reviewed(pairs, log_odds))
        settings = SMALL_BEST | {"voters": (*STRUCTURE_VOTERS, "reviewer"), "max_epochs": 1}
        said[weight] = MixTEA(**settings).fit(task)
    return said, source, right, wrong


def test_it_moves_what_is_believed(voted):
    said, source, _, wrong = voted
    found = {}
    for weight, aligner in said.items():
        answers = aligner.answers_
        row = int(np.flatnonzero(answers.source_index == source)[0])
        found[weight] = float(answers.ranked.belief[row, answers.ranked.target[row].tolist().index(wrong)])
    assert found[6.0] > math.exp(12) * found[-6.0] > 0


def test_what_it_adds_is_the_log_odds_and_named_where_it_speaks_for(voted):
    said, source, right, _ = voted
    answers = said[-6.0].answers_
    row = int(np.flatnonzero(answers.source_index == source)[0])
    assert answers.ranked.target[row, 0] == right and answers.parts["reviewer"][row, 1] == pytest.approx(6.0)
    named = answers.ranked.supporters[:, 0, answers.voter_names.index("reviewer")]
    assert named[row] and named.sum() == 1
    task = answers.task
    explained = said[-6.0].explain(task.source.ids[source], task.target.ids[right])
    assert "a reviewer accepted it" in explained["what"].tolist()
