"""Eq. 8 and its negatives."""

from __future__ import annotations

from itertools import pairwise

import oracle
import pytest
import torch

from mixtea import Config
from mixtea.encode.structure import build_structure
from mixtea.training import alignment_loss as module
from mixtea.training.alignment_loss import Negatives, alignment_loss, hard_negatives, random_negatives


@pytest.mark.parametrize("margin", [0.5, 2.0])
@pytest.mark.parametrize("chunk", [1, module.DISTANCES_BYTES])
def test_equals_the_dense_formula(margin, chunk, monkeypatch):
    monkeypatch.setattr(module, "DISTANCES_BYTES", chunk)
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(9, 4, generator=generator, dtype=torch.float64).requires_grad_()
    links = torch.tensor([[0, 5], [1, 6], [2, 7]])
    negatives = random_negatives(links, 5, 4, 3, generator)
    dense = oracle.alignment_loss(vectors, links, negatives, margin)
    fast = alignment_loss(vectors, links, negatives, margin)
    torch.testing.assert_close(fast, dense, rtol=1e-9, atol=0)
    wanted, found = (torch.autograd.grad(loss, vectors)[0] for loss in (dense, fast))
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-12)


def test_distance_zero_has_gradient_zero():
    vectors = torch.ones(3, 2, requires_grad=True)
    alignment_loss(vectors, torch.tensor([[0, 1]]), torch.tensor([[[0, 2]]]), 1.0).backward()
    assert vectors.grad.tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("replace, k", [("source", 4), ("both", 8)])
def test_random_negatives_replace_an_end_by_its_own_graph(replace, k):
    links = torch.tensor([[0, 3], [2, 4]])
    drawn = random_negatives(links, 3, 2, 4, torch.Generator().manual_seed(0), replace)
    assert drawn.shape == (2, k, 2)
    assert (drawn[..., 0] < 3).all() and (drawn[..., 1] >= 3).all() and (drawn[..., 1] < 5).all()
    for link, pairs in zip(links.tolist(), drawn.tolist(), strict=True):
        assert link not in pairs
        assert all(pair[1] == link[1] for pair in pairs[:4])
        assert all(pair[0] == link[0] for pair in pairs[4:])


def test_hard_negatives_are_the_nearest_others():
    vectors = torch.tensor([[1.0, 0], [0.9, 0.1], [0, 1], [1, 0.01], [0.1, 0.9], [0.8, 0.3]])
    links = torch.tensor([[0, 3], [2, 4]])
    drawn = hard_negatives(links, vectors, 3, 1, torch.Generator().manual_seed(0), "both")
    assert drawn.tolist() == [[[1, 3], [0, 5]], [[1, 4], [2, 5]]]


def test_hard_negatives_fill_up_in_a_graph_that_is_too_small():
    drawn = hard_negatives(torch.tensor([[0, 2]]), torch.eye(4), 2, 5, torch.Generator().manual_seed(0), "both")
    assert drawn.shape == (1, 10, 2)
    assert (drawn[0, :5, 0] == 1).all() and (drawn[0, 5:, 1] == 3).all()


@pytest.mark.parametrize("replace", ["source", "both"])
def test_a_link_is_never_a_negative_of_another_link(replace):
    """Where an entity has several links, the other ones are no negatives."""
    links = torch.tensor([[0, 3], [1, 3], [0, 4], [2, 5]])
    known = set(map(tuple, links.tolist()))
    vectors = torch.eye(6)
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        for drawn in (
            random_negatives(links, 3, 3, 4, generator, replace),
            hard_negatives(links, vectors, 3, 2, generator, replace),
        ):
            assert known.isdisjoint(map(tuple, drawn.reshape(-1, 2).tolist()))


@pytest.mark.parametrize("every", [1, 2, 3])
def test_negatives_are_new_in_the_first_epoch_of_each_period(rings, every):
    config = Config(negatives_every=every, n_negatives=3)
    structure = build_structure(rings.source, rings.target, config)
    negatives = Negatives(rings, config, structure, torch.Generator().manual_seed(1))
    links = torch.as_tensor(rings.joint_index.of_pairs(rings.train))
    vectors = torch.eye(structure.n_entities)
    drawn = [negatives.draw(epoch, links, vectors).clone() for epoch in range(1, 8)]
    changed = [not torch.equal(before, now) for before, now in pairwise(drawn)]
    assert changed == [(epoch - 1) % every == 0 for epoch in range(2, 8)]


def test_other_links_have_other_negatives(rings):
    config = Config(negatives_every=100)
    structure = build_structure(rings.source, rings.target, config)
    negatives = Negatives(rings, config, structure, torch.Generator().manual_seed(1))
    links = torch.as_tensor(rings.joint_index.of_pairs(rings.train))
    vectors = torch.eye(structure.n_entities)
    assert len(negatives.draw(1, links, vectors)) == len(links)
    assert len(negatives.draw(2, links[:5], vectors)) == 5
