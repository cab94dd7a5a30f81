"""Equal names, and what `inspect` tells of names and values."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from conftest import make_graph

from mixtea import Task
from mixtea.data.entity_table import Attributes
from mixtea.data.equal_names import equal_names, linked_by_name
from mixtea.data.labels import TRANSLATED, Labels
from mixtea.data.name_summary import text_lines
from mixtea.data.summary import doubts, summary


def called(names: dict[int, list[str]], n: int, rank: int = 0):
    """n numbered entities, with labels."""
    rows = [(entity, text) for entity, texts in names.items() for text in texts]
    labels = Labels.of_entities([row[0] for row in rows], [row[1] for row in rows], rank).as_set()
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


def with_values(graph, values: dict[int, str]):
    columns = [*values], ["p"] * len(values), [*values.values()]
    return replace(graph, attributes=Attributes.from_columns(*columns).as_set())


@pytest.fixture
def task():
    source = with_values(called({0: ["One"], 1: ["Two"], 2: ["Drei"]}, 4), {0: "1", 1: "2", 2: "2"})
    three = Labels.of_entities([2], ["Three"], TRANSLATED)
    source = replace(source, labels=Labels.joined([source.labels, three]).as_set())
    target = with_values(called({0: ["One"], 1: ["Two"], 2: ["Three"], 3: ["Four"]}, 4), {3: "2", 2: "9"})
    return Task("named", source, target, np.array([[0, 0], [1, 2]]), *[np.empty((0, 2), np.int64)] * 2)


def test_the_summary_of_names_and_values(task):
    found = summary(task)
    assert found["texts"] == json.loads(json.dumps(found["texts"])) == {
        "source": {
            "entities": 4, "named": 3, "named_by_themselves": 3, "names": 4, "translations": 1, "values": 2,
            "with_values": 3,
        },
        "target": {
            "entities": 4, "named": 4, "named_by_themselves": 4, "names": 4, "translations": 0, "values": 2,
            "with_values": 2,
        },
        "equal_names": 3, "unique_pairs": 3, "judged": 3, "right": 1, "share_right": 1 / 3, "train_links": 2,
        "equal_values": 1,
    }  # fmt: skip
    assert found["links_from"] == "given"
    assert (found["source"]["labels"], found["source"]["label_coverage"]) == (3, 3 / 4), "translations do not count"
    assert found["source"]["languages"] == {"": 3}


def test_the_same_in_sentences(task):
    assert list(text_lines(summary(task)["texts"])) == [
        "names in the source graph: 4, of 3 of 4 entities, 1 of them translations; attribute values: 2, of 3 entities",
        "names in the target graph: 4, of 4 of 4 entities; attribute values: 2, of 2 entities",
        "equal names: 3; pairs of entities that they single out: 3",
        "of 3 such pairs the training links know an end; 1 (33.3%) are links, of 2",
        "the voter names could use 3 source and 4 target entities",
        "the voter attributes could use 3 source and 2 target entities, 1 values on both sides",
    ]
    bare = replace(task, source=make_graph([(0, 0, 1)], 4), target=replace(task.target, attributes=Attributes.none()))
    assert list(text_lines(summary(bare)["texts"]))[-2:] == [
        "the voter names could use nothing: there is none in the source graph",
        "the voter attributes could use nothing: there is none in the source and in the target graph",
    ]
    assert summary(bare)["texts"]["share_right"] is None


def test_without_links_the_names_are_what_there_is(task):
    found = doubts(replace(task, train=task.valid, links_from="names"))
    assert found[-1] == "no links are read: 3 pairs of equal names are what learning can begin with"
    assert not any("train links" in doubt for doubt in found)


def test_links_between_entities_of_one_name():
    source = called({0: ["Ang Lee (director)", "李安"], 1: ["Twins"], 2: ["Twins"], 3: ["..."]}, 5)
    target = called({0: ["ANG LEE"], 1: ["Twins", "Ang Lee"], 3: ["..."]}, 5)
    links = np.array([[0, 0], [0, 1], [1, 1], [2, 1], [1, 0], [3, 3], [4, 4]])
    assert linked_by_name(source, target, links).tolist() == [True, True, True, True, False, False, False]
    assert linked_by_name(source, target, links[:0]).tolist() == []
