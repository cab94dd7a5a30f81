"""Each approximation against the exact path that it stands for."""

from __future__ import annotations

import pytest
import torch
from conftest import SMALL_PAPER

from mixtea import ConfigError, MixTEA
from mixtea.compute import nearest as nearest_module
from mixtea.compute.nearest import approximate, nearest
from mixtea.compute.similarity import unit
from mixtea.config import Config
from mixtea.council.council import Council
from mixtea.training.fuse import bidirectional_votes, fuse
from mixtea.training.pseudo_mapping_loss import cross_entropy, log_partition_by_moments
from mixtea.training.trainer import Trainer
from mixtea.voters.votes import directions

CPU = torch.device("cpu")


def clusters(n, d=32, seed=0):
    """Vectors in groups, as an inverted index expects them."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(60, d, generator=generator)
    groups = torch.randint(0, 60, (n,), generator=generator)
    return unit(centres[groups] + 0.3 * torch.randn(n, d, generator=generator))


def test_moments_are_near_the_exact_normaliser_at_temperature_one():
    generator = torch.Generator().manual_seed(0)
    source, target = (unit(torch.randn(k, 64, generator=generator, dtype=torch.float64) + 0.5) for k in (50, 400))
    exact = (source @ target.T).logsumexp(1)
    torch.testing.assert_close(log_partition_by_moments(source, target), exact, rtol=0, atol=1e-3)


def test_the_loss_by_moments_is_near_the_exact_one_in_value_and_gradient():
    generator = torch.Generator().manual_seed(0)
    source, target = (
        unit(torch.randn(k, 64, generator=generator, dtype=torch.float64)).requires_grad_() for k in (80, 90)
    )
    votes = bidirectional_votes(source, target, 0.5, 0.5)
    losses = [cross_entropy(source, target, votes, normaliser=kind) for kind in ("exact", "moments")]
    torch.testing.assert_close(*losses, rtol=1e-3, atol=0)
    exact, near = (torch.cat(torch.autograd.grad(loss, (source, target))) for loss in losses)
    assert (exact - near).norm() / exact.norm() < 0.02


def test_a_sample_of_rows_is_unbiased(example):
    """The mean over many samples of a third of the rows is near the loss over all rows."""
    whole = Trainer(example, Config(dropout=0.0), CPU)
    part = Trainer(example, Config(dropout=0.0, loss_rows=1 / 3), CPU)
    with torch.no_grad():
        vectors = whole.student()
        part.votes = whole.votes = fuse(whole.council.cast(vectors, 1), whole.council.cast_weights)
        exact = whole.pseudo_loss(vectors).item()
        part.entities = whole.entities
        sampled = torch.tensor([part.pseudo_loss(vectors).item() for _ in range(60)])
    assert abs(sampled.mean().item() / exact - 1) < 0.02
    assert sampled.std() > 0


def test_votes_of_some_rows():
    source, target = torch.eye(4), torch.eye(4)[[1, 0, 3, 2]]
    votes = bidirectional_votes(source, target, 0.5, 0.5)
    rows = torch.tensor([2, 0])
    assert torch.equal(votes.of_rows(rows).to_dense(), votes.to_dense()[rows])


def test_votes_are_kept_between_two_refreshes(rings, monkeypatch):
    count = []
    cast = Council.cast
    monkeypatch.setattr(Council, "cast", lambda self, *about: count.append(1) or cast(self, *about))
    MixTEA(preset="paper", max_epochs=7, votes_every=3, device="cpu").fit(rings)
    assert len(count) == 3


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_approximate_search_finds_nearly_all(kind, monkeypatch):
    monkeypatch.setattr(nearest_module, "MIN_INDEXED_TARGETS", 0)
    source, target = clusters(500, seed=1), clusters(8000, seed=2)
    exact = nearest(source, target, 1, engine="streamed")[1][:, 0]
    found = approximate(source, target, 1, kind)[:, 0]
    assert (found == exact).float().mean() > 0.9
    forward, backward = directions(source, target, search=kind)
    assert (forward.target == exact).float().mean() > 0.9 and len(backward) == 8000
    scores, rows = nearest(source, target, 5, engine=kind)
    assert (scores[:, :-1] >= scores[:, 1:] - 1e-6).all()
    assert all(len(set(r)) == 5 for r in rows.tolist())


def test_a_search_that_comes_back_short_is_completed(monkeypatch):
    monkeypatch.setattr(nearest_module, "MIN_INDEXED_TARGETS", 0)
    source, target = clusters(20, seed=1), clusters(8000, seed=2)
    found = approximate(source, target, 2000, "ivf")
    assert (found >= 0).all() and all(len(set(row)) == 2000 for row in found.tolist())


@pytest.mark.parametrize(
    "settings",
    [{"votes_every": 3}, {"loss_rows": 0.5}, {"normaliser": "moments"}, {"search": "ivf"}, {"search": "hnsw"}],
)
def test_an_approximate_run_says_so_and_stays_near_the_exact_one(example, fitted, settings, monkeypatch):
    monkeypatch.setattr(nearest_module, "MIN_INDEXED_TARGETS", 0)
    aligner = MixTEA(**SMALL_PAPER, **settings).fit(example)
    assert aligner.config.approximations() == settings and fitted.config.approximations() == {}
    assert aligner.score()["hits@1"] == pytest.approx(fitted.score()["hits@1"], abs=0.06)


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ConfigError, match="temperature"):
        Config(normaliser="moments", temperature=0.1)
    with pytest.raises(ConfigError, match="manhattan"):
        Config(search="ivf", metric="manhattan")
