"""Options that keep a part of the graphs."""

from __future__ import annotations

import pytest
from conftest import write
from small_files import E, graph_of, shown, triples_of

from mixtea import DataError, load_task
from mixtea.data.reading import Reading
from mixtea.data.selection import Selection

TTL = f"""@prefix : <{E}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:ann a :Person ; :knows :bob ; :lives :rome ; rdfs:label "Ann" .
:bob a :Person, :Poet ; :knows :x .
:rome a :City ; :size 3 .
:zoe a :Person .
:x :near <http://other.org/y> .
"""


def kept(tmp_path, **options):
    """The graph that is left, in short."""
    graph = graph_of(tmp_path, {"g.ttl": TTL}, selection=Selection(Reading(**options)))
    short = [" ".join(graph.shorten(word).rpartition(":")[2] for word in triple) for triple in triples_of(graph)]
    return [graph.shorten(label).rpartition(":")[2] for label in graph.ids], short, graph


def test_without_options_all_stays(tmp_path):
    entities, triples, graph = kept(tmp_path)
    assert len(entities) == 9 and len(triples) == 9 and graph.n_attribute_triples == 2 and len(graph.left_out) == 0


@pytest.mark.parametrize("word", [":Person", E + "Person"])
def test_entities_of_a_type_and_the_triples_between_them(word, tmp_path):
    entities, triples, graph = kept(tmp_path, keep_types=[word])
    assert entities == ["ann", "bob", "zoe"] and triples == ["ann knows bob"]
    assert graph.n_attribute_triples == 1 and shown(graph) == {E + "ann": "Ann"}
    assert graph.relations.tolist() == [E + "knows"] and E + "rome" in graph.left_out


def test_any_of_several_types(tmp_path):
    entities, triples, _ = kept(tmp_path, keep_types=(":Poet", ":City"))
    assert entities == ["bob", "rome"] and triples == []


def test_predicates(tmp_path):
    entities, triples, graph = kept(tmp_path, keep_predicates=":knows")
    assert triples == ["ann knows bob", "bob knows x"] and entities == ["ann", "bob", "x"]
    assert shown(graph) == {E + "ann": "Ann"} and graph.n_attribute_triples == 0
    entities, triples, graph = kept(tmp_path, drop_predicates=["rdf:type", ":knows"])
    assert (
        triples == ["ann lives rome", "x near http://other.org/y".replace("http:", "")]
        or triples[0] == "ann lives rome"
    )
    assert "zoe" not in entities and "Person" not in entities and graph.n_attribute_triples == 2


def test_types_are_known_though_their_triples_are_dropped(tmp_path):
    entities, triples, _ = kept(tmp_path, keep_types=[":Person"], drop_predicates=["rdf:type"])
    assert entities == ["ann", "bob"] and triples == ["ann knows bob"]


@pytest.mark.parametrize("word", ["http://e.org/", ":"])
def test_namespaces(word, tmp_path):
    entities, triples, graph = kept(tmp_path, namespaces=[word])
    assert len(triples) == 8 and graph.left_out.tolist() == ["http://other.org/y"] and "x" in entities


def task_of(tmp_path, links, target="A\tr\tB\nB\tr\tC\n", **options):
    write(tmp_path, {"s.ttl": TTL, "t.tsv": target, "l.tsv": links})
    own = dict(source=tmp_path / "s.ttl", target=tmp_path / "t.tsv", links=tmp_path / "l.tsv")
    return load_task(**own, reading=Reading(**options))


def test_links_of_what_is_left_out_are_left_out_with_a_warning(tmp_path):
    links = f"{E}ann\tA\n{E}bob\tB\n{E}rome\tC\n"
    task = task_of(tmp_path, links, keep_types=[":Person"])
    assert len(task.train) + len(task.valid) == 2
    assert task.warnings == (
        "--keep-types: one graph has no rdf:type at all and stays whole",
        f"{tmp_path / 'l.tsv'}: 1 link left out, of entities that the options leave out",
    )


def test_words_that_meet_nothing(tmp_path):
    task = task_of(tmp_path, f"{E}ann\tA\n", drop_predicates=[":knos", "r"], target="A\tr\tB\nA\ts\tC\n")
    assert task.warnings == ("--drop-predicates :knos: neither graph has it",)
    assert task.target.relations.tolist() == ["s"]


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(keep_predicates=[":knows"]), "t.tsv: 1 problem\n  nothing is left of the graph with these options"),
        (dict(drop_predicates=[":lives", ":size", "rdf:type"]), "no link is left with these options"),
        (dict(keep_types=[":Nobody"]), "s.ttl: 1 problem\n  nothing is left of the graph"),
    ],
)
def test_nothing_left_is_a_problem(options, message, tmp_path):
    with pytest.raises(DataError) as caught:
        task_of(tmp_path, f"{E}rome\tA\n", **options)
    assert message in str(caught.value)


def test_what_is_said_of_entities_goes_with_them(tmp_path):
    _, _, graph = kept(tmp_path, keep_types=[":City"])
    assert [graph.attributes_of(i) for i in range(graph.n_entities)] == [
        [(E + "size", "3", "", "http://www.w3.org/2001/XMLSchema#integer")]
    ]
    assert len(graph.labels) == 0 and graph.attributes.predicate.texts() == [E + "size"]
    _, _, graph = kept(tmp_path, drop_predicates=[":size"])
    assert [value for i in range(graph.n_entities) for _, value, *_ in graph.attributes_of(i)] == ["Ann"]
