"""Large graphs on a CPU are propagated lightly, which is said; what a user has chosen stays."""

from __future__ import annotations

import pytest
import torch
from conftest import SMALL_BEST

from mixtea import Config, train
from mixtea.callbacks import History
from mixtea.config import FIELDS, PROPAGATION_SIZES, STRUCTURE_VOTERS
from mixtea.council import adapt as module
from mixtea.council.adapt import lighten
from mixtea.evaluation.estimate import estimate

CPU = torch.device("cpu")
BEST = Config.preset("best")


@pytest.fixture
def large(rings, monkeypatch):
    """The rings, as if they were large."""
    monkeypatch.setattr(module, "MIN_LARGE", 30)
    return rings


def test_sizes_are_halved_and_fewer_rows_are_learned_from(large):
    found = lighten(large, BEST, "cpu")
    assert {name: found.pop(name) for name in PROPAGATION_SIZES} == {
        name: FIELDS[name].default // 2 for name in PROPAGATION_SIZES
    }
    assert found == {"loss_rows": BEST.loss_rows / 4}


def test_not_on_a_gpu_nor_without_propagation_nor_where_a_size_was_chosen(large):
    assert lighten(large, BEST, "cuda") == {}
    assert lighten(large, BEST.replace(voters=("forward", "backward", "agreement")), "cpu") == {}
    for name in PROPAGATION_SIZES:
        assert lighten(large, BEST.replace(**{name: FIELDS[name].default - 1}), "cpu") == {}


def test_not_where_one_side_is_small(large, monkeypatch):
    monkeypatch.setattr(module, "MIN_LARGE", 31)
    assert lighten(large, BEST, "cpu") == {}


def test_smaller_sizes_are_an_approximation_where_somebody_propagates(large):
    light = BEST.replace(**lighten(large, BEST, "cpu"))
    assert {name: light.approximations()[name] for name in PROPAGATION_SIZES} == {
        name: getattr(light, name) for name in PROPAGATION_SIZES
    }
    assert BEST.approximations() == {} and BEST.replace(propagation_label_dim=4096).approximations() == {}
    assert PROPAGATION_SIZES[0] not in light.replace(voters=("forward", "backward", "agreement")).approximations()


def test_the_estimate_is_that_of_the_lighter_training(large, monkeypatch):
    light = estimate(large, BEST, CPU, 1e9)
    monkeypatch.setattr(module, "MIN_LARGE", 1000)
    full = estimate(large, BEST, CPU, 1e9)
    assert light.mib < full.mib and light.seconds_beside < full.seconds_beside


def test_a_training_uses_them_and_says_so(large, tmp_path):
    history = History()
    settings = {name: value for name, value in SMALL_BEST.items() if name not in PROPAGATION_SIZES}
    settings |= {"voters": STRUCTURE_VOTERS, "max_epochs": 0}
    aligner = train(large, tmp_path / "run", callbacks=history, **settings)
    assert all(getattr(aligner.config_, name) == FIELDS[name].default // 2 for name in PROPAGATION_SIZES)
    assert any(line.startswith("approximate:") and PROPAGATION_SIZES[0] in line for line in history.notices)
