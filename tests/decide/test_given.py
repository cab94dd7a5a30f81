"""Candidates of the sources that somebody asks about."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import SMALL_BEST

from mixtea import DataError, MixTEA


@pytest.fixture(scope="module", params=["paper", "best"])
def aligner(request, rings):
    extra = {} if request.param == "best" else {"max_epochs": 2, "device": "cpu"}
    return MixTEA(preset=request.param, **{**(SMALL_BEST if request.param == "best" else {}), **extra}).fit(rings)


def test_sources_without_a_link_have_the_candidates_that_they_always_have(aligner):
    everything = aligner.predict(k=4).to_frame()
    asked = list(everything["source"].unique()[[5, 2]])
    some = aligner.predict(k=4, sources=asked).to_frame()
    expected = [everything[everything["source"] == source] for source in asked]
    for place, rows in enumerate(expected):
        assert some[place * 4 : place * 4 + 4].reset_index(drop=True).equals(rows.reset_index(drop=True))


def test_sources_with_a_training_link_have_its_target_first(aligner, rings):
    source, target = rings.train[3]
    free = np.setdiff1d(np.arange(30), rings.train[:, 0])[0]
    found = aligner.predict(k=3, sources=[rings.source.ids[source], rings.source.ids[free]])
    assert found.source_index.tolist() == [source, free] and found.target_index[0, 0] == target
    assert found.probability[0].tolist() == [1, 0, 0] and found.counterpart[0] == 1
    assert found.score[0, 1] >= found.score[0, 2] and len(set(found.target_index[0])) == 3
    assert not found.voters[0].any() and found.to_frame()["voters"].tolist()[:3] == ["", "", ""]


def test_numbers_one_id_and_nobody(aligner, rings):
    assert aligner.predict(k=2, sources=rings.test[:2, 0]).source_index.tolist() == rings.test[:2, 0].tolist()
    assert len(aligner.predict(sources="s3")) == 1 and len(aligner.predict(sources=[])) == 0
    assert aligner.predict(k=50, sources=["s0", "s1"]).target_index.shape == (2, 30)


def test_a_rejected_target_comes_last_and_two_links_share(rings):
    linked = rings.train[0]
    train = np.concatenate([rings.train, [[linked[0], rings.test[0, 1]]]])
    task = rings.replace(train=train)
    first = MixTEA(preset="paper", max_epochs=1, device="cpu").fit(task).predict(k=4, sources=[linked[0]])
    assert set(first.target_index[0, :2]) == {linked[1], rings.test[0, 1]} and (first.probability[0, :2] == 0.5).all()
    rejected = np.array([[linked[0], first.target_index[0, 2]]])
    again = MixTEA(preset="paper", max_epochs=1, device="cpu").fit(task.replace(rejected=rejected))
    assert again.predict(k=30, sources=[linked[0]]).target_index[0, -1] == rejected[0, 1]


def test_unknown_ones_are_told_with_those_near_it(aligner):
    with pytest.raises(DataError, match=r"^The source graph has no entity 's0001'\.$"):
        aligner.predict(sources=["s1", "s0001"])
