"""When a training ends, and what it answers before its first epoch."""

from __future__ import annotations

import pytest
import torch
from conftest import SMALL_BEST

from mixtea import Config, ConfigError, MixTEA
from mixtea.callbacks import History
from mixtea.config import STRUCTURE_VOTERS
from mixtea.training.early_stopping import EarlyStopping
from mixtea.training.trainer import share_changed

BEST = SMALL_BEST | dict(preset="best", voters=STRUCTURE_VOTERS)


@pytest.mark.parametrize(
    "votes, stands",
    [
        ([(0.10, 0.7), (0.09, 0.7)], True),  # hardly fewer pairs change, and nothing gets better
        ([(0.10, 0.7), (0.05, 0.7)], False),  # half as many: it is still settling
        ([(0.10, 0.7), (0.09, 0.8)], False),  # more validation links are right
        ([(0.10, 0.7), (0.09, 0.705)], True),  # by less than their standard error
        ([(0.30, 0.7), (0.29, 0.7)], False),  # far too many for chance
        ([(0.004, 0.7)], True),  # next to nothing
    ],
)
def test_the_answers_stand_when_what_still_changes_is_chance(votes, stands):
    for wanted in (True, False):
        progress = EarlyStopping(Config.preset("best", stop_when_settled=wanted))
        progress.best_answers = 0.7
        for epoch, (changed, right) in enumerate(votes, 5):
            progress.record_vote(epoch, changed, right, 1000)
        assert progress.ended == (stands and wanted)
        assert progress.why_stopped().startswith("predictions are stable") == progress.ended


def test_changed_pairs_are_those_that_only_one_of_two_votes_has():
    first, second = torch.tensor([[0, 1], [2, 3], [4, 5]]), torch.tensor([[2, 3], [4, 6]])
    assert share_changed(first, second) == 3 / 4
    assert share_changed(first, first) == share_changed(first[:0], first[:0]) == 0


def test_the_history_says_how_much_changed_and_why_it_ended(rings):
    aligner = MixTEA(**BEST | {"max_epochs": 60, "votes_every": 2, "valid_needed": 5}).fit(rings)
    history = aligner.history_
    assert aligner.stopped_because_.startswith("predictions are stable") and aligner.n_epochs_ < 60
    assert set(history["epoch"][history["changed"].notna()]) == set(range(1, aligner.n_epochs_ + 1, 2))
    assert history["valid_answers"].dropna().between(0, 1).all()


def test_voters_that_need_no_training_answer_alone(rings, tmp_path):
    history = History()
    aligner = MixTEA(**BEST | {"max_epochs": 0}).fit(rings, callbacks=history)
    said = history.answers
    assert [*said[0]] == ["sure", "valid_answers", "seconds"] and said[0]["sure"] > 5
    assert aligner.n_epochs_ == 0 and aligner.stopped_because_ == "only voters that need no training were asked"
    assert set(aligner.config.deciding_voters) == {"propagation", "agreement"} and aligner.score()["hits@1"] > 0.3
    aligner.save(tmp_path / "run")
    loaded = MixTEA.load(tmp_path / "run")
    assert loaded.map().to_frame().equals(aligner.map().to_frame()) and loaded.score() == aligner.score()


def test_somebody_must_answer_without_training():
    with pytest.raises(ConfigError, match="needs voters that answer without training"):
        MixTEA(preset="paper", max_epochs=0)
