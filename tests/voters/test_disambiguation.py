"""What tells things of like names apart: brackets and types."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import said_graph

from mixtea.voters.disambiguation import DIFFERENT, MISSING, SHARED, same_kind, shared_types, words_in_brackets

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def kind_of(told_by, one, other):
    found = told_by(said_graph([one, "nobody"]), said_graph(["nobody", other], prefix="t"))
    return int(same_kind(*found, np.array([0]), np.array([1]))[0])


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("Ulysses (film)", "Ulysses (1953 film)", SHARED), ("Ulysses (film)", "Ulysses (album)", DIFFERENT),
        ("Ulysses (film)", "Ulysses", MISSING), ("Ulysses", "Ulysses", MISSING),
        ("Ulysses ()", "Ulysses (film)", MISSING),
        ("Ulysses (FILM)", "Ulysses [film]", SHARED), ("北京（电影）", "北京 (电影)", SHARED),
        ("A (b) (c)", "D (c)", SHARED),
        ("(((film", "x (film)", MISSING),
    ],
)  # fmt: skip
def test_words_in_brackets(one, other, kind):
    assert kind_of(words_in_brackets, one, other) == kind


def typed(prefix, types):
    """Entities x0, x1, ... of these types, which are entities too."""
    ids = [f"{prefix}{i}" for i in range(len(types))] + sorted({kind for kind in types if kind})
    triples = [(i, 0, ids.index(kind)) for i, kind in enumerate(types) if kind]
    graph = said_graph([""] * len(ids), triples=triples, ids=np.array(ids, dtype=object))
    return replace(graph, relations=np.array([RDF_TYPE], dtype=object))


def test_types_that_both_graphs_know():
    source, target = typed("s", ["Class", "Property", "Own", ""]), typed("t", ["Class", "Property"])
    found = shared_types(source, target)
    rows, columns = np.indices((4, 2))
    kinds = same_kind(*found, rows.ravel(), columns.ravel()).reshape(4, 2)
    assert kinds.tolist() == [[SHARED, DIFFERENT], [DIFFERENT, SHARED], [MISSING, MISSING], [MISSING, MISSING]]


def test_a_class_that_is_called_an_individual_too_is_a_class():
    def graph(prefix, types):
        ids = [f"{prefix}{i}" for i in range(len(types))] + ["owl:Class", "owl:NamedIndividual", "ex:Own" + prefix]
        triples = [(i, 0, len(types) + kind) for i, kinds in enumerate(types) for kind in kinds]
        graph = said_graph([""] * len(ids), triples=triples, ids=np.array(ids, dtype=object))
        return replace(graph, relations=np.array([RDF_TYPE], dtype=object))

    found = shared_types(graph("s", [[0], [1, 2]]), graph("t", [[0, 1], [1]]))
    kinds = same_kind(*found, *np.indices((2, 2)).reshape(2, -1)).reshape(2, 2)
    assert kinds.tolist() == [[SHARED, DIFFERENT], [DIFFERENT, SHARED]]


def test_graphs_without_any_kind():
    empty = said_graph([""]), said_graph(["", ""], prefix="t")
    for told_by in (words_in_brackets, shared_types):
        found = told_by(*empty)
        assert found[0].shape[0] == 1 and found[1].shape[0] == 2
        assert same_kind(*found, np.array([0]), np.array([1])).tolist() == [MISSING]
