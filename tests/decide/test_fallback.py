"""Where every source is to be mapped: what those get whose targets went to others."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import torch
from conftest import SMALL_BEST
from safetensors.numpy import load_file

from mixtea import MixTEA
from mixtea.config import Config
from mixtea.council import council
from mixtea.decide import decoders as left_over
from mixtea.decide import predict
from mixtea.decide.answers import FallbackTargets, Ranked
from mixtea.decide.choose import Choice
from mixtea.decide.decoders import fallback_targets
from mixtea.runs.answers import check_answers, mapping_arrays
from mixtea.runs.reader import StoredRun

MADE = ("mapped", "mapped anyway")
LINE = torch.tensor([[1.0, 0.0], [1.0, 0.1], [1.0, 0.4], [0.0, 1.0]])


def test_the_nearest_pairs_come_first():
    found = fallback_targets((LINE, LINE[[2, 1, 0]]), np.arange(4), np.arange(3), set(), Config())
    assert found.tolist() == [2, 1, 0, -1]  # three equal pairs; nothing is left for the last
    found = fallback_targets((LINE, LINE), np.array([0, 1]), np.array([2, 3]), set(), Config())
    assert found.tolist() == [3, 2]  # 1 is nearer to 2 than 0 is


def test_rejected_pairs_are_never_given():
    found = fallback_targets((LINE, LINE), np.array([0, 1]), np.array([0, 1]), {(0, 0), (1, 1)}, Config())
    assert found.tolist() == [1, 0]
    assert fallback_targets((LINE, LINE), np.array([0]), np.array([0]), {(0, 0)}, Config()).tolist() == [-1]


@pytest.mark.parametrize(("wide", "rounds"), [(1, 3), (1, 100), (16, 0)])
def test_all_are_served_where_all_want_the_same(monkeypatch, wide, rounds):
    monkeypatch.setattr(left_over, "NEAREST_PER_ROUND", wide)
    monkeypatch.setattr(left_over, "MAX_ROUNDS", rounds)
    same = torch.ones(20, 3)
    found = fallback_targets((same, torch.rand(30, 3)), np.arange(20), np.arange(5, 30), {(0, 5)}, Config())
    assert len({*found.tolist()}) == 20 and found.min() >= 5 and found[0] != 5


def test_nobody_or_nothing_is_left():
    none = np.empty(0, dtype=np.int64)
    assert len(fallback_targets((LINE, LINE), none, np.arange(4), set(), Config())) == 0
    assert fallback_targets((LINE, LINE), np.arange(2), none, set(), Config()).tolist() == [-1, -1]


def test_what_was_first_is_the_runner_up():
    target, zero = np.array([[0, 1], [2, 3], [4, 5]]), np.full((3, 2), 0.5)
    no = np.zeros((3, 2), dtype=bool)
    found = Ranked(target, zero, zero, ~no[..., None], ~no, no, np.array([[0.9, 0.1]] * 3), np.ones(3))
    new = FallbackTargets(np.array([-1, 7, 4]), np.array([0.9, 0.01, 0.02])).put_first(found)
    assert new.target.tolist() == [[0, 1], [7, 2], [4, 5]]
    assert new.likelihood.tolist() == [[0.9, 0.1], [0.01, 0.9], [0.02, 0.1]]
    assert new.supporters[:, 0, 0].tolist() == [True, False, False] and new.supporters[:, 1].all()


def few_candidates(task):
    """An aligner whose voters look at two targets of each source, so that some lose both."""
    with patch.object(council, "CANDIDATES_KEPT", 0):
        return MixTEA(**SMALL_BEST, voters=("forward", "backward"), vote_candidates=2).fit(task)


def test_every_source_is_mapped_as_far_as_targets_go_round(rings, monkeypatch):
    aligner = few_candidates(rings)
    every = aligner.map(every=True).to_frame()
    monkeypatch.setattr(predict, "fallback_targets", lambda vectors, sources, *_: np.full(len(sources), -1))
    aligner._answers = None
    decided = aligner.map(every=True).to_frame()
    n_open = len(every)
    assert n_open == rings.source.n_entities - len(rings.train) - len(rings.valid)
    assert every["decision"].isin(MADE).all() and every["target"].is_unique
    assert every["decision"].eq("mapped anyway").equals(every["probability"] < 0.5)
    given = rings.target.ids[np.concatenate([rings.train, rings.valid])[:, 1]]
    assert not every["target"].isin(given).any() and every["probability"].between(0, 1).all()
    kept = decided["decision"].isin(MADE)
    columns = ["source", "target", "probability", "runner_up", "voters", "evidence"]
    assert every.loc[kept, columns].equals(decided.loc[kept, columns])
    left = every[~kept]
    assert len(left) and (left["voters"] == "").all() and (left["evidence"] == "").all()
    assert left["probability"].median() < every.loc[kept, "probability"].median()
    assert (left["runner_up"] != left["target"]).all()


def test_fewer_targets_than_sources(rings):
    """Sources that nobody has a target for stay without."""
    gone = rings.test[: len(rings.test) // 2, 1]
    kept = np.setdiff1d(np.arange(rings.target.n_entities), gone)
    triples = rings.target.triples
    alone = replace(rings.target, triples=triples[np.isin(triples[:, [0, 2]], kept).all(axis=1)])
    aligner = few_candidates(rings.replace(target=alone))
    frame = aligner.map(every=True).to_frame()
    given = np.concatenate([rings.train, rings.valid])[:, 1]
    n_targets = len(np.setdiff1d(np.flatnonzero(~alone.isolated()), given))
    assert frame["target"].notna().sum() == min(len(frame), n_targets) < len(frame)
    assert frame["target"].dropna().is_unique and frame["decision"].isin(MADE).equals(frame["target"].notna())


def test_it_is_stored_and_runs_without_it_are_read(rings, tmp_path, mixtea):
    aligner = few_candidates(rings)
    aligner.save(tmp_path / "run")
    stored = StoredRun(tmp_path / "run")
    for how in ({}, {"every": True}, {"best_f1": True}, {"precision": 0.9}):
        assert stored.answers_.mapping(Choice(**how)).frame.equals(aligner.map(**how).frame)
    code, _, err = mixtea("export", tmp_path / "run", "--out", tmp_path / "m.tsv", "--every")
    n = len(aligner.map(every=True))
    assert code == 0 and "computed anew" not in err and f"{n} mappings\nmapped {n} of {n};" in err
    candidates = load_file(tmp_path / "run" / "candidates.safetensors")
    arrays = mapping_arrays(stored.answers_)
    older = {name: array for name, array in arrays.items() if name not in ("left", "likelihood_of_left")}
    before = check_answers(candidates, older, rings, stored.config)
    assert before.fallback is None and before.mapping().frame.equals(stored.answers_.mapping().frame)
    assert before.mapping(Choice(every=True)).pairs().shape[0] < n
    for wrong in (
        {"left": arrays["left"] - 2},
        {"left": arrays["left"] + 99},
        {"likelihood_of_left": arrays["belief"][:, 0] + 2},
    ):
        with pytest.raises(ValueError):
            check_answers(candidates, arrays | wrong, rings, stored.config)
