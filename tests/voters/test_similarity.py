"""Voters by likeness: the most alike, what they remember, silence, and test links that they never see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import SMALL_BEST, said_graph, said_task

from mixtea import MixTEA
from mixtea.compute.scored_pairs import rank_within
from mixtea.config import Config
from mixtea.council.council import bind_voters
from mixtea.graph.labels import Labels
from mixtea.voters.similarity import CANDIDATES_PER_ENTITY, SimilarityOpinions, best_of, similar_pairs

STRUCTURE = ("forward", "backward", "propagation", "agreement")
COMPARING = ("names", "attributes", "descriptions")
NONE = np.empty((0, 2), dtype=np.int64)


def test_ranks_within_a_line_are_by_value():
    line, value = np.array([3, 0, 3, 3, 0]), np.array([0.1, 0.5, 0.9, 0.4, 0.6])
    assert rank_within(line, value).tolist() == [2, 1, 0, 1, 0]
    assert rank_within(line[:0], value[:0]).tolist() == []


def test_each_pair_counts_once_with_its_greatest_value():
    found = best_of(similar_pairs(np.array([1, 0, 1]), np.array([2, 1, 2]), np.array([0.4, 0.5, 0.7]), (2, 3)))
    assert [part.tolist() for part in (*found.ends, found.value)] == [[0, 1], [1, 2], [0.5, 0.7]]
    assert len(best_of(similar_pairs(NONE[:, 0], NONE[:, 1], np.empty(0), (2, 3)))) == 0


def test_the_details_of_a_pair_are_those_of_its_greatest_value():
    details = np.array([[1, 2], [3, 4], [5, 6]])
    found = best_of(
        similar_pairs(np.array([1, 0, 1]), np.array([2, 1, 2]), np.array([0.4, 0.5, 0.7]), (2, 3), details=details)
    )
    assert found.details.tolist() == [[3, 4], [5, 6]]


def test_few_of_each_entity_are_kept_and_all_that_are_equal():
    n = CANDIDATES_PER_ENTITY + 10
    star = np.zeros(n, dtype=np.int64), np.arange(n)
    assert (
        len(best_of(similar_pairs(*star, np.linspace(0.1, 0.9, n), (1, n))).value) == n
    )  # each is the only one of its target
    pairs = np.indices((n, n)).reshape(2, -1)
    value = np.random.default_rng(1).random(n * n)
    value[:n] = 1.0
    found = best_of(similar_pairs(*pairs, value, (n, n)))
    assert (found.source == 0).sum() == n and len(found.value) < n * n
    assert (np.diff(found.source * n + found.target) > 0).all()


def test_the_odds_of_a_pair_are_against_one_of_which_nothing_is_known(told):
    (voter,) = bind_voters(told, Config.preset("best"), ["names"])
    opinions = voter.opinions()
    opinions.learn(NONE)
    n_open = told.target.n_entities - len(told.train)
    found = opinions.log_odds(opinions.found.source, opinions.found.target)
    assert found == pytest.approx(opinions.judged.log_odds + np.log(n_open))
    source, target = (ends.ravel() for ends in np.indices(opinions.shape))
    apart = ~np.isin(source * 30 + target, opinions.found.key)
    others = opinions.judged.of_others(source[apart], target[apart])
    assert opinions.log_odds(source[apart], target[apart]) == pytest.approx(others + np.log(n_open))
    assert (others < np.log(1 / 30) + 1e-9).all()  # a target among 30


def test_it_learns_again_where_there_is_much_more_to_learn_from(told):
    opinions = bind_voters(told, Config.preset("best"), ["names"])[0].opinions()
    opinions.learn(NONE)
    before = opinions.learned
    opinions.learn(told.test[:2])  # 17 pairs after 15
    assert opinions.learned is before and len(opinions.learned_from) == 15
    opinions.learn(told.test[:8])
    assert opinions.learned is not before and len(opinions.learned_from) == 23


@pytest.mark.parametrize("name", COMPARING)
def test_what_it_remembers_is_all_that_it_thinks(translated, name):
    first, second = (bind_voters(translated, Config.preset("best"), [name])[0] for _ in range(2))
    first.opinions().learn(NONE)
    first.opinions().learn(translated.test)
    source, target = (ends.ravel() for ends in np.indices(first.opinions().shape))
    second.opinions().log_odds(source, target)  # something that is not so any more
    second.load_state_dict(first.state_dict())
    thought = [voter.opinions().log_odds(source, target) for voter in (first, second)]
    assert np.array_equal(*thought, equal_nan=True) and np.array_equal(first.propose(None), second.propose(None))


@pytest.mark.parametrize("name", COMPARING)
@pytest.mark.parametrize(
    "wrong",
    [
        np.array([[0, 30]]), np.array([[30, 0]]), np.array([[-1, 0]]), np.array([[0.0, 1.0]]), np.array([[0, 1, 2]]),
        np.array([0, 1]), np.array([[0, 1]], dtype=np.int32), np.array(5),
    ],
)  # fmt: skip
def test_pairs_of_other_graphs_are_refused(told, name, wrong):
    (voter,) = bind_voters(told, Config.preset("best"), [name])
    with pytest.raises(ValueError):
        voter.load_state_dict({"learned_from": wrong})
    assert len(voter.state_dict()["learned_from"]) == 0


def test_a_likeness_says_what_is_alike():
    with pytest.raises(NotImplementedError):
        SimilarityOpinions(said_task(said_graph(["a"]), said_graph(["b"]))).initial_pairs()


def fitted(task, *voters, **settings):
    return MixTEA(voters=voters, **SMALL_BEST | settings).fit(task)


def assert_same(first, second):
    assert first.vectors_.equal(second.vectors_) and first.trace_.equals(second.trace_)
    assert first.map().to_frame().equals(second.map().to_frame())


def without_names(graph):
    return replace(graph, labels=Labels.empty(), vectors=np.empty((0, 0), dtype=np.float32))


@pytest.mark.parametrize("side", ["source", "target"])
def test_with_names_on_one_side_alone_no_bit_changes(told, side):
    """Ids such as s0 are no names."""
    bare = told.replace(**{side: without_names(getattr(told, side))})
    (names,) = bind_voters(bare, Config.preset("best"), ["names"])
    assert not names.is_applicable() and bind_voters(told, Config.preset("best"), ["names"])[0].is_applicable()
    assert_same(fitted(bare, *STRUCTURE), fitted(bare, *STRUCTURE, "names", "descriptions"))


def test_exchanged_test_links_change_no_bit(translated):
    """With a translator that has learned, and sure pairs that all voters have taken up."""
    order = np.random.default_rng(3).permutation(len(translated.test))
    exchanged = translated.replace(test=np.stack([translated.test[:, 0], translated.test[order, 1]], axis=1))
    settings = dict(propagation_rounds=2, propagation_every=1, votes_every=1)
    first, second = (fitted(task, *STRUCTURE, *COMPARING, **settings) for task in (translated, exchanged))
    assert_same(first, second)
    assert first.score()["hits@1"] > 0.9 > 0.2 > second.score()["hits@1"]
    spoken = first.trace_["voters"].str
    assert all(spoken.contains(name).any() for name in COMPARING)
