"""Eq. 2-6 against dense attention and plain means."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import torch
import torch.nn.functional as F
from conftest import make_graph

from mixtea.config import Config
from mixtea.encode.encoder import Encoder, attend, concatenate, dropout_mask
from mixtea.encode.structure import build_structure

FIRST = [(0, 0, 1), (0, 0, 1), (1, 1, 2), (0, 1, 2), (3, 0, 3)]  # repeated, self-loop; entity 4 is alone
SECOND = [(0, 0, 1), (1, 2, 0), (2, 1, 1)]
JOINT = FIRST + [(h + 5, r, t + 5) for h, r, t in SECOND]


def graphs():
    return make_graph(FIRST, 5), make_graph(SECOND, 3, prefix="f")


def make_encoder(**settings):
    config = Config(**{"entity_dim": 4, "relation_dim": 3, "precision": "float64"} | settings)
    structure = build_structure(*graphs(), config).to(torch.device("cpu"), getattr(torch, config.precision))
    return Encoder(structure, config, torch.Generator().manual_seed(3)), config


def neighbours(self_connection):
    dense = torch.zeros(8, 8, dtype=torch.bool)
    for h, _, t in JOINT:
        dense[h, t] = dense[t, h] = True
    return dense | torch.eye(8, dtype=torch.bool) if self_connection else dense


def dense_forward(encoder, config):
    hidden, blocks = encoder.entity, []
    for transform, a in zip(encoder.transform, encoder.attention, strict=True):
        hidden = hidden @ transform if transform.dim() == 2 else hidden * transform
        hidden = F.elu(oracle.layer(hidden, a[:, 0], neighbours(config.self_connection), config.attention_activation))
        blocks.append(hidden)
    if config.use_relations:
        blocks += [oracle.relation_mean(JOINT, encoder.relation, 8, end, config.relation_mean) for end in (0, 2)]
    if config.normalize_blocks:
        blocks = [F.normalize(b) for b in blocks]
    return torch.cat([w * b for w, b in zip(encoder.weight.softmax(0), blocks, strict=True)], 1)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"layer_transform": "matrix", "attention_activation": "elu"},
        {"self_connection": True, "relation_mean": "set"},
        {"normalize_blocks": False, "concat_weights": "trained", "n_layers": 3},
        {"use_relations": False, "n_layers": 1},
    ],
)
def test_equals_the_dense_encoder_in_value_and_gradient(settings):
    encoder, config = make_encoder(**settings)
    found, wanted = encoder(), dense_forward(encoder, config)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-12)
    upstream = torch.randn(found.shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    parameters = [p for p in encoder.parameters() if p.requires_grad]
    gradients = [torch.autograd.grad((out * upstream).sum(), parameters) for out in (found, wanted)]
    for fast, dense in zip(*gradients, strict=True):
        torch.testing.assert_close(fast, dense, rtol=1e-9, atol=1e-12)


def test_attention_passes_gradcheck():
    edges = build_structure(*graphs(), Config()).neighbours
    generator = torch.Generator().manual_seed(0)
    hidden, scores = (torch.randn(8, k, generator=generator, dtype=torch.float64).requires_grad_() for k in (3, 2))
    for activation in ("leaky_relu", "elu"):
        assert torch.autograd.gradcheck(lambda h, s, a=activation: attend(h, s, edges, a), (hidden, scores))


def test_an_entity_without_triples_gets_zeros():
    encoder, _ = make_encoder()
    assert encoder().detach()[4].abs().sum() == 0


def test_relations_are_shared_by_name_or_not():
    assert build_structure(*graphs(), Config()).n_relations == 3
    assert build_structure(*graphs(), Config(shared_relations=False)).n_relations == 5


def test_the_reverse_of_the_reverse_edge_is_the_edge():
    edges = build_structure(*graphs(), Config(self_connection=True)).neighbours
    assert torch.equal(edges.row[edges.reverse], edges.column)
    assert torch.equal(edges.reverse[edges.reverse], torch.arange(len(edges.row)))


def test_xavier_initialisation():
    encoder, _ = make_encoder(entity_dim=64, relation_dim=32, precision="float32")
    bound = np.sqrt(6 / (8 + 64))
    assert 0.9 * bound < encoder.entity.abs().max() <= bound
    assert torch.equal(encoder.transform[0], torch.ones(64))


def test_dropout_drops_its_share_and_follows_the_seed():
    shape = torch.Size([301, 303])
    masks = [dropout_mask(shape, 0.2, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)]
    assert abs((~masks[0]).double().mean().item() - 0.2) < 0.01
    assert torch.equal(masks[0], masks[1]) and not torch.equal(masks[0], masks[2])


@pytest.mark.parametrize("normalize", [True, False])
def test_concatenation_with_dropout_equals_its_stages(normalize):
    """Eq. 6 by plain operations: drop, normalise, weigh, concatenate."""
    generator = torch.Generator().manual_seed(0)
    blocks = [torch.randn(5, d, generator=generator, dtype=torch.float64).requires_grad_() for d in (3, 4)]
    weights = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    masks = [torch.rand(5, 3, generator=generator) > 0.4, None]
    dropped = [blocks[0] * masks[0] / 0.6, blocks[1]]
    plain = torch.cat([w * (F.normalize(b) if normalize else b) for w, b in zip(weights, dropped, strict=True)], 1)
    fast = concatenate(weights, blocks, masks, dropout=0.4, normalize=normalize)
    torch.testing.assert_close(fast, plain)
    upstream = torch.randn(5, 7, generator=generator, dtype=torch.float64)
    gradients = [torch.autograd.grad((out * upstream).sum(), (weights, *blocks)) for out in (fast, plain)]
    for found, wanted in zip(*gradients, strict=True):
        torch.testing.assert_close(found, wanted)
