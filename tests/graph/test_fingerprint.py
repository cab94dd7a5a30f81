"""What makes two tasks different to a training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from conftest import labelled

from mixtea.graph.entity_table import Attributes
from mixtea.graph.fingerprint import checksum, checksums


def with_values(graph, *rows):
    return replace(graph, attributes=Attributes.from_columns(*zip(*rows, strict=True)).as_set())


CHANGES = {
    "an id": lambda task: task.replace(source=replace(task.source, ids=task.source.ids[::-1])),
    "a triple": lambda task: task.replace(target=replace(task.target, triples=task.target.triples[:-1])),
    "a label": lambda task: task.replace(source=replace(task.source, labels=labelled(task.source, {"a": "A"}))),
    "a value": lambda task: task.replace(source=with_values(task.source, (0, "p", "1"))),
    "another value": lambda task: task.replace(source=with_values(task.source, (0, "p", "2"))),
    "a language": lambda task: task.replace(source=with_values(task.source, (0, "p", "1", "en"))),
    "a datatype": lambda task: task.replace(source=with_values(task.source, (0, "p", "1", "", "en"))),
    "vectors": lambda task: task.replace(source=replace(task.source, vectors=np.ones((5, 2), np.float32))),
    "other vectors": lambda task: task.replace(source=replace(task.source, vectors=np.zeros((5, 2), np.float32))),
    "vectors of the target": lambda task: task.replace(
        target=replace(task.target, vectors=np.ones((5, 2), np.float32))
    ),
    "a link": lambda task: task.replace(train=task.train[:-1], valid=np.concatenate([task.train[-1:], task.valid])),
    "a rejected pair": lambda task: task.replace(rejected=np.array([[0, 1]])),
    "synonyms": lambda task: task.replace(synonyms=(("a", "b"), ("c", "d"))),
    "other synonyms": lambda task: task.replace(synonyms=(("a", "b", "c", "d"),)),
}


def test_everything_that_training_sees_is_covered(tiny):
    sums = [checksum(tiny), *(checksum(change(tiny)) for change in CHANGES.values())]
    assert len(set(sums)) == len(CHANGES) + 1
    assert [checksum(change(tiny)) for change in CHANGES.values()] == sums[1:]


def test_test_links_are_not(tiny):
    assert checksum(tiny.replace(test=tiny.test[:0])) == checksum(tiny)


def test_of_each_part_there_is_one(tiny):
    usual = checksums(tiny)
    changed = {
        what: {part for part, found in checksums(change(tiny)).items() if found != usual[part]}
        for what, change in CHANGES.items()
    }
    assert changed["a triple"] == changed["vectors of the target"] == {"target graph"}
    assert changed["an id"] == changed["a label"] == {"source graph"}
    assert changed["a link"] == {"training links", "validation links"}
    assert changed["a rejected pair"] == {"rejected pairs"}
    assert changed["synonyms"] == changed["other synonyms"] == {"synonyms"}
