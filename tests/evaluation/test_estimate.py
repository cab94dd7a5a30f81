"""What `inspect` promises about memory and time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import make_graph

from mixtea import Task
from mixtea.config import STRUCTURE_VOTERS, Config
from mixtea.evaluation.estimate import (
    estimate,
    measure_speed,
    memory_mib,
    seconds_beside,
    seconds_of_texts,
    seconds_per_epoch,
    sizes,
)
from mixtea.graph.entity_table import Attributes
from mixtea.graph.labels import Labels
from mixtea.training.trainer import Trainer

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def chain():
    """Two chains of 20,000 entities with a hundred links: large enough for approximations to pay."""
    n = 20_000
    graph = make_graph([(i, 0, i + 1) for i in range(n - 1)], n)
    links = np.repeat(np.arange(100), 2).reshape(-1, 2)
    return Task.of_two("chain", graph, graph, links, links[:0], links[:0])


def test_sizes_are_those_of_the_trainer(example):
    trainer = Trainer(example, Config(), CPU)
    entities, n, m, width = sizes(example, Config())
    assert (n, m) == trainer.entities.shape
    assert (entities, width) == tuple(trainer.student().shape)


def test_memory_and_time_grow_with_what_is_asked(chain):
    small, large = Config(), Config(entity_dim=512)
    assert memory_mib(chain, large, CPU) > 1.5 * memory_mib(chain, small, CPU)
    times = [seconds_per_epoch(chain, c, CPU, 1e9) for c in (large, small, Config(normaliser="moments"))]
    assert times == sorted(times, reverse=True)


def test_a_long_training_gets_a_suggestion_that_shortens_it(chain, example):
    slow, fast = (estimate(chain, Config(), CPU, speed) for speed in (1e11, 1e15))
    assert slow.suggestion == {"normaliser": "moments", "votes_every": 2}
    assert slow.seconds_with_suggestion < slow.seconds
    assert fast.suggestion == {} and fast.seconds_with_suggestion is None
    very_slow = estimate(chain, Config(), CPU, 1e9)
    assert very_slow.suggestion == {"normaliser": "moments", "votes_every": 10, "search": "ivf"}
    assert estimate(example, Config(), CPU, 1e9).suggestion == {}  # so small that it would only get longer


def test_what_the_voters_say_they_cost_is_counted(chain):
    small, large = (Config.preset("best", propagation_relation_dim=dim) for dim in (32, 128))
    assert memory_mib(chain, large, CPU) - memory_mib(chain, small, CPU) == pytest.approx(
        2 * 40_000 * 96 * 8 * 2 / 2**20
    )
    alone = Config.preset("best", voters=("forward", "backward"))
    beside = [seconds_beside(chain, config, CPU, 1e9) for config in (Config(), alone, small, large)]
    assert beside[0] == 0 and beside == sorted(beside) and len(set(beside)) == 4


def test_the_machine_is_measured():
    assert measure_speed(CPU) > 1e8


def test_no_suggestion_that_would_not_help(chain):
    assert estimate(chain, Config(pseudo_weight=0.0), CPU, 1e9).suggestion == {}


def test_sharp_losses_are_sampled_since_moments_would_not_do(chain):
    assert estimate(chain, Config(temperature=0.1), CPU, 1e9).suggestion == {"loss_rows": 0.25}
    told = chain.replace(valid=chain.train)  # links enough to tell that predictions are stable
    assert estimate(chain, Config.preset("best"), CPU, 1e11).epochs == 60
    best, slow = (estimate(told, Config.preset("best"), CPU, speed) for speed in (1e11, 1e9))
    assert best.epochs == 13 and best.suggestion == {} and best.seconds > best.seconds_beside > 0
    assert slow.suggestion == {"max_epochs": 0} and slow.seconds_beside <= slow.seconds_with_suggestion < slow.seconds
    assert best.mib > estimate(chain, Config(entity_dim=128), CPU, 1e11).mib


def test_names_and_values_take_time_and_names_that_differ_the_most(chain):
    n = chain.source.n_entities
    names = [f"name {i}" for i in range(n)]

    def named(source, target):
        sides = [
            replace(graph, labels=Labels.of_entities(np.arange(n), texts))
            for graph, texts in ((chain.source, source), (chain.target, target))
        ]
        return chain.replace(source=sides[0], target=sides[1])

    best, one_sided = Config.preset("best"), [""] * n
    nothing, equal, different = (
        seconds_of_texts(named(names, other), best, "cpu") for other in (one_sided, names, [f"{t} x" for t in names])
    )
    assert nothing == 0 < equal < different / 3
    assert seconds_of_texts(named(names, names), Config.preset("best", voters=STRUCTURE_VOTERS), "cpu") == 0
    assert seconds_beside(named(names, names), best, CPU, 1e9) == pytest.approx(
        seconds_beside(chain, best, CPU, 1e9) + equal
    )
    values = Attributes.from_columns([0, 1], ["p", "p"], ["a", "b"]).as_set()
    assert seconds_of_texts(chain.replace(source=replace(chain.source, attributes=values)), best, "cpu") > 0
    two = Labels.of_entities(np.repeat(np.arange(n), 2), [f"{t} {i}" for t in names for i in (0, 1)])
    assert memory_mib(chain.replace(source=replace(chain.source, labels=two)), best, CPU) > memory_mib(chain, best, CPU)
