"""Two states of a graph, entity by entity."""

from __future__ import annotations

from conftest import said_graph

from mixtea.graph.difference import difference


def test_who_is_new_changed_and_gone():
    old = said_graph(["Arbor", "Brin", "Calu", "Dorma"], [(0, "age", "1"), (1, "age", "2")])
    new = said_graph(["Arbor", "Brin", "Kalu", "", "Elbi"], [(0, "age", "1"), (1, "age", "3")])
    found = difference(old, new)
    assert found.place.tolist() == [0, 1, 2, 3] and found.touched.tolist() == [False, True, True, True, True]
    assert found.n_gone == 0 and found.share == 1.0 and found.untouched.tolist() == [0, -1, -1, -1]
    back = difference(new, old)
    assert back.place.tolist() == [0, 1, 2, 3, -1] and (back.n_gone, back.share) == (1, 0.8)


def test_triples_are_of_both_their_ends():
    old = said_graph(["", "", "", ""], triples=[(0, 0, 1), (2, 0, 3)])
    new = said_graph(["", "", "", ""], triples=[(0, 0, 2), (2, 0, 3)])
    assert difference(old, new).touched.tolist() == [True, True, True, False]
