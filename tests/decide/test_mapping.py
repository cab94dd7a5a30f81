"""Decisions: one target each, no counterpart where that is likelier, given links in front."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import SMALL_STRUCTURE

from mixtea import MixTEA, Task
from mixtea.errors import NotFittedError
from mixtea.graph.graph import Graph


def without(graph: Graph, gone: np.ndarray) -> tuple[Graph, np.ndarray]:
    """The graph without some entities and their triples, and the new number of each entity, -1 for those."""
    kept = graph.triples[~gone[graph.triples[:, [0, 2]]].any(axis=1)]
    place = np.where(gone, -1, np.cumsum(~gone) - 1)
    triples = np.stack([place[kept[:, 0]], kept[:, 1], place[kept[:, 2]]], axis=1)
    return Graph(graph.ids[~gone], graph.relations, triples), place


def with_strangers(task: Task, n: int) -> Task:
    """Either graph gets n further entities, each with one triple to a random one: nobody's counterpart."""
    random = np.random.default_rng(5)
    graphs = []
    for side, graph in (("s", task.source), ("t", task.target)):
        names = np.array([f"stranger/{side}{i}" for i in range(n)], dtype=object)
        new = np.arange(graph.n_entities, graph.n_entities + n)
        ends = (random.integers(graph.n_relations, size=n), random.integers(graph.n_entities, size=n))
        triples = np.concatenate([graph.triples, np.stack([new, *ends], axis=1)])
        graphs.append(Graph(np.concatenate([graph.ids, names]), graph.relations, triples))
    return task.replace(source=graphs[0], target=graphs[1])


@pytest.fixture
def best(fitted_structure):
    return fitted_structure


def test_every_source_without_a_given_link_is_decided_once(best, example):
    mapping = best.map()
    frame = mapping.to_frame()
    given = np.concatenate([example.train, example.valid])
    free = set(range(example.source.n_entities)) - set(given[:, 0])
    assert set(example.source.find(frame["source"].to_numpy(dtype=object))) == free and frame["source"].is_unique
    pairs = mapping.pairs()
    assert pairs["target"].is_unique and not pairs["target"].isin(example.target.ids[given[:, 1]]).any()
    assert pairs["probability"].between(0, 1).all() and not frame["given"].any()
    assert (frame["runner_up"] != frame["target"]).all() and "mapped" in repr(mapping)


@pytest.mark.parametrize("how", [{}, {"best_f1": True}, {"precision": 0.8}, {"every": True}])
def test_no_target_is_given_twice_however_pairs_are_chosen(best, how):
    for voters in (None, "forward,backward"):
        pairs = best.map(voters=voters, with_given=True, **how).pairs()
        assert pairs["target"].is_unique and pairs["source"].is_unique and len(pairs) > 300


def test_sources_that_say_nothing_do_not_crowd_out_the_others(example):
    """Entities without triples are no reason to doubt those with."""
    names = np.array([f"alone{i}" for i in range(2000)], dtype=object)
    crowded = replace(example.source, ids=np.concatenate([example.source.ids, names]))
    aligner = MixTEA(preset="best", **SMALL_STRUCTURE).fit(example.replace(source=crowded))
    pairs, frame = aligner.map().pairs(), aligner.map().to_frame().set_index("source")
    assert len(pairs) > 500 and not pairs["source"].isin(names).any()
    assert frame.loc["alone7", "target"] is None and np.isnan(frame.loc["alone7", "probability"])


def test_shared_targets_are_not_bounded_by_their_number(example):
    """Two copies of the source graph, both linked to one target graph."""
    source, n = example.source, example.source.n_entities
    twice = Graph(
        np.concatenate([source.ids, np.array([f"copy/{e}" for e in source.ids], dtype=object)]),
        source.relations,
        np.concatenate([source.triples, source.triples + np.array([n, 0, n])]),
    )
    splits = {
        name: np.concatenate([getattr(example, name), getattr(example, name) + np.array([n, 0])])
        for name in ("train", "valid", "test")
    }
    aligner = MixTEA(preset="paper", max_epochs=12, device="cpu").fit(example.replace(source=twice, **splits))
    pairs = aligner.map(shared_targets=True).pairs()
    assert len(pairs) > n / 2 and not pairs["target"].is_unique


