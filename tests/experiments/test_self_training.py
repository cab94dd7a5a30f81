"""Teaching strategies, on vectors written out and in a training."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mixtea import Config, ConfigError, MixTEA
from mixtea.compute.scored_pairs import pairs_of_keys
from mixtea.training.trainer import Trainer, other_teaching

ROWS = (torch.tensor([0, 1, 2]), torch.tensor([3, 4, 5]))
HARD = ("threshold", "mutual", "one_to_one")


def at(*degrees):
    """Unit vectors at these angles: sources 0, 1, 2, then targets 3, 4, 5."""
    angle = torch.deg2rad(torch.tensor(degrees, dtype=torch.float64))
    return torch.stack([angle.cos(), angle.sin()], dim=1)


def strategy(teaching, **settings):
    return other_teaching(Config(teaching=teaching, **settings), ROWS, None)


def pairs(votes):
    return set(zip(votes.source.tolist(), votes.target.tolist(), strict=True))


def test_threshold_takes_the_nearest_above_it_even_twice():
    taught = strategy("threshold", teaching_threshold=0.9)
    votes = taught.propose_anew(at(0, 10, 80, 5, 150, 160))
    assert pairs(votes) == {(0, 0), (1, 0)}  # 2 has no target within 25 degrees
    assert votes.shape == (3, 3) and votes.confidence.tolist() == [1, 1]


def test_mutual_neighbours_must_be_each_others_nearest():
    taught = strategy("mutual")
    assert pairs(taught.propose_anew(at(0, 10, 80, 9, 100, 200))) == {(1, 0), (2, 1)}


@pytest.mark.parametrize("teaching", ["threshold", "mutual"])
def test_pairs_stay_and_their_entities_are_not_proposed_again(teaching):
    taught = strategy(teaching, teaching_threshold=0.99)
    assert pairs(taught.propose_anew(at(0, 90, 180, 1, 45, 225))) >= {(0, 0)}
    votes = taught.propose_anew(at(0, 90, 180, 170, 90, 181))  # 0's old partner has moved away
    assert pairs(votes) >= {(0, 0), (1, 1)}
    assert votes.source.unique().numel() == len(votes) and votes.target.unique().numel() == len(votes)


def test_editing_is_one_to_one_and_takes_pairs_back():
    taught = strategy("one_to_one", teaching_threshold=0.9)
    first = taught.propose_anew(at(0, 10, 80, 2, 150, 160))
    assert pairs(first) == {(0, 0)}  # the best assignment has one of the two rivals
    second = taught.propose_anew(at(20, 0, 80, 2, 85, 160))
    assert pairs(second) == {(1, 0), (2, 1)}  # 1 has come nearer than 0


def test_editing_prefers_the_best_total():
    """Source 0 is nearest to target 0, but then 1 would go empty-handed."""
    taught = strategy("one_to_one", teaching_threshold=0.9)
    assert pairs(taught.propose_anew(at(0, 20, 180, 5, -18, 90))) == {(0, 1), (1, 0)}


@pytest.mark.parametrize("teaching", HARD)
def test_proposals_come_every_so_many_epochs(teaching):
    taught = strategy(teaching, teaching_every=20)
    assert [epoch for epoch in range(1, 65) if taught.due(epoch)] == [21, 41, 61]


@pytest.mark.parametrize("teaching", HARD)
def test_nothing_is_left_to_propose(teaching):
    taught = strategy(teaching, teaching_threshold=-1.0)
    vectors = at(0, 90, 180, 1, 91, 181)
    for _ in range(2):
        assert pairs(taught.propose_anew(vectors)) == {(0, 0), (1, 1), (2, 2)}


@pytest.mark.parametrize("teaching", HARD)
def test_what_is_proposed_is_learned_like_links(tiny, teaching):
    config = Config(teaching=teaching, teaching_every=2, teaching_threshold=-1.0, max_epochs=4)
    trainer = Trainer(tiny, config, torch.device("cpu"))
    for epoch in (1, 2, 3):
        before = len(trainer.strategy.links)
        record = trainer.step(epoch)
    proposed = trainer.strategy.links
    assert before == 0 < len(proposed) and len(trainer.negatives.held) == 2 + len(proposed)
    assert record["votes"] == len(proposed) and "loss_pseudo" not in record
    assert (proposed[:, 0] < 5).all() and (proposed[:, 1] >= 5).all()
    assert not set(proposed.flatten().tolist()) & set(trainer.links.flatten().tolist())


def test_rejected_pairs_are_never_proposed():
    rejected = pairs_of_keys(torch.tensor([0]), (3, 3))
    taught = other_teaching(Config(teaching="mutual"), ROWS, rejected)
    assert pairs(taught.propose_anew(at(0, 10, 80, 1, 100, 200))) == {(2, 1)}  # not (0, 0), its nearest


@pytest.mark.parametrize("teaching", HARD)
def test_every_strategy_learns_and_leaves_test_links_alone(example, teaching):
    settings = dict(preset="paper", teaching=teaching, teaching_every=5, teaching_threshold=0.8, max_epochs=12)
    settings |= dict(device="cpu", entity_dim=64)
    one = MixTEA(**settings).fit(example)
    other = MixTEA(**settings).fit(example.replace(test=example.test[::-1] * 0))
    assert torch.equal(one.vectors_, other.vectors_)
    assert one.score(example.test)["hits@1"] > 0.2
    assert one.history_["votes"].iloc[-1] > 0 and one.history_["votes"].isna().sum() == 5
    assert set(np.unique(one.trace_["first_epoch"])) <= {6, 11}


def test_a_council_needs_mixture_teaching():
    with pytest.raises(ConfigError, match="teaching=mixture"):
        Config.preset("best", teaching="mutual")


def test_negatives_belong_to_the_links_of_their_epoch(tiny):
    """One-to-one editing can exchange pairs and keep their number: negatives are drawn anew all the same."""
    config = Config(teaching="one_to_one", teaching_every=2, teaching_threshold=-1.0, negatives_every=100)
    trainer = Trainer(tiny, config, torch.device("cpu"))
    for epoch in range(1, 8):
        trainer.step(epoch)
        links = torch.cat([trainer.links, trainer.strategy.links])
        kept = trainer.negatives.held[:, :, 1]  # the source end is replaced, the target end stays
        assert (kept == links[:, 1:]).all()
