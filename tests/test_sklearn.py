"""The estimator in scikit-learn's hands: clones, grids, parameters."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from mixtea import ConfigError, MixTEA
from mixtea.config import PRESETS, Config
from mixtea.errors import NotFittedError

SHORT = dict(preset="paper", max_epochs=2, entity_dim=16, relation_dim=8, device="cpu")


@pytest.mark.parametrize("preset", PRESETS)
def test_a_clone_is_equal_and_has_learned_nothing(tiny, preset):
    aligner = MixTEA(preset=preset, entity_dim=32, margin=1, max_epochs=2, device="cpu").fit(tiny)
    twin = clone(aligner)
    assert type(twin) is MixTEA and twin is not aligner
    assert twin.get_params() == aligner.get_params() and twin.config == aligner.config
    with pytest.raises(NotFittedError):
        twin.predict()
    assert aligner.n_epochs_ == 2  # the first one has kept what it learned


def test_a_clone_is_shown_as_shortly_as_the_first():
    aligner = MixTEA(preset="paper", entity_dim=32)
    assert (
        repr(aligner) == repr(clone(aligner)) == repr(clone(clone(aligner))) == "MixTEA(preset='paper', entity_dim=32)"
    )
    assert repr(clone(MixTEA())) == "MixTEA(preset='best')"
    assert repr(MixTEA(preset="paper", entity_dim=256, margin=1)) == "MixTEA(preset='paper', margin=1.0)"


def test_a_clone_learns_the_same(tiny):
    aligner = MixTEA(**SHORT)
    first, second = aligner.fit(tiny), clone(aligner).fit(tiny)
    assert first.score() == second.score() and (first.vectors_ == second.vectors_).all()


def test_parameters_go_round():
    aligner = MixTEA(preset="text", n_layers=3, margin=1.5)
    params = aligner.get_params()
    assert params["preset"] == "text" and params.keys() - {"preset"} == Config().to_dict().keys()
    assert MixTEA(**params).get_params() == params == MixTEA().set_params(**params).get_params()
    assert aligner.set_params(n_layers=1) is aligner
    assert aligner.get_params() == params | {"n_layers": 1}


def test_a_grid_can_be_walked(tiny):
    grid = ParameterGrid({"n_layers": [1, 2], "margin": [1.0, 3.0]})
    base, scores = MixTEA(**SHORT), {}
    for params in grid:
        aligner = clone(base).set_params(**params).fit(tiny)
        assert params.items() <= aligner.get_params().items()
        scores[tuple(params.items())] = aligner.history_["valid_hits@1"].max()
    assert len(scores) == 4 and all(0 <= score <= 1 for score in scores.values())
    assert base.get_params()["n_layers"] == 2


@pytest.mark.parametrize("params", [{"layers": 2}, {"n_layers": 99}, {"preset": "none"}])
def test_wrong_parameters_change_nothing(params):
    aligner = MixTEA(**SHORT)
    before = aligner.get_params()
    with pytest.raises(ConfigError):
        aligner.set_params(**params)
    assert aligner.get_params() == before
