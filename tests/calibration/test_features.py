"""Examples from links: how far candidates are ahead, with a counterpart and with it hidden; and rehearsals."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import SMALL_BEST

from mixtea.calibration.features import (
    MAX_MARGIN_ODDS,
    NO_CANDIDATE_MARGIN,
    CandidateScores,
    holdout_candidates,
    log_sum_of_others,
    pair_features,
)
from mixtea.config import Config
from mixtea.council.holdout import holdout_opinions as rehearse
from mixtea.training.trainer import Trainer


def pairs(rows, shape=(3, 3)):
    source, target, joined = (np.array(column) for column in zip(*rows, strict=True))
    columns = {"structure_score": joined.astype(float), "text_score": np.zeros(len(rows))}
    return CandidateScores(source, target, shape, columns)


def test_the_others_by_hand():
    line, value = np.array([0, 0, 1]), np.log([1.0, 2.0, 5.0])
    found = log_sum_of_others(line, value, 2)
    assert found[:2] == pytest.approx(np.log([2.0, 1.0])) and found[2] < -20


def test_ahead_of_rivals_on_both_sides():
    judged = pairs([(0, 0, 5.0), (0, 1, 3.0), (1, 0, 4.0)])
    assert judged.row_margin == pytest.approx([2.0, -2.0, MAX_MARGIN_ODDS]) and judged.column_margin == pytest.approx(
        [1.0, MAX_MARGIN_ODDS, -1.0]
    )
    assert judged.best.tolist() == [1, 2] and judged.best_by_source[1][2] == NO_CANDIDATE_MARGIN


def test_hidden_targets_leave_the_next_best():
    judged = pairs([(0, 0, 5.0), (0, 1, 3.0), (1, 1, 4.0)])
    target, margin = judged.with_hidden(np.array([[0, 0]])).best_by_source
    assert (
        target.tolist() == [1, 1, -1]
        and margin[0] == pytest.approx(MAX_MARGIN_ODDS - 1.0)
        and margin[2] == NO_CANDIDATE_MARGIN
    )


def test_who_is_well_ahead_on_both_sides():
    judged = pairs([(0, 0, 9.0), (0, 1, 3.0), (1, 1, 4.0), (2, 2, 5.0), (1, 2, 4.0)])
    assert judged.sure_targets().tolist() == [0, -1, -1]


def test_a_rehearsed_source_rivals_with_the_open_ones():
    """Source 0 has the link to target 0; target 1 is open, and source 1 wants it more."""
    openly = pairs([(1, 1, 4.0)])
    found = holdout_candidates(pairs([(0, 0, 2.0), (0, 1, 1.0), (1, 0, 0.0)]), openly, np.array([[0, 0]]))
    assert found.source.tolist() == [0, 0] and found.row_margin == pytest.approx([1.0, -1.0])
    assert found.column_margin == pytest.approx([2.0, -3.0])


def test_features_have_a_row_a_candidate():
    seen = pair_features(
        np.array([6.0, -12.0]), np.array([12.0, 0.0]), np.array([100.0, 2.0]), np.zeros(2), ([0, 1], [3, 4])
    )
    assert seen.shape == (2, 8) and seen[0, :5].tolist() == [1.0, 1.0, 2.0, 1.0, 3.0]


def test_links_are_rehearsed_by_those_who_do_not_know_them(rings):
    """Every training link is judged once, none is known to its council, and exchanged test links change nothing."""
    trainer = Trainer(rings, Config.preset("best", **SMALL_BEST), torch.device("cpu"))
    trained = trainer.train()
    found = trained.holdout
    assert found is not None and set(found.scores) == {
        "agreement",
        "attributes",
        "descriptions",
        "domain_range",
        "names",
        "propagation",
    }
    held = np.isin(found.source, rings.train[:, 0]) | np.isin(found.target, rings.train[:, 1])
    assert held.all() and set(rings.train[:, 0]) <= set(found.source)
    assert len(np.unique(np.stack([found.source, found.target]), axis=1).T) == len(found.source)
    assert np.isfinite(found.scores["propagation"]).any()


def test_nobody_rehearses_without_links_or_untrained_voters(rings):
    trainer = Trainer(rings, Config.preset("paper", max_epochs=1, device="cpu"), torch.device("cpu"))
    assert rehearse(trainer.council) is None
