"""The council: from voters to a belief, from a belief to votes, on the bundled example."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch
from voting import bind, make_entities

from mixtea.compute.scored_pairs import pairs_of_keys
from mixtea.config import STRUCTURE_VOTERS, Config
from mixtea.council.council import Council, cover_isolated
from mixtea.council.opinions import Opinions, compute_belief, find_supporters, form_opinions, score_factors, total_score
from mixtea.errors import ConfigError
from mixtea.training.trainer import Trainer
from mixtea.vote import Voter, register
from mixtea.voters.base import VotingState
from mixtea.voters.registry import PluginVoter

CPU = torch.device("cpu")
SMALL = {
    "entity_dim": 32, "relation_dim": 16, "max_epochs": 12, "propagation_rounds": 3, "propagation_label_dim": 128,
    "propagation_relation_dim": 32, "voters": STRUCTURE_VOTERS, "stop_when_settled": False,
}  # fmt: skip
NAN = float("nan")


@pytest.fixture(scope="module")
def trained(example):
    trainer = Trainer(example, Config.preset("best", **SMALL), CPU)
    return trainer, trainer.train()


def test_propagation_alone_already_finds_most_of_the_example(example):
    trainer = Trainer(example, Config.preset("best", **SMALL), CPU)
    trainer.council.prepare()
    sure = trainer.council.sure_pairs().numpy()
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
    agreeing = np.unpackbits(trace["voters"], axis=1, count=4).sum(1)
    right = truth[trace["source"]] == trace["target"]
    precision = [right[last & (agreeing == n)].mean() for n in (1, 4)]
    assert precision[0] < 0.5 < precision[1]
    assert set(np.unique(trace["first_epoch"])) <= {1, 5, 9}


def test_the_last_opinions_are_the_students(example, trained):
    result = trained[1]
    opinions = result.opinions
    assert set(opinions.scores) == {"vectors", "propagation", "agreement"}
    assert all(len(scores) == len(opinions.pairs) for scores in (*opinions.scores.values(), opinions.belief))
    assert opinions.belief.min() >= 0 and opinions.belief.max() <= 1 + 1e-5
    with torch.no_grad():
        vectors = torch.nn.functional.normalize(result.student(), dim=1)
    source, target = (
        rows[place]
        for rows, place in zip(result.entities.rows, (opinions.pairs.source, opinions.pairs.target), strict=True)
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
    few = example.replace(train=example.train[:40], valid=example.valid[:n_valid])
    with caplog.at_level(logging.WARNING):
        trainer = Trainer(few, Config.preset("best", **SMALL, patience=1, validate_every=3), CPU)
        result = trainer.train()
    assert ("20 validation links are fewer than 100" in caplog.text) == (n_valid == 20)
    assert trainer.council.direction_weights == [0.5, 0.5] and trainer.council.weights == {}
    assert result.stopped_because == "max_epochs = 12 reached" and len(result.history) == 12


def test_validation_links_do_not_reach_the_votes_where_they_are_too_few(example):
    """Training ends with the same student whether 98 validation links are right, wrong or absent."""
    students = []
    for valid in (
        example.valid,
        np.stack([example.valid[:, 0], np.roll(example.valid[:, 1], 1)], 1),
        example.valid[:0],
    ):
        trainer = Trainer(example.replace(valid=valid), Config.preset("best", **SMALL | {"max_epochs": 4}), CPU)
        students.append(trainer.train().student.entity)
    assert torch.equal(students[0], students[1]) and torch.equal(students[0], students[2])


WITHOUT = ("forward", "backward", "agreement"), ("forward", "backward", "propagation")
OFF = [
    {"voters": WITHOUT[0]}, {"voters": WITHOUT[1]}, {"propagation_cross_fit": False}, {"vote_normaliser": "csls"},
    {"vote_normaliser": "none"}, {"rectify": False}, {"voters": ("forward", "propagation")},
    {"voters": ("propagation",)},
]  # fmt: skip


@pytest.mark.parametrize("settings", OFF)
def test_every_voter_and_normaliser_can_be_left_out(rings, settings):
    result = Trainer(rings, Config.preset("best", **SMALL | {"max_epochs": 7} | settings), CPU).train()
    voters = settings.get("voters", ("forward", "backward", "propagation", "agreement"))
    assert result.history[-1]["votes"] > 5 and set(result.opinions.scores) == {
        "vectors" if name in ("forward", "backward") else name for name in voters
    }
    assert {name for name in result.history[-1] if name.startswith("votes_")} == {
        "votes_agreed", *(f"votes_{name}" for name in voters), *(f"votes_of_{k}" for k in range(1, len(voters) + 1))
    }  # fmt: skip


def opinions(**by_name):
    return {name: torch.tensor(values) for name, values in by_name.items()}


class Silent(Voter):
    """Speaks where it is told to."""

    name = "silent"


def test_scores_add_up_by_weight_and_agreement_by_its_own():
    voters = bind("forward", "agreement", agreement_weight=4.0)
    scale = score_factors(voters, {"vectors": 0.5})
    assert total_score(opinions(vectors=[1.0], agreement=[3.0]), scale).item() == 0.5 + 12


def state_of(voters):
    return VotingState(voters[0].task, voters[0].config, make_entities(2, 2), torch.Generator())


def test_who_has_no_opinion_counts_neither_for_nor_against():
    scale = {"a": 1.0, "b": 2.0, "c": 1.0}
    total = total_score(opinions(a=[0.5, 0.5], b=[0.5, NAN], c=[0.5, 0.5]), scale)
    assert total.tolist() == [1.5, 1.5]  # all think the same, and one says nothing
    mixed = total_score(opinions(a=[0.4, 0.4], b=[0.1, NAN], c=[0.8, NAN]), scale)
    torch.testing.assert_close(mixed, 2.5 * torch.tensor([(0.4 + 0.2 + 0.8) / 4, 0.4]))  # 4 and 1 speak by weight


def test_a_voter_that_says_nothing_anywhere_changes_no_bit_of_the_others():
    pairs, voters = pairs_of_keys(torch.arange(4), (2, 2)), bind("forward")
    scores, state = opinions(vectors=[0.9, 0.1, 0.2, 0.8]), state_of(voters)
    alone = form_opinions(pairs, scores, {}, voters, state, 1)
    with_silent = form_opinions(pairs, scores | opinions(silent=[NAN] * 4), {}, [*voters, Silent()], state, 1)
    assert torch.equal(with_silent.total, alone.total) and torch.equal(with_silent.belief, alone.belief)
    assert find_supporters(pairs, with_silent.scores, [*bind("forward"), Silent()])[:, 1].sum() == 0


def test_favourites_are_named_where_a_voter_prefers_a_pair_and_speaks_for_it():
    pairs, voters = pairs_of_keys(torch.arange(4), (2, 2)), [*bind("forward", "backward", "agreement"), Silent()]
    named = find_supporters(
        pairs,
        opinions(vectors=[3.0, 2.0, 1.0, 0.5], agreement=[0.0, 1.0, 0.0, 0.0], silent=[NAN, NAN, 0.2, NAN]),
        voters,
    )
    # vectors: row bests 0 and 2, column bests 0 and 1; agreement likes pair 1 alone and says nothing where it is 0
    assert named.int().tolist() == [[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0]]


def test_a_belief_without_sinkhorn_is_a_softmax_of_each_row():
    pairs, scores = pairs_of_keys(torch.arange(4), (2, 2)), torch.tensor([0.1, 0.2, 0.3, 0.1])
    config = Config(vote_normaliser="none", sinkhorn_temperature=0.1)
    torch.testing.assert_close(compute_belief(pairs, scores, config).view(2, 2), (scores.view(2, 2) / 0.1).softmax(1))


def test_settling_without_listeners_is_the_normalised_sum():
    pairs, voters = pairs_of_keys(torch.arange(4), (2, 2)), bind("forward", "propagation")
    scores = opinions(vectors=[0.9, 0.1, 0.2, 0.8], propagation=[0.5, 0.4, 0.3, 0.2])
    found, config = form_opinions(pairs, scores, {}, voters, state_of(voters), 3), voters[0].config
    assert isinstance(found, Opinions)
    torch.testing.assert_close(found.belief, compute_belief(pairs, scores["vectors"] + scores["propagation"], config))


@register
class Told(Voter):
    """Proposes and scores what it is told."""

    name = "told"
    proposal, scores = None, None

    def propose(self, state):
        return self.proposal

    def score(self, pairs, state):
        return self.scores(pairs) if callable(self.scores) else self.scores


def council_of(task, *voters, **settings):
    config = Config.preset("best", **SMALL | {"voters": [voter.name for voter in voters]} | settings)
    bound = [PluginVoter(voter.name, lambda voter=voter: voter).bind(task, config) for voter in voters]
    entities = make_entities(task.source.n_entities, task.target.n_entities)
    return Council(task, config, bound, entities, torch.Generator())


def test_somebody_has_to_propose_a_pair(rings):
    voter = Told()
    voter.scores = [1.0]
    with pytest.raises(ConfigError, match="None of the voters told proposes a pair"):
        council_of(rings, voter).judge(torch.zeros(60, 4))


def test_pairs_that_nobody_speaks_about_are_no_candidates(rings):
    voter = Told()
    voter.proposal, voter.scores = [[0, 0], [1, 1], [2, 2]], [0.5, NAN, 0.7]
    council = council_of(rings, voter)
    council.judge(torch.zeros(60, 4))
    assert council.sure_pairs().tolist() == [[0, 0], [2, 2]] and len(council.opinions.pairs) == 2


def test_links_on_which_a_voter_is_silent_do_not_weigh_it(rings):
    sure, shy = Told(), Silent()
    sure.proposal = [[i, j] for i in range(30) for j in (i, (i + 1) % 30)]
    sure.scores = lambda pairs: 0.6 + 0.1 * (pairs.source != pairs.target)  # always wrong
    shy.score = lambda pairs, state: np.where(pairs.source < 10, 0.6 + 0.1 * (pairs.source == pairs.target), NAN)
    council = council_of(rings, sure, shy)
    council.judge(torch.zeros(60, 4))
    links = torch.stack([torch.arange(30), torch.arange(30) + 30], dim=1)
    council.weigh(links, (0.5, 0.5))
    share = (10 + 20 * 10 / 40) / 30  # right on all ten on which it speaks, drawn to the mean by the twenty others
    assert council.weights == {"told": 0.0, "silent": pytest.approx(2 * share / share)}
    assert council._right_and_scored(links, council.opinions.scores["silent"]) == (10, 10)


def test_a_rejected_pair_is_never_a_candidate(rings):
    voter = Told()
    voter.proposal, voter.scores = [[0, 0], [0, 1]], lambda pairs: np.ones(len(pairs))
    council = council_of(rings.replace(rejected=np.array([[0, 0]])), voter)
    council.judge(torch.zeros(60, 4))
    assert council.sure_pairs().tolist() == [[0, 1]]


def test_who_needs_neither_triples_nor_vectors_knows_every_entity():
    assert cover_isolated([Silent()]) and not cover_isolated(bind("forward", "backward", "propagation", "agreement"))


@register
class Unneeded(Voter):
    """A voter of vectors that no graph here came with; it must not be asked for anything."""

    name = "unneeded"
    needs = ("own_vectors",)

    def propose(self, state):
        raise AssertionError("asked to propose")

    def score(self, pairs, state):
        raise AssertionError("asked to score")

    def learn(self, state):
        raise AssertionError("asked to learn")


def test_a_voter_without_inputs_is_not_asked_and_has_no_opinion(rings):
    voters = ("forward", "backward", "propagation", "agreement")
    few = {"max_epochs": 2, "entity_dim": 8, "relation_dim": 4, "precision": "float64"}
    one, other = (
        Trainer(rings, Config.preset("best", **SMALL | few | {"voters": names}), CPU)
        for names in (voters, (*voters, "unneeded"))
    )
    usual, found = one.train(), other.train()
    assert found.opinions.scores["unneeded"].isnan().all()
    assert torch.equal(found.opinions.belief, usual.opinions.belief)


def test_the_belief_and_the_sure_pairs_are_those_of_the_last_opinions(rings):
    trainer = Trainer(rings, Config.preset("best", **SMALL | {"max_epochs": 1}), CPU)
    council = trainer.council
    council.prepare()
    sure = council.sure_pairs()
    assert len(sure) and council.sure_pairs() is sure
    council.opinions = replace(council.opinions, belief=torch.zeros_like(council.opinions.belief))
    assert not len(council.sure_pairs())
