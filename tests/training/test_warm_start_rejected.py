"""A warm start takes over what was thought before, but not of pairs that were rejected since."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import SMALL_BEST

from mixtea import Config, MixTEA
from mixtea.config import STRUCTURE_VOTERS
from mixtea.training.trainer import Trainer

CPU = torch.device("cpu")
BEST = SMALL_BEST | dict(voters=STRUCTURE_VOTERS, propagation_rounds=2)


@pytest.fixture(scope="module")
def old(rings):
    return MixTEA(**BEST).fit(rings)


def begun(old, task):
    """The candidates that a council begins with, and its sure pairs, by numbers in their own graphs."""
    council = Trainer(task, Config.preset("best", **BEST), CPU, old._warm_start()).council
    rows, pairs = council.entities.own, council.candidates
    ends = zip(rows[0][pairs.source].tolist(), rows[1][pairs.target].tolist(), strict=True)
    return {*ends}, {tuple(pair) for pair in council.initial_pairs.tolist()}


def test_rejected_pairs_are_not_taken_over_and_all_others_are(old, rings):
    candidates, sure = begun(old, rings)
    rejected = np.array([*sorted(sure)[:2], next(iter(sorted(candidates - sure)))])
    gone = {tuple(pair) for pair in rejected.tolist()}
    found, still_sure = begun(old, rings.replace(rejected=rejected))
    assert gone <= candidates and found == candidates - gone
    assert not still_sure & gone and len(still_sure & sure) >= len(sure) - 4


def test_a_rejected_pair_is_not_mapped_after_a_warm_start(old, rings):
    source, target = sorted(begun(old, rings)[1])[0]
    warm = MixTEA(**BEST).fit(rings.replace(rejected=np.array([[source, target]])), warm_start=old)
    row = warm.answers_.ranked.target[warm.answers_.source_index == source]
    assert len(row) == 1 and target not in row
    assert target in old.answers_.ranked.target[old.answers_.source_index == source]
