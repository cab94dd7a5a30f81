"""The council: from voters to a belief, from a belief to votes, on the bundled example."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch

from mixtea.compute.pairs import pairs_of_keys
from mixtea.config import Config
from mixtea.teach.loop import Trainer
from mixtea.vote.council import Opinions, believed, favourites, settle, total_score

CPU = torch.device("cpu")
SMALL = {"entity_dim": 32, "relation_dim": 16, "max_epochs": 12, "propagation_rounds": 3}


@pytest.fixture(scope="module")
def trained(example):
    trainer = Trainer(example, Config.preset("best", **SMALL), CPU)
    return trainer, trainer.train()


def test_propagation_alone_already_finds_most_of_the_example(example):
    trainer = Trainer(example, Config.preset("best", **SMALL), CPU)
    trainer.council.prepare()
    sure = trainer.council.sure_pairs().numpy() - np.array([0, example.source.n_entities])
    truth = dict(np.concatenate([example.valid, example.test]).tolist())
    right = np.mean([truth.get(s) == t for s, t in sure.tolist() if s in truth])
    assert len(sure) > 400 and right > 0.7
    assert len(np.unique(sure[:, 0])) == len(np.unique(sure[:, 1])) == len(sure)


def test_votes_remember_their_voters_and_agreement_means_precision(example, trained):
    trace = trained[1].trace.to_arrays()
    truth = np.full(example.source.n_entities, -1)
    for links in (example.valid, example.test):
        truth[links[:, 0]] = links[:, 1]
    last = (trace["last_epoch"] == trace["last_epoch"].max()) & (truth[trace["source"]] >= 0)
    agreeing = np.stack([(trace["voters"] >> bit) & 1 for bit in range(4)]).sum(0)
    right = truth[trace["source"]] == trace["target"]
    precision = [right[last & (agreeing == n)].mean() for n in (1, 4)]
    assert precision[0] < 0.5 < precision[1]
    assert set(np.unique(trace["first_epoch"])) <= {1, 6, 11}


def test_the_last_opinions_are_the_students(example, trained):
    result = trained[1]
    opinions = result.opinions
    assert set(opinions.scores) == {"vectors", "propagation", "agreement"}
    assert all(len(scores) == len(opinions.pairs) for scores in (*opinions.scores.values(), opinions.belief))
    assert opinions.belief.min() >= 0 and opinions.belief.max() <= 1 + 1e-5
    with torch.no_grad():
        vectors = torch.nn.functional.normalize(result.student(), dim=1)
    source, target = (
        rows[place] for rows, place in zip(result.rows, (opinions.pairs.source, opinions.pairs.target), strict=True)
    )
    torch.testing.assert_close(opinions.scores["vectors"], (vectors[source] * vectors[target]).sum(1))


def test_enough_validation_links_weigh_the_voters(example):
    trainer = Trainer(example, Config.preset("best", **SMALL, valid_needed=50, validate_every=6), CPU)
    trainer.train()
    weights = trainer.council.weights
    assert set(weights) == {"vectors", "propagation", "agreement"} and sum(weights.values()) == pytest.approx(3)
    assert len(set(weights.values())) > 1


@pytest.mark.parametrize("n_valid", [0, 20])
def test_few_validation_links_are_said_aloud_and_not_used(example, n_valid, caplog):
    few = replace(example, train=example.train[:40], valid=example.valid[:n_valid])
    with caplog.at_level(logging.WARNING):
        trainer = Trainer(few, Config.preset("best", **SMALL, patience=1, validate_every=3), CPU)
        result = trainer.train()
    assert ("20 validation links are fewer than 100" in caplog.text) == (n_valid == 20)
    assert trainer.weights == [0.5, 0.5] and trainer.council.weights == {}
    assert result.stopped_because == "max_epochs = 12 reached" and len(result.history) == 12


def test_validation_links_do_not_reach_the_votes_where_they_are_too_few(example):
    """Training ends with the same student whether 98 validation links are right, wrong or absent."""
    students = []
    for valid in (
        example.valid,
        np.stack([example.valid[:, 0], np.roll(example.valid[:, 1], 1)], 1),
        example.valid[:0],
    ):
        trainer = Trainer(replace(example, valid=valid), Config.preset("best", **SMALL | {"max_epochs": 4}), CPU)
        students.append(trainer.train().student.entity)
    assert torch.equal(students[0], students[1]) and torch.equal(students[0], students[2])


OFF = [
    {"propagation": False}, {"agreement": False}, {"cross_fit": False}, {"vote_normaliser": "csls"},
    {"vote_normaliser": "none"}, {"rectify": False},
]  # fmt: skip


@pytest.mark.parametrize("settings", OFF)
def test_every_voter_and_normaliser_can_be_left_out(example, settings):
    result = Trainer(example, Config.preset("best", **SMALL | {"max_epochs": 7} | settings), CPU).train()
    assert result.history[-1]["votes"] > 700
    assert ("propagation" in result.opinions.scores) == settings.get("propagation", True)
    assert ("agreement" in result.opinions.scores) == settings.get("agreement", True)


def test_scores_add_up_by_weight_and_agreement_by_its_own():
    scores = {"vectors": torch.tensor([1.0]), "agreement": torch.tensor([3.0])}
    config = Config.preset("best", agreement_weight=4.0)
    assert total_score(scores, {"vectors": 0.5}, config).item() == 0.5 + 12


def test_favourites_are_bits_of_who_prefers_a_pair():
    pairs = pairs_of_keys(torch.arange(4), (2, 2))
    bits = favourites(
        pairs, {"vectors": torch.tensor([3.0, 2.0, 1.0, 0.0]), "agreement": torch.tensor([0.0, 1.0, 0.0, 0.0])}
    )
    # vectors: row bests 0 and 2, column bests 0 and 1; agreement likes pair 1 alone and says nothing where it is 0
    assert bits.tolist() == [3, 2 + 8, 1, 0]


def test_a_belief_without_sinkhorn_is_a_softmax_of_each_row():
    pairs, scores = pairs_of_keys(torch.arange(4), (2, 2)), torch.tensor([0.1, 0.2, 0.3, 0.1])
    config = Config(vote_normaliser="none", sinkhorn_temperature=0.1)
    torch.testing.assert_close(believed(pairs, scores, config).view(2, 2), (scores.view(2, 2) / 0.1).softmax(1))


def test_settling_without_agreement_is_the_normalised_sum():
    pairs = pairs_of_keys(torch.arange(4), (2, 2))
    scores = {"vectors": torch.tensor([0.9, 0.1, 0.2, 0.8]), "propagation": torch.tensor([0.5, 0.4, 0.3, 0.2])}
    config = Config.preset("best")
    found = settle(pairs, scores, {}, None, config, None, 3)
    assert isinstance(found, Opinions)
    torch.testing.assert_close(found.belief, believed(pairs, scores["vectors"] + scores["propagation"], config))
