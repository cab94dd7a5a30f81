"""Views of the same entities: the best counts in full, others by what they add."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from mixtea.config import Config
from mixtea.council.council import Council, bind_voters
from mixtea.council.weights import FURTHER_VIEW_PRIOR, MAX_VECTOR_WEIGHT, view_weights
from mixtea.graph.joint_index import find_open_entities

NO_LINKS = np.empty((0, 2), dtype=np.int64)
N = 60
EVERY = np.indices((N, N)).reshape(2, -1)
SAME = (EVERY[0] == EVERY[1]) & (EVERY[0] < 40)  # the others have no counterpart: rivals that show what chance does


def view(name, log_odds, known=None, evidence="lexical"):
    """A voter that compares all pairs of N sources and targets by these log-odds; NaN where it has no opinion."""
    key, table = np.arange(N * N) if known is None else np.flatnonzero(known), np.asarray(log_odds, dtype=float)
    opinions = SimpleNamespace(
        found=SimpleNamespace(key=key), log_odds=lambda source, target: table[source * N + target]
    )
    return SimpleNamespace(opinion=name, evidence=evidence, opinions=lambda: opinions)


def drawn(seed, right, spread=1.0):
    """Log-odds around `right` for the same entities, around 0 for others."""
    return right * SAME + np.random.default_rng(seed).normal(0, spread, N * N)


def weights(*views, links=NO_LINKS):
    return view_weights(views, links, (N, N))


LINKS = np.stack([np.arange(30)] * 2, axis=1)
BEST = view("names", drawn(1, 16.0))


@pytest.mark.parametrize("links", [NO_LINKS, LINKS])
def test_a_view_alone_is_taken_as_it_is(links):
    assert weights(BEST, links=links) == {"names": 1.0} and weights(links=links) == {}


def test_without_links_the_best_view_counts_in_full_and_others_by_what_they_add():
    helpful, noise = (weights(view("other", other), BEST) for other in (drawn(2, 8.0), drawn(3, 0.0, 4.0)))
    assert helpful["names"] == noise["names"] == 1.0
    assert 1.0 >= helpful["other"] > FURTHER_VIEW_PRIOR[0] > 0.1 > noise["other"]


def test_vectors_that_agree_with_sure_names_count_for_little_until_links_show_more():
    best, helpful = view("names", drawn(1, 6.0, 1.5)), view("vectors", drawn(5, 6.0, 1.5), evidence="semantic")
    assert weights(BEST, helpful) == {"names": 1.0, "vectors": MAX_VECTOR_WEIGHT}
    assert weights(best, helpful, links=LINKS)["vectors"] > MAX_VECTOR_WEIGHT + 0.05
    assert weights(BEST, view("vectors", drawn(3, 0.0, 4.0), evidence="semantic"))["vectors"] < 0.1


def test_a_view_that_is_against_the_sure_pairs_has_no_weight():
    found = weights(BEST, view("wrong", drawn(4, -8.0)))
    assert found == {"names": 1.0, "wrong": 0.0}


def test_with_links_all_views_are_weighed_together():
    best = drawn(1, 6.0, 1.5)
    others = {"helpful": drawn(5, 6.0, 1.5), "repeats": best, "noise": drawn(6, 0.0, 4.0), "wrong": drawn(7, -8.0)}
    found = {name: weights(view("best", best), view("other", other), links=LINKS) for name, other in others.items()}
    added = {name: weight["other"] for name, weight in found.items()}
    assert added["helpful"] > added["repeats"] > added["noise"] and added["wrong"] == 0 <= added["noise"] < 0.1
    assert all(0.5 < weight["best"] < 2 for weight in found.values())


def test_links_show_that_the_view_that_seems_best_misleads():
    """It is sure of pairs with targets that have no link; the other one is not sure of any."""
    shifted = 16.0 * ((EVERY[0] + N // 2) % N == EVERY[1]) + np.random.default_rng(7).normal(0, 1, N * N)
    views = view("misleading", shifted), view("right", drawn(8, 5.0))
    blind, told = weights(*views), weights(*views, links=LINKS)
    assert blind["misleading"] == 1.0 and told["misleading"] < 0.2 < told["right"]


def test_no_opinion_counts_neither_for_nor_against():
    half = np.where(EVERY[0] < N // 2, drawn(9, 8.0), np.nan)
    found = weights(BEST, view("half", half, ~np.isnan(half)))
    assert 0 < found["half"] <= 1 and np.isfinite(list(found.values())).all()


def test_where_nothing_is_sure_the_others_keep_what_is_expected():
    nothing = np.full(N * N, -5.0)
    assert weights(view("first", nothing), view("second", nothing)) == {
        "first": 1.0, "second": pytest.approx(FURTHER_VIEW_PRIOR[0]),
    }  # fmt: skip


def test_a_council_adds_log_odds_by_these_weights(told):
    """They are found anew after voters have learned, and kept with the opinions."""
    import torch

    config, generator = Config.preset("best"), torch.Generator().manual_seed(1)
    voters = bind_voters(told, config, ["names", "attributes", "descriptions"])
    entities = find_open_entities(told, generator, torch.device("cpu"))
    council = Council(told, config, voters, entities, generator)
    assert council.judge_untrained()
    shape = (told.source.n_entities, told.target.n_entities)
    expected = view_weights(voters, told.train, shape)
    opinions = council.opinions
    assert opinions.weights == council.view_weights == expected and set(expected) == {v.name for v in voters}
    total = sum(weight * opinions.scores[name].nan_to_num(0.0) for name, weight in expected.items())
    torch.testing.assert_close(opinions.total, total)
    council._learn(1)
    assert council.view_weights is None
