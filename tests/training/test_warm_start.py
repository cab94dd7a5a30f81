"""Graphs that grow: what a warm start takes over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import SMALL_BEST, make_graph

from mixtea import Config, ConfigError, MixTEA, Task
from mixtea.callbacks import History
from mixtea.config import STRUCTURE_VOTERS
from mixtea.graph.graph import Graph
from mixtea.training.trainer import Trainer

CPU = torch.device("cpu")
SMALL = dict(preset="paper", entity_dim=4, relation_dim=2, max_epochs=2, device="cpu")


def labelled(graph: Graph, entities: str, relations: str) -> Graph:
    return replace(graph, ids=np.array(list(entities), dtype=object), relations=np.array(list(relations), dtype=object))


def task(source: Graph, target: Graph) -> Task:
    links = np.array([[0, 0], [1, 1], [2, 2]])
    return Task.of_two("grown", source, target, links[:1], links[1:2], links[2:])


@pytest.fixture
def before():
    return task(
        labelled(make_graph([(0, 0, 1), (1, 0, 2)], 3), "abc", "r"),
        labelled(make_graph([(0, 0, 1), (1, 1, 2)], 3), "ABC", "sr"),
    )


@pytest.fixture
def after():
    """The source graph has a new entity x between a and b, y behind x, z alone, in another order; s is now t."""
    return task(
        labelled(make_graph([(1, 0, 4), (4, 0, 2), (2, 0, 3), (5, 1, 4)], 7), "zabcxyw", "rq"),
        labelled(make_graph([(0, 0, 1), (1, 1, 2)], 3), "ABC", "tr"),
    )


def test_vectors_are_found_by_label_and_new_ones_come_from_neighbours(before, after, caplog):
    old = MixTEA(**SMALL).fit(before)
    caplog.set_level("INFO", "mixtea")
    trainer = Trainer(after, Config(entity_dim=4, relation_dim=2), CPU, old._warm_start())
    was, now = old._student.state_dict(), trainer.student.state_dict()
    scale = now["entity"][1].norm() / was["entity"][0].norm()
    place = {label: i for i, label in enumerate("zabcxyw")}
    for label, row in (("a", 0), ("b", 1), ("c", 2)):
        torch.testing.assert_close(now["entity"][place[label]], scale * was["entity"][row])
    torch.testing.assert_close(now["entity"][7:], scale * was["entity"][3:])
    middle = scale * (was["entity"][0] + was["entity"][1]) / 2
    torch.testing.assert_close(now["entity"][place["x"]], middle)
    torch.testing.assert_close(now["entity"][place["y"]], middle)  # its only neighbour is x
    assert "6 of 10 entities are known" in caplog.text and now["entity"][place["z"]].norm() > 0
    size = now["relation"][0].norm() / was["relation"][0].norm()
    torch.testing.assert_close(now["relation"][0], size * was["relation"][0])  # r, which both graphs share
    torch.testing.assert_close(trainer.teacher.state_dict()["entity"], now["entity"])
    torch.testing.assert_close(now["attention.0"], was["attention.0"])


def test_vectors_are_as_long_as_random_ones(before, after):
    old = MixTEA(**SMALL | {"max_epochs": 60}).fit(before)
    warm, cold = (Trainer(after, Config(entity_dim=4, relation_dim=2), CPU, s) for s in (old._warm_start(), None))
    for name in ("entity", "relation"):
        torch.testing.assert_close(warm.student.state_dict()[name].norm(), cold.student.state_dict()[name].norm())


@pytest.mark.parametrize("other", [{"entity_dim": 8}, {"n_layers": 3}, {"use_relations": False}])
def test_another_encoder_is_refused(before, after, other):
    old = MixTEA(**SMALL).fit(before)
    with pytest.raises(ConfigError, match="warm start needs the encoder of the earlier run"):
        MixTEA(**SMALL | other).fit(after, warm_start=old)


def test_a_warm_start_is_better_than_the_same_epochs_from_scratch(example):
    """On the same graphs, where everything learned still holds."""
    settings = dict(preset="paper", entity_dim=64, device="cpu")
    old = MixTEA(**settings, max_epochs=40).fit(example)
    warm, cold = (MixTEA(**settings, max_epochs=4).fit(example, warm_start=start) for start in (old, None))
    assert warm.score()["hits@1"] > cold.score()["hits@1"] + 0.05


def test_other_precision_is_fine_and_other_sharing_of_relations_is_refused(before, after):
    old = MixTEA(**SMALL).fit(before)
    assert MixTEA(**SMALL, precision="float64").fit(after, warm_start=old).n_epochs_ == 2
    with pytest.raises(ConfigError, match="shared_relations of the earlier run"):
        MixTEA(**SMALL, shared_relations=False).fit(after, warm_start=old)


BEST = SMALL_BEST | dict(voters=STRUCTURE_VOTERS, propagation_rounds=2)


def test_sure_pairs_are_taken_over_where_nothing_has_changed(rings):
    old = MixTEA(**BEST).fit(rings)
    h, _, t = rings.source.triples[-1]
    changed = rings.replace(source=replace(rings.source, triples=rings.source.triples[:-1]))
    found = []
    for now in (rings, changed):
        trainer = Trainer(now, Config.preset("best", **BEST), CPU, old._warm_start())
        council = trainer.council
        found.append({tuple(pair) for pair in council.initial_pairs.tolist()})
        assert council.opinions is None and len(council.candidates) > len(found[-1])
        assert trainer.holdout is not None and np.isin(trainer.holdout.source, rings.train[:, 0]).any()
    assert found[0] and found[1] == {pair for pair in found[0] if pair[0] not in (h, t)} != found[0]


def test_other_links_are_rehearsed_anew_and_other_voters_begin_anew(rings):
    old = MixTEA(**BEST).fit(rings)
    others = rings.replace(train=rings.test[: len(rings.train)], test=rings.train)
    assert Trainer(others, Config.preset("best", **BEST), CPU, old._warm_start()).holdout is None
    alone = Trainer(rings, Config.preset("best", **BEST | {"voters": STRUCTURE_VOTERS[:3]}), CPU, old._warm_start())
    assert alone.holdout is None and alone.council.candidates is None


def test_from_an_earlier_run_one_round_is_enough(rings):
    old, history = MixTEA(**BEST).fit(rings), History()
    warm = MixTEA(**BEST).fit(rings, warm_start=old, callbacks=history)
    assert [number for number, _ in history.rounds] == [1] and warm.score()["hits@1"] >= old.score()["hits@1"] - 0.1
