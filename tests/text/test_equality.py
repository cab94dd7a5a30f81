"""Equal names, and the pairs of entities that they single out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import make_graph

from mixtea import Task
from mixtea.graph.labels import Labels
from mixtea.io.checks import task_warnings
from mixtea.text.names import equal_names, linked_by_name


def called(names: dict[int, list[str]], n: int):
    """n numbered entities, with labels."""
    rows = [(entity, text) for entity, texts in names.items() for text in texts]
    labels = Labels.of_entities([row[0] for row in rows], [row[1] for row in rows]).as_set()
    return replace(make_graph([(0, 0, 1)], n), labels=labels)


def test_pairs_of_entities_that_alone_have_a_name():
    source = called(
        {0: ["Ang Lee (director)"], 1: ["Twins"], 2: ["Twins"], 3: ["Q"], 4: ["..."], 5: ["Oslo", "Wien"]}, 6
    )
    target = called({0: ["OSLO"], 1: ["ang_lee"], 2: ["twins"], 3: ["q", "Q!"], 4: ["!!!"], 5: ["wien"]}, 6)
    n, pairs = equal_names(source, target)
    assert n == 5 and pairs.tolist() == [[0, 1], [3, 3]] and pairs.dtype == np.int64


def test_no_names_at_all():
    n, pairs = equal_names(make_graph([], 3), make_graph([], 0))
    assert n == 0 and pairs.shape == (0, 2)


@pytest.fixture
def task():
    source, target = (called({0: ["One"], 1: ["Two"], 2: ["Three"]}, 4) for _ in range(2))
    return Task.of_two("named", source, target, np.array([[0, 0], [1, 2]]), *[np.empty((0, 2), np.int64)] * 2)


def test_without_links_the_names_are_what_there_is(task):
    found = task_warnings(task.replace(train=task.valid, links_from="names"))
    assert found[-1] == "no links are read: 3 pairs of equal names are what learning can begin with"
    assert not any("train links" in doubt for doubt in found)


def test_links_between_entities_of_one_name():
    source = called({0: ["Ang Lee (director)", "李安"], 1: ["Twins"], 2: ["Twins"], 3: ["..."]}, 5)
    target = called({0: ["ANG LEE"], 1: ["Twins", "Ang Lee"], 3: ["..."]}, 5)
    links = np.array([[0, 0], [0, 1], [1, 1], [2, 1], [1, 0], [3, 3], [4, 4]])
    assert linked_by_name(source, target, links).tolist() == [True, True, True, True, False, False, False]
    assert linked_by_name(source, target, links[:0]).tolist() == []
