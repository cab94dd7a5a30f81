"""Entities by id, by prefix, by label, by number; and what is said of those that are not there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import said_graph, said_task

from mixtea import DataError
from mixtea.graph.labels import TRANSLATION_RANK, Labels
from mixtea.io.links.resolve import nearest_names, resolve_entities, resolve_links


@pytest.fixture
def graph():
    found = said_graph(["Rome", "Italy", "Italy", ""], prefix="http://a/e")
    return replace(found, prefixes={"a": "http://a/"})


@pytest.mark.parametrize("name, place", [("http://a/e1", 1), ("a:e1", 1), ("Rome", 0), (3, 3), (np.int32(3), 3)])
def test_the_ways_to_name_an_entity(graph, name, place):
    assert resolve_entities(graph, [name], "source").tolist() == [place]
    assert resolve_entities(graph, name, "source").tolist() == [place] if isinstance(name, str) else True


def test_an_id_comes_before_a_label(graph):
    assert resolve_entities(
        replace(graph, ids=np.array(["x", "Rome", "y", "z"], dtype=object)), ["Rome"], "source"
    ) == [1]


def test_a_translation_is_no_name_of_its_own(graph):
    more = Labels.of_entities([3], ["Roma"], TRANSLATION_RANK)
    with pytest.raises(DataError, match="no entity 'Roma'"):
        resolve_entities(replace(graph, labels=Labels.concat([graph.labels, more]).as_set()), ["Roma"], "source")


WRONG = {
    "ambiguous": (["Italy"], "2 entities of the source graph are called 'Italy': 'http://a/e1', 'http://a/e2'."),
    "near": (["Romme"], "The source graph has no entity 'Romme'. Near it: 'Rome'."),
    "far": (["###"], "The source graph has no entity '###'."),
    "a number outside": ([4], "no entity of number 4: they are 0 to 3. If it is an id, write it as text: '4'."),
    "no list": (5, "The sources are a list of ids or labels, not an object of type int."),
    "a frame": (pd.DataFrame({"a": ["Rome"]}), "not an object of type DataFrame."),
    "None": ([None], "ids or labels, which are text, not NoneType None."),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_are_named(graph, mistake):
    names, message = WRONG[mistake]
    with pytest.raises(DataError) as raised:
        resolve_entities(graph, names, "source")
    assert str(raised.value).endswith(message)


def test_the_nearest_names_are_ids_and_labels(graph):
    assert nearest_names(graph, "http://a/e7")[0].startswith("http://a/e") and nearest_names(graph, "rom") == ["Rome"]


def test_links_are_pairs_in_many_forms(graph):
    task = said_task(graph, graph)
    forms = (
        [("Rome", "a:e3")], {"Rome": "a:e3"}, [[0, 3]], np.array([[0, 3]]), np.array([["Rome", "http://a/e3"]]),
        pd.DataFrame({"target": ["a:e3"], "source": ["Rome"]}), pd.DataFrame({"x": [0], "y": [3]}), iter([(0, 3)]),
    )  # fmt: skip
    assert all(resolve_links(task, links).tolist() == [[0, 3]] for links in forms)


def test_a_number_beside_text_is_an_id(graph):
    numbered = replace(graph, ids=np.array(["7", "8", "0", "9"], dtype=object))
    assert resolve_links(said_task(numbered, graph), [(0, "Rome")]).tolist() == [[2, 0]]


@pytest.mark.parametrize(
    "links", [[], [0, 1], [("a",)], [("a", "b", "c")], 5, "l.tsv", pd.DataFrame({"a": ["x"]}), None]
)
def test_what_are_no_links_is_refused(graph, links):
    with pytest.raises(DataError, match=r"Give pairs: \[\(source, target\), ...\]\."):
        resolve_links(said_task(graph, graph), links)
