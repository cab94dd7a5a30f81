"""With few links nobody can tell that predictions are stable, and neighbours tell most."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import SMALL_BEST

from mixtea import Config, ConfigError, MixTEA
from mixtea.config import STRUCTURE_VOTERS
from mixtea.voters.structure import Agreement

BEST = SMALL_BEST | dict(voters=STRUCTURE_VOTERS, max_epochs=24, votes_every=2)


def test_enough_validation_links_end_a_training_when_the_answers_stand(rings):
    aligner = MixTEA(**BEST, valid_needed=len(rings.valid)).fit(rings)
    assert aligner.stopped_because_.startswith("predictions are stable") and aligner.n_epochs_ < 24


def test_fewer_do_not(rings):
    aligner = MixTEA(**BEST, valid_needed=len(rings.valid) + 1).fit(rings)
    assert aligner.n_epochs_ == 24 and not aligner.stopped_because_.startswith("predictions are stable")
    assert aligner.history_["changed"].notna().sum() == 12  # what changes is still told


def test_none_do_not(rings):
    without = rings.replace(valid=rings.valid[:0])
    assert MixTEA(**BEST | {"max_epochs": 12}, valid_needed=100).fit(without).n_epochs_ == 12


def test_where_links_are_found_by_names_the_answers_may_stand(told):
    """There are no links of which there could be few."""
    named = told.replace(train=told.train[:0], valid=told.valid[:0], links_from="names")
    aligner = MixTEA(**BEST | {"voters": (*STRUCTURE_VOTERS, "names")}).fit(named)
    assert aligner.stopped_because_.startswith("predictions are stable") and aligner.n_epochs_ < 24


@pytest.mark.parametrize(("needed", "weight"), [(5, 1.5), (6, 3.0), (100, 3.0), (0, 1.5)])
def test_agreement_weighs_more_where_validation_links_are_few(rings, needed, weight):
    assert len(rings.valid) == 5
    config = Config.preset("best", agreement_weight=1.5, agreement_weight_few=3.0, valid_needed=needed)
    assert Agreement().bind(rings, config).weight() == weight
    without = rings.replace(train=rings.train[:0], valid=rings.valid[:0])  # found by names
    assert Agreement().bind(without, config).weight() == 1.5


def test_the_weight_with_few_links_counts_in_what_is_decided(rings):
    settings = BEST | {"max_epochs": 0, "valid_needed": 100}
    parts = [
        np.nan_to_num(MixTEA(**settings, agreement_weight_few=weight).fit(rings).answers_.parts["agreement"][:, 1])
        for weight in (2.0, 0.0)
    ]
    assert parts[0].max() > 0 and parts[1].max() == 0


def test_a_weight_below_nothing_is_refused():
    with pytest.raises(ConfigError, match="agreement_weight_few"):
        Config(agreement_weight_few=-1)