def test_several_sources_may_share_a_target_on_request(best):
    many = best.map(shared_targets=True, every=True).pairs()
    assert not many["target"].is_unique and len(many) >= len(best.map(every=True).pairs())


def test_given_links_come_first_and_replace_predictions(best, example):
    frame = best.map(with_given=True).to_frame()
    n = len(example.train) + len(example.valid)
    assert frame["given"].tolist() == [True] * n + [False] * (len(frame) - n)
    assert frame["source"].is_unique and (frame["probability"][:n] == 1).all()
    assert set(frame["source"][:n]) == set(example.source.ids[np.concatenate([example.train, example.valid])[:, 0]])


def test_only_probable_mappings_on_request(best):
    mapping = best.map(with_given=True)
    strict = mapping.above(0.9)
    kept = strict.frame[~strict.frame["given"] & strict.frame["target"].notna()]
    assert (kept["probability"] >= 0.9).all() and strict.frame["given"].sum() == mapping.frame["given"].sum()
    assert 0 < len(kept) < len(mapping)


def test_leaving_sources_out_pays_where_many_have_no_counterpart(example):
    task = with_strangers(example, 500)
    aligner = MixTEA(preset="best", **SMALL_STRUCTURE).fit(task)
    with_doubt, without_doubt = (aligner.score_mapping(complete=True, every=e) for e in (False, True))
    assert with_doubt["f1"] > without_doubt["f1"] + 0.05
    assert with_doubt["precision"] > without_doubt["precision"] + 0.1
    candidates = aligner.predict(1)
    linked = np.isin(candidates.source_index, task.test[:, 0])
    assert candidates.counterpart[linked].mean() > candidates.counterpart[~linked].mean() + 0.2


def test_a_smaller_target_graph_bounds_the_mappings(example):
    gone = np.zeros(example.target.n_entities, dtype=bool)
    gone[example.test[::2, 1]] = True
    target, place = without(example.target, gone)
    splits = {}
    for name in ("train", "valid", "test"):
        links = getattr(example, name)
        splits[name] = np.stack([links[:, 0], place[links[:, 1]]], axis=1)[place[links[:, 1]] >= 0]
    aligner = MixTEA(preset="best", **SMALL_STRUCTURE).fit(example.replace(target=target, **splits))
    mapping = aligner.map()
    free = target.n_entities - len(example.train)
    assert len(mapping.pairs()) <= free and mapping.frame["target"].isna().sum() >= len(mapping) - free


def test_the_curve_reaches_the_scores_of_mapping_all(best):
    curve = best.threshold_curve(complete=True)
    everything = best.score_mapping(complete=True, every=True)
    assert curve.iloc[-1]["recall"] == pytest.approx(everything["recall"])
    assert curve["mapped"].is_monotonic_increasing and curve["precision"].iloc[0] > 0.5


def test_entities_without_triples_have_no_counterpart(example):
    alone = replace(example.source, ids=np.append(example.source.ids, "nowhere"))
    aligner = MixTEA(preset="paper", max_epochs=3, device="cpu").fit(example.replace(source=alone))
    row = aligner.map().to_frame().set_index("source").loc["nowhere"]
    assert row["target"] is None and row["voters"] == ""


@pytest.mark.parametrize("preset", ["best", "paper"])
def test_graphs_of_five_entities(tiny, preset):
    for task in (tiny, tiny.replace(valid=tiny.valid[:0])):
        aligner = MixTEA(preset=preset, max_epochs=2, entity_dim=8, device="cpu").fit(task)
        assert len(aligner.map()) == 5 - 2 - len(task.valid) and len(aligner.map(with_given=True)) == 5
        assert 0 <= aligner.score_mapping(complete=True)["f1"] <= 1


def test_an_aligner_that_has_not_learned_maps_nothing():
    with pytest.raises(NotFittedError):
        MixTEA().map()
    with pytest.raises(NotFittedError):
        MixTEA().score_mapping()
