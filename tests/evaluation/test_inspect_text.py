"""What `inspect` tells of names and values."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from conftest import make_graph, said_graph, said_task

from mixtea.evaluation.inspection import text_summary, text_summary_lines
from mixtea.graph.entity_table import Attributes
from mixtea.graph.labels import TRANSLATION_RANK, Labels
from mixtea.io.checks import summary

SAID = [(0, "said", "1000"), (1, "said", "Oslo"), (2, "said", "1900-05-01")]
OTHERS = [(0, "rdfs:label", "Uno"), (0, "gesagt", "1000.0"), (1, "gesagt", "OSLO"), (2, "gesagt", "1.5.1900")]


@pytest.fixture
def task():
    source = said_graph(["One", "Two", "Drei", ""], SAID)
    three = Labels.of_entities([2], ["Three"], TRANSLATION_RANK)
    source = replace(source, labels=Labels.concat([source.labels, three]).as_set())
    return said_task(source, said_graph(["One", "Two", "Three", "Four"], OTHERS, "f"), [(0, 0), (1, 2)])


def test_the_summary_of_names_and_values(task):
    """Labels are no values, and a value is the same however it is written."""
    found = text_summary(task)
    assert found == json.loads(json.dumps(found)) == {
        "source": {
            "entities": 4, "named": 3, "named_by_themselves": 3, "names": 4, "translations": 1, "values": 3,
            "with_values": 3, "compared": 3,
        },
        "target": {
            "entities": 4, "named": 4, "named_by_themselves": 4, "names": 4, "translations": 0, "values": 3,
            "with_values": 3, "compared": 3,
        },
        "equal_names": 3, "unique_pairs": 3, "judged": 3, "right": 1, "share_right": 1 / 3, "train_links": 2,
        "equal_values": 3, "columns": [], "candidates": [],
    }  # fmt: skip
    counts = summary(task)
    assert (counts["source"]["labels"], counts["source"]["label_coverage"]) == (3, 3 / 4), "translations do not count"
    assert counts["source"]["languages"] == {"": 3} and counts["links_from"] == "given"


def test_the_same_in_sentences(task):
    assert list(text_summary_lines(text_summary(task))) == [
        "names in the source graph: 4, of 3 of 4 entities, 1 of them translations; attribute values: 3, of 3 entities",
        "names in the target graph: 4, of 4 of 4 entities; attribute values: 3, of 3 entities",
        "equal names: 3; pairs of entities that they single out: 3",
        "of 3 such pairs the training links know an end; 1 (33.3%) are links, of 2",
        "the voter names could use 3 source and 4 target entities",
        "the voter attributes could use 3 source and 3 target entities, 3 values on both sides",
    ]
    bare = task.replace(source=make_graph([(0, 0, 1)], 4), target=replace(task.target, attributes=Attributes.empty()))
    assert list(text_summary_lines(text_summary(bare)))[-2:] == [
        "the voter names could use nothing: there is none in the source graph",
        "the voter attributes could use nothing: none there",
    ]
    assert text_summary(bare)["share_right"] is None


def test_a_literal_on_one_side_and_a_named_entity_on_the_other_are_compared():
    source = said_graph([""] * 3, [(i, "city", city) for i, city in enumerate(("Oslo", "Rome", "Bern"))], "s")
    target = said_graph(["", "", "", "Oslo", "Rome", "Bern"], [], "t", triples=[(i, 0, 3 + i) for i in range(3)])
    found = text_summary(said_task(source, target))
    assert (found["source"]["compared"], found["target"]["compared"], found["equal_values"]) == (3, 3, 3)
    assert (found["source"]["with_values"], found["target"]["with_values"]) == (3, 0)


def test_values_that_nobody_else_has_are_of_no_use():
    source, target = (said_graph([""] * 3, [(i, "p", f"{word} {i}") for i in range(3)]) for word in ("red", "blue"))
    found = text_summary(said_task(source, target))
    assert list(text_summary_lines(found))[-1] == (
        "the voter attributes could use nothing: no two predicates have enough in common, 0 values on both sides"
    )
    labels = replace(source, attributes=Attributes.from_columns([0, 1], ["rdfs:label"] * 2, ["One", "Two"]).as_set())
    assert np.all([text_summary(said_task(labels, labels))[side]["values"] == 0 for side in ("source", "target")])
