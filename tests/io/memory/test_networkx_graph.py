"""NetworkX graphs: edges, their relations, what nodes are called and what is said of them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from mixtea import DataError, load_task

TARGET = [("R", "in", "I")]


def read(graph, links=(("Rome", "R"),)):
    return load_task(source=graph, target=TARGET, links=list(links)).source


def triples(graph):
    return {(graph.ids[h], graph.relations[r], graph.ids[t]) for h, r, t in graph.triples}


def test_edges_of_a_multigraph_are_named_by_their_keys():
    graph = nx.MultiDiGraph()
    graph.add_edge("Rome", "Italy", key="in")
    graph.add_edge("Rome", "Italy", key="capital of", label="ignored")
    graph.add_edge("Rome", "Italy", relation="loves")
    assert triples(read(graph)) == {("Rome", name, "Italy") for name in ("in", "capital of", "loves")}


@pytest.mark.parametrize("name", ["relation", "label", "type", "predicate"])
def test_edges_are_named_by_an_attribute(name):
    graph = nx.DiGraph()
    graph.add_edge("Rome", "Italy", **{name: "in"})
    graph.add_edge(1, "Rome", **{name: 5})
    assert triples(read(graph)) == {("Rome", "in", "Italy"), ("1", "5", "Rome")}


def test_edges_without_names_are_one_relation():
    assert triples(read(nx.DiGraph([("Rome", "Italy")]))) == {("Rome", "edge", "Italy")}


def test_attributes_of_nodes_are_values_and_labels(caplog):
    graph = nx.DiGraph([("Rome", "Italy")])
    graph.add_node("Rome", name="Roma", label=["Rome", "Rom"], people=2.8, old=True, none=None, nan=float("nan"))
    graph.add_node("alone", place=np.zeros(2))
    source = read(graph)
    assert source.ids.tolist() == ["Rome", "Italy", "alone"]
    assert {text for text, _ in source.labels_of(0)} == {"Roma", "Rome", "Rom"}
    assert {row[:2] for row in source.attributes_of(0)} >= {("people", "2.8"), ("old", "True")}
    assert "left out that are neither text nor number: 'place' (ndarray)" in caplog.text


def with_half(*edge, node="Rome", **attributes):
    """A graph with an edge, or with attributes of a node, in which half a character is."""
    graph = nx.MultiDiGraph()
    graph.add_edge("Rome", "Italy", key="in")
    graph.add_node(node, **attributes)
    graph.add_edges_from([edge] if edge else [])
    return graph


HALF = "x\ud800"  # a lone surrogate
WRONG = {
    "half a node": (with_half(node=HALF), r"half a character in the node 'x\\ud800'\. No file can hold it"),
    "half an end": (with_half(HALF, "Rome", "in"), "row 2: half a character in column head,"),
    "half a key": (with_half("Rome", "x", HALF), "row 2: half a character in column relation,"),
    "half a relation": (with_half("Rome", "x", dict(relation=HALF)), "row 2: half a character in column relation,"),
    "half a label": (
        with_half(label=HALF),
        r"half a character in 'label': 'x\\ud800', an attribute of the node 'Rome'",
    ),
    "half a value": (
        with_half(people=["1", HALF]),
        "half a character in 'people': .*, an attribute of the node 'Rome'",
    ),
    "half an attribute": (with_half(**{HALF: "1"}), r"half a character in 'x\\ud800': '1', an attribute of the node"),
    "undirected": (nx.Graph([("Rome", "Italy")]), r"its edges have no direction\. Give a DiGraph"),
    "empty": (nx.DiGraph(), "empty. It needs nodes and edges"),
    "other nodes": (nx.DiGraph([(("a", 1), "Rome")]), r"a node of type tuple: .*networkx\.relabel_nodes"),
    "the same id": (nx.DiGraph([("Rome", 1), ("Rome", "1")]), "nodes 1 and '1' have the same id '1'"),
    "some named": (
        nx.DiGraph([("Rome", "Italy", {"type": "in"}), ("Rome", "x")]),
        "an edge without a relation, where others have one: 'Rome x'",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_are_named(mistake):
    graph, message = WRONG[mistake]
    with pytest.raises(DataError, match=rf"(?s)source \(NetworkX graph\).*{message}"):
        read(graph)
