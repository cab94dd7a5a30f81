"""Precision, recall and F1, by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from mixtea.evaluation.scores import mapping_scores, threshold_curve

LINKS = pd.DataFrame({"source": list("abcd"), "target": list("ABCD")})
MAPPING = pd.DataFrame({"source": list("abcx"), "target": list("ABDX"), "probability": [0.9, 0.6, 0.8, 0.6]})


def test_complete_links_make_other_mappings_wrong():
    assert mapping_scores(MAPPING, LINKS, complete=True) == pytest.approx({"precision": 0.5, "recall": 0.5, "f1": 0.5})


def test_partial_links_judge_their_own_sources_alone():
    found = mapping_scores(MAPPING, LINKS, complete=False)
    assert found == pytest.approx({"precision": 2 / 3, "recall": 0.5, "f1": 4 / 7})


def test_the_curve_has_a_row_a_probability_the_strictest_first():
    curve = threshold_curve(MAPPING, LINKS, complete=True)
    assert curve["threshold"].tolist() == [0.9, 0.8, 0.6] and curve["mapped"].tolist() == [1, 2, 4]
    assert curve["precision"].tolist() == [1, 0.5, 0.5] and curve["recall"].tolist() == [0.25, 0.25, 0.5]


def test_nothing_mapped_and_nothing_linked():
    assert mapping_scores(MAPPING[:0], LINKS, complete=True) == {"precision": 0, "recall": 0, "f1": 0}
    assert mapping_scores(MAPPING[:0], LINKS[:0], complete=True) == {"precision": 0, "recall": 0, "f1": 0}
    assert threshold_curve(MAPPING[:0], LINKS, complete=True).empty
