"""When the negatives of the supervised loss are drawn anew."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from mixtea import Config
from mixtea.encode.structure import build_structure
from mixtea.training.negatives import Negatives


@pytest.mark.parametrize("every", [1, 2, 3])
def test_they_are_new_in_the_first_epoch_of_each_period(rings, every):
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
