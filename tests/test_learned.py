"""What one training has learned beside vectors is applied to another task without fitting."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import SMALL_BEST

from mixtea import ConfigError, MixTEA, RunError, train
from mixtea.calibration import probabilities
from mixtea.callbacks import Callback
from mixtea.runs.checkpoints import Checkpoints, open_checkpoints
from mixtea.runs.validate_text import VERSION, check_learned
from mixtea.voters import similarity


@pytest.fixture(scope="module")
def taught(told):
    return MixTEA(preset="best", seed=1, **SMALL_BEST).fit(told)


def test_it_holds_weights_of_voters_views_and_probabilities(taught):
    learned = taught.learned_
    assert {"names", "attributes"} <= learned.views.keys() and learned.voter_weights
    shapes = {name: part.shape for name, part in learned.probabilities._asdict().items()}
    assert shapes == {"calibration": (8,), "evidence": (6,), "recalibration": (2, 3), "link_share": (2,)}


def test_links_count_alike_for_several_targets_where_no_source_has_several(taught):
    """No link can show that share, and 0 would leave what links have taught out of another task."""
    one, several = taught.learned_.probabilities.link_share
    assert one == several > 0


def test_it_is_the_same_in_a_run_folder(taught, tmp_path):
    taught.save(tmp_path / "run")
    again = MixTEA.load(tmp_path / "run").learned_
    assert again.to_json() == taught.learned_.to_json()


def test_nothing_is_fitted_to_the_links_of_a_task_that_is_told_what_to_think(taught, told, monkeypatch):
    def refuse(*args, **more):
        raise AssertionError("fitted again")

    for module, name in (
        (probabilities, "fit_calibrator"),
        (probabilities, "fit_evidence"),
        (probabilities, "logistic"),
    ):
        monkeypatch.setattr(module, name, refuse)
    monkeypatch.setattr(similarity, "learn_weights", refuse)
    other = MixTEA(preset="best", seed=2, **SMALL_BEST).fit(told, learned=taught.learned_)
    assert other.map().pairs()["probability"].between(0, 1).all()
    for name, view in taught.learned_.views.items():
        assert np.array_equal(other.learned_.views[name].weights, view.weights)
        assert other.learned_.views[name].wrong == view.wrong
    assert dict(other.learned_.voter_weights) == dict(taught.learned_.voter_weights)
    assert other.learned_.probabilities.calibration.tolist() == taught.learned_.probabilities.calibration.tolist()


def test_a_task_without_links_has_the_probabilities_that_links_of_another_have_shown(taught, told):
    none = np.empty((0, 2), dtype=np.int64)
    unlinked = told.replace(train=none, valid=none, links_from="names")
    alone = MixTEA(preset="best", seed=1, **SMALL_BEST).fit(unlinked)
    by_others = MixTEA(preset="best", seed=1, **SMALL_BEST).fit(unlinked, learned=taught)
    assert alone.learned_.probabilities is None and by_others.learned_.probabilities is not None
    p, q = (of.map().to_frame()["probability"].to_numpy(float) for of in (alone, by_others))
    assert not np.allclose(p, q, equal_nan=True)


@pytest.mark.parametrize("wrong", ["runs/one", {"views": {}}, 3])
def test_anything_else_is_refused(told, wrong):
    with pytest.raises(ConfigError, match="learned is a fitted aligner"):
        MixTEA(preset="best", **SMALL_BEST).fit(told, learned=wrong)


def test_checkpoints_of_a_training_with_it_fit_no_training_without(taught, told, tmp_path):
    settings = SMALL_BEST | {"max_epochs": 2}
    state = Checkpoints(tmp_path / "state", every=0)
    with open_checkpoints(state, told, taught.config_, None, taught.learned_):
        key = state.key
    with open_checkpoints(state, told, taught.config_, None):
        assert state.key != key
    with_it = MixTEA(preset="best", seed=3, **settings).fit(told, learned=taught, checkpoints=tmp_path / "kept")
    again = MixTEA(preset="best", seed=3, **settings).fit(told, learned=taught, checkpoints=tmp_path / "kept")
    assert again.vectors_.equal(with_it.vectors_)


def test_a_run_is_trained_with_what_another_run_has_learned(taught, told, tmp_path):
    """As `fit` does with the aligner, and resumed with nothing else."""
    taught.save(tmp_path / "taught")
    settings = SMALL_BEST | {"seed": 2}
    direct = MixTEA(preset="best", **settings).fit(told, learned=taught)
    found = train(told, tmp_path / "run", learned=tmp_path / "taught", callbacks=Callback(), **settings)
    assert found.map().frame.equals(direct.map().frame) and found.learned_.to_json() == direct.learned_.to_json()
    again = train(told, tmp_path / "run", learned=tmp_path / "taught", resume=True, callbacks=Callback(), **settings)
    assert again.map().frame.equals(direct.map().frame)


class StopFirst(Callback):
    def on_epoch(self, record):
        raise KeyboardInterrupt


def test_an_interrupted_training_goes_on_with_the_same_and_with_no_other(taught, told, tmp_path):
    taught.save(tmp_path / "taught")
    settings = SMALL_BEST | {"max_epochs": 2, "seed": 2}
    how = dict(learned=tmp_path / "taught", checkpoint_every=0)
    whole = train(told, tmp_path / "whole", callbacks=Callback(), **how, **settings)
    with pytest.raises(KeyboardInterrupt):
        train(told, tmp_path / "run", callbacks=StopFirst(), **how, **settings)
    with pytest.raises(ConfigError, match="learned, not no run"):
        train(told, tmp_path / "run", resume=True, callbacks=Callback(), **settings)
    with pytest.raises(ConfigError, match="learned: a training goes on"):
        train(None, tmp_path / "run", resume=True, learned=tmp_path / "taught")
    resumed = train(None, tmp_path / "run", resume=True, callbacks=Callback())
    assert resumed.map().frame.equals(whole.map().frame)
    with pytest.raises(KeyboardInterrupt):
        train(told, tmp_path / "other", callbacks=StopFirst(), **how, **settings)
    whole.save(tmp_path / "taught", overwrite=True)
    with pytest.raises(RunError, match="not the run any more"):
        train(None, tmp_path / "other", resume=True, callbacks=Callback())


def test_a_warm_start_that_is_resumed_learns_the_same(taught, told, tmp_path):
    """Its hold-out is that of the earlier training, which the checkpoint holds."""
    settings = SMALL_BEST | {"max_epochs": 2, "seed": 4}
    whole = MixTEA(preset="best", **settings).fit(told, warm_start=taught)
    how = dict(warm_start=taught, checkpoints=Checkpoints(tmp_path, every=0))
    with pytest.raises(KeyboardInterrupt):
        MixTEA(preset="best", **settings).fit(told, **how, callbacks=StopFirst())
    resumed = MixTEA(preset="best", **settings).fit(told, **how)
    assert resumed.learned_.to_json() == whole.learned_.to_json() and resumed.map().frame.equals(whole.map().frame)


def test_a_loaded_run_still_applies_what_another_has_learned(taught, told, tmp_path):
    fewer = told.replace(train=told.train[:4], valid=told.valid[:0])
    found = MixTEA(preset="best", seed=2, **SMALL_BEST).fit(fewer, learned=taught)
    found.save(tmp_path / "run")
    again = MixTEA.load(tmp_path / "run")
    assert found.applies_learned and again.applies_learned and not taught.applies_learned
    for how in ({"shared_targets": True}, {"multiple_targets": True}):
        assert again.map(**how).frame.equals(found.map(**how).frame)


def test_a_run_that_is_not_there_is_named_before_anything_is_read(tmp_path):
    with pytest.raises(RunError, match="no such run folder"):
        train(lambda: pytest.fail("read"), tmp_path / "run", learned=tmp_path / "nowhere")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("part", "wrong"),
    [("voter_weights", {"names": -1.0}), ("voter_weights", {"names": "5"}), ("link_share", [2.0, 0.0])],
)
def test_weights_and_shares_that_cannot_be_are_refused(taught, part, wrong):
    held = taught.learned_.to_json() | {"version": VERSION}
    assert check_learned(held).to_json() == taught.learned_.to_json()
    place = held["probabilities"] if part in held["probabilities"] else held
    place[part] = wrong
    with pytest.raises((TypeError, ValueError)):
        check_learned(held)
