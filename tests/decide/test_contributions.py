"""What each opinion adds to the score of a mapping."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mixtea import MixTEA
from mixtea.council.opinions import score_parts, total_score

NAN = float("nan")


@pytest.fixture
def best(fitted_best):
    return fitted_best


def test_parts_add_up_to_the_total_whoever_is_silent():
    scores = {
        "a": torch.tensor([1.0, NAN, 0.5, NAN]), "b": torch.tensor([2.0, 0.5, NAN, NAN]),
        "c": torch.tensor([0.3, NAN, -0.2, 0.1]), "never": torch.full((4,), NAN),
    }  # fmt: skip
    scale, own = {"a": 1.0, "b": 2.0}, frozenset({"c", "never"})
    parts = score_parts(scores, scale, own)
    assert set(parts) == {"a", "b", "c"}
    added = torch.stack([part.nan_to_num(0.0) for part in parts.values()]).sum(0)
    assert torch.allclose(added, total_score(scores, scale, own))
    assert torch.equal(parts["c"].nan_to_num(9.0), scores["c"].nan_to_num(9.0))
    full = {name: values.nan_to_num(1.0) for name, values in scores.items()}
    assert torch.equal(score_parts(full, scale, own)["b"], 2 * full["b"])


def test_a_mapping_says_what_each_opinion_added(best):
    decoded = best._predictor(best.config).decoded
    added = sum(part.nan_to_num(0.0) for part in decoded.parts.values())
    assert torch.allclose(added, decoded.opinions.total / best.config.sinkhorn_temperature, atol=1e-4)
    frame = best.map(with_given=True).to_frame()
    plain = frame["given"] | frame["target"].isna()
    assert (frame.loc[plain, "evidence"] == "").all() and (frame.loc[~plain, "evidence"] != "").all()
    for text in frame.loc[~plain, "evidence"].head(50):
        parts = [part.split("=") for part in text.split()]
        values = [float(value) for _, value in parts]
        assert {name for name, _ in parts} <= {"vectors", "propagation", "agreement", "names"}
        assert values == sorted(values, reverse=True) and all(value[0] in "+-" for _, value in parts)


def test_another_decoder_says_so_too_and_a_loaded_run_says_the_same(best, tmp_path):
    assert best.map(shared_targets=True).pairs()["evidence"].str.contains("vectors=").all()
    alone = best.map(voters="forward,backward").pairs()["evidence"]
    assert alone.str.fullmatch(r"vectors=\+\d+\.\d").all()
    best.save(tmp_path / "run")
    loaded = MixTEA.load(tmp_path / "run")
    assert loaded.map().to_frame()["evidence"].tolist() == best.map().to_frame()["evidence"].tolist()
    assert loaded.answers_.evidence().tolist() == best.answers_.evidence().tolist()


def test_without_candidates_nothing_is_said(tiny):
    answers = MixTEA(preset="paper", max_epochs=2, device="cpu").fit(tiny).answers_
    assert len(answers.evidence()) == 3 and set(answers.parts) == {"vectors"}
    assert np.isfinite(answers.parts["vectors"]).all()
