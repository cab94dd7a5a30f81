"""Voters beside the teacher: label propagation and neighbour agreement equal their dense twins."""

from __future__ import annotations

import math

import oracle
import pytest
import torch

import mixtea.vote.agreement as agreement_module
from mixtea.compute.pairs import pairs_of_keys
from mixtea.compute.similarity import unit
from mixtea.vote.agreement import AgreementVoter, Belief
from mixtea.vote.propagation import Propagation, PropagationVoter

# Two graphs of five entities: 0-4 and 5-9 in joint numbers. Relations 0 and 1 in the first, 1 and 2 in the second.
SOURCE = [(0, 0, 1), (1, 0, 2), (2, 1, 3), (0, 1, 3), (3, 0, 4), (0, 0, 2)]
TARGET = [(5, 1, 6), (6, 1, 7), (7, 2, 8), (5, 2, 8), (8, 1, 9)]
LINKS = torch.tensor([[0, 5], [3, 8]])
ROWS = (torch.tensor([4, 1, 2]), torch.tensor([7, 6, 9]))


def columns(triples):
    return torch.tensor(triples).T.contiguous()


def test_two_hops_of_labels_equal_the_dense_twin():
    graph = Propagation(*columns(SOURCE + TARGET), n=10, n_relations=3, dtype=torch.float64)
    label = unit(torch.randn(2, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    entities, kinds = graph.hops(LINKS, label)
    wanted = oracle.propagated(SOURCE + TARGET, LINKS, label, 10, 3)
    torch.testing.assert_close(torch.stack(entities), wanted[0])
    torch.testing.assert_close(torch.stack(kinds), wanted[1])


def test_the_weighted_hop_sums_neighbours_by_their_relations_weights(monkeypatch):
    import mixtea.vote.propagation as module

    monkeypatch.setattr(module, "RELATION_DIM", 2)
    monkeypatch.setattr(module, "PART_DIM", 3)
    graph = Propagation(*columns(SOURCE), n=5, n_relations=2, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(graph.edges.shape[1], 2, generator=generator, dtype=torch.float64)
    seen = torch.randn(5, 6, generator=generator, dtype=torch.float64)
    wanted = torch.zeros(5, 6, dtype=torch.float64)
    for edge, (to, at) in enumerate(graph.edges.T.tolist()):
        wanted[to, :3] += weight[edge, 0] * seen[at, :3]
        wanted[to, 3:] += weight[edge, 1] * seen[at, 3:]
    torch.testing.assert_close(graph._weighted_hop(weight, seen), wanted)


def test_propagation_finds_the_twin_of_each_entity():
    mirrored = [(h + 5, r, t + 5) for h, r, t in SOURCE]
    graph = Propagation(*columns(SOURCE + mirrored), n=10, n_relations=2, dtype=torch.float32)
    rows = (torch.tensor([1, 2, 3, 4]), torch.tensor([6, 7, 8, 9]))
    voter = PropagationVoter(graph, torch.tensor([[0, 5]]), rows, k=4, folds=2)
    voter.refresh(torch.empty(0, 2, dtype=torch.int64), torch.Generator().manual_seed(0))
    scores = voter.scores(voter.pairs()).view(4, 4)
    assert scores.argmax(1).tolist() == [0, 1, 2, 3]
    torch.testing.assert_close(scores.diagonal(), torch.ones(4))


def test_a_sure_pair_is_judged_by_the_propagation_that_does_not_know_it():
    graph = Propagation(*columns(SOURCE + TARGET), n=10, n_relations=3, dtype=torch.float64)
    rows = (torch.tensor([1, 2, 4]), torch.tensor([6, 7, 9]))
    voter = PropagationVoter(graph, LINKS, rows, k=3, folds=2)
    sure = torch.tensor([[1, 9], [4, 6]])
    voter.refresh(sure, torch.Generator().manual_seed(5))
    assert voter.hand[sure[:, 0]].tolist() == voter.hand[sure[:, 1]].tolist() == [1, 0]  # the seed deals one to each
    seen = [source @ target.T for source, target in voter.views]
    scores = voter.scores(pairs_of_keys(torch.arange(9), (3, 3))).view(3, 3)
    torch.testing.assert_close(scores[0, 2], seen[1][0, 2])  # the pair (1, 9) is in hand 1, left out of view 1
    torch.testing.assert_close(scores[2, 0], seen[0][2, 0])
    torch.testing.assert_close(scores[0, 0], (seen[0][0, 0] + seen[1][0, 0]) / 2)  # known in one view each
    torch.testing.assert_close(scores[0, 1], seen[1][0, 1])  # 7 is in no sure pair: the view without 1's decides
    torch.testing.assert_close(scores[1, 1], (seen[0][1, 1] + seen[1][1, 1]) / 2)  # nor is 2: both views


BELIEF = {(1, 6): 0.9, (1, 7): 0.2, (2, 7): 0.6, (4, 9): 0.3, (0, 5): 1.0, (3, 8): 1.0}


def agreement_voter():
    voter = AgreementVoter(*columns(SOURCE + TARGET), n_relations=3, links=LINKS, rows=ROWS, n_source=5, n=10)
    pairs = pairs_of_keys(torch.arange(9), (3, 3))
    p = [BELIEF.get((s, t), 0.0) for s in ROWS[0].tolist() for t in ROWS[1].tolist()]
    voter.belief = Belief(pairs, torch.tensor(p, dtype=torch.float64))
    return voter, pairs


@pytest.mark.parametrize("at_once", [1, 7, 4_000_000])
def test_agreement_equals_the_dense_twin_however_many_triples_are_held(at_once, monkeypatch):
    monkeypatch.setattr(agreement_module, "STEPS_AT_ONCE", at_once)
    monkeypatch.setattr(agreement_module, "ALIKE", 0.0)
    voter, pairs = agreement_voter()
    wanted = oracle.agreement(SOURCE, TARGET, BELIEF)
    dense = [wanted.get((s, t), 0.0) for s in ROWS[0].tolist() for t in ROWS[1].tolist()]
    torch.testing.assert_close(voter.scores(pairs), torch.tensor(dense, dtype=torch.float64))
    assert max(dense) > 0.3


def test_agreement_is_silent_about_relations_with_too_many_neighbours(monkeypatch):
    monkeypatch.setattr(agreement_module, "MANY", 0)
    voter, pairs = agreement_voter()
    assert voter.scores(pairs).tolist() == [0.0] * 9


def test_agreement_needs_a_belief_to_judge_by():
    voter, pairs = agreement_voter()
    voter.belief = None
    with pytest.raises(ValueError, match="belief"):
        voter.scores(pairs)


def test_agreement_by_hand():
    """(0, r, 1) and (2, q, 3), with 0 and 2 linked: r and q have nothing else to be compared by."""
    voter = AgreementVoter(
        *columns([(0, 0, 1), (2, 1, 3)]), n_relations=2, links=torch.tensor([[0, 2]]),
        rows=(torch.tensor([1]), torch.tensor([3])), n_source=2, n=4,
    )  # fmt: skip
    pairs = pairs_of_keys(torch.tensor([0]), (1, 1))
    voter.belief = Belief(pairs, torch.tensor([0.5], dtype=torch.float64))
    alike = 0.5 / 1.5  # belief in the one meeting, over (0.5 + 1) on either side
    assert voter.scores(pairs).item() == pytest.approx(math.log1p(alike))
