"""Hit@k and MRR, ties in expectation."""

from __future__ import annotations

import oracle
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mixtea.errors import DataError
from mixtea.evaluation.metrics import both_directions, ranking_metrics

AXES = torch.eye(4)


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=9), st.lists(st.integers(0, 3), min_size=1, max_size=9), st.data()
)
def test_equals_the_mean_over_all_orders_of_ties(sources, targets, data):
    truth = data.draw(st.lists(st.integers(0, len(targets) - 1), min_size=len(sources), max_size=len(sources)))
    source, target = AXES[sources], AXES[targets]
    found = ranking_metrics(source, target, torch.tensor(truth), ks=(1, 3), block_size=2)
    wanted = oracle.expected_metrics(oracle.cosine(source, target), truth, (1, 3))
    assert found == pytest.approx(wanted, abs=1e-9)


def test_a_tie_is_neither_a_hit_nor_a_miss():
    """Two twins: right half of the time; ranks 1 and 2 give a mean reciprocal of 3/4."""
    found = ranking_metrics(AXES[:1], AXES[[0, 0, 1]], torch.tensor([1]))
    assert found == pytest.approx({"hits@1": 0.5, "hits@5": 1.0, "hits@10": 1.0, "mrr": 0.75})


def test_products_that_differ_by_rounding_are_ties():
    target = torch.tensor([[1.0, 1e-7], [1.0, 0.0]])
    assert ranking_metrics(torch.tensor([[1.0, 0.0]]), target, torch.tensor([0]))["hits@1"] == 0.5


def test_both_directions_over_the_links_own_ends_or_all_entities():
    vectors = torch.cat([AXES[:3], AXES[[0, 0, 2]]])  # sources 0-2, targets 3-5
    links = torch.tensor([[0, 3], [2, 5]])
    given_only = both_directions(vectors, links)
    assert given_only["hits@1"] == given_only["backward_hits@1"] == 1.0
    everything = both_directions(vectors, links, n_source=3)
    assert everything["hits@1"] == 0.75 and everything["backward_hits@1"] == 1.0


def test_nothing_to_score():
    with pytest.raises(DataError, match="no link"):
        ranking_metrics(AXES, AXES, torch.empty(0, dtype=torch.int64))
