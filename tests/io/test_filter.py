"""Options that keep a part of the graphs."""

from __future__ import annotations

import pytest
from conftest import write
from small_files import E, graph_of, shown, triples_of

from mixtea import DataError, load_task
from mixtea.io.filter import AppliedFilter, GraphFilter

TTL = f"""@prefix : <{E}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:ann a :Person ; :knows :bob ; :lives :rome ; rdfs:label "Ann" .
:bob a :Person, :Poet ; :knows :x .
:rome a :City ; :size 3 .
:zoe a :Person .
:x :near <http://other.org/y> .
"""


def kept(tmp_path, **options):
    """The graph that is left, in short."""
    graph = graph_of(tmp_path, {"g.ttl": TTL}, graph_filter=AppliedFilter(GraphFilter(**options)))
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
    return load_task(**own, graph_filter=GraphFilter(**options))


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


ONTOLOGY = f"""@prefix : <{E}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<{E}o> a owl:Ontology ; rdfs:comment "about pets" ; owl:imports <http://other.org/1>, <http://other.org/2> .
:Dog a owl:Class ; rdfs:subClassOf :Pet ; rdfs:isDefinedBy <{E}o> .
:Cat a owl:Class ; rdfs:subClassOf owl:Thing .
:owner a owl:ObjectProperty ; rdfs:domain :Pet ; rdfs:range :Person . :age rdfs:range xsd:integer .
:rex a :Dog, owl:NamedIndividual ; :owner :ann ; :age 3 .
rdfs:label a owl:AnnotationProperty .
"""


def ontology(tmp_path, **options):
    graph = graph_of(tmp_path, {"o.ttl": ONTOLOGY}, graph_filter=AppliedFilter(GraphFilter(**options)))
    return graph, [str(name).removeprefix(E) for name in graph.ids]


def test_words_of_owl_are_values_and_what_a_file_says_of_itself_is_not_of_the_graph(tmp_path):
    graph, ids = ontology(tmp_path)
    assert sorted(ids) == ["Cat", "Dog", "Person", "Pet", "age", "ann", "owner", "rex"]
    assert graph.kind_counts() == {"classes": 4, "properties": 2, "individuals": 2}
    said = [(graph.shorten(word), graph.shorten(value)) for word, value, *_ in graph.attributes_of(ids.index("Cat"))]
    assert said == [("rdf:type", "owl:Class"), ("rdfs:subClassOf", "owl:Thing")]
    [file] = graph.files
    assert file.ontology == E + "o" and file.notes == (
        "it imports http://other.org/1 and 1 more: nothing is fetched. If it matters, name its file as one more of "
        "this side.",
    )


def test_a_file_about_the_words_of_owl_keeps_them(tmp_path):
    text = "@prefix owl: <http://www.w3.org/2002/07/owl#> . owl:Thing a owl:Class ."
    assert graph_of(tmp_path, {"owl.ttl": text}).n_entities == 2


@pytest.mark.parametrize(
    "kinds, left",
    [
        ("classes", ["Dog", "Pet", "Cat", "Person"]),
        ("classes, properties", ["Dog", "Pet", "Cat", "owner", "Person", "age"]),
        (["properties"], ["owner", "age"]),
        (("individuals",), ["rex", "ann"]),
    ],
)
def test_kinds_of_entities(kinds, left, tmp_path):
    graph, ids = ontology(tmp_path, entities=kinds)
    assert sorted(ids) == sorted(left)
    if "rex" in ids:  # of which type it is stays known
        values = [value for word, value, *_ in graph.attributes_of(ids.index("rex")) if word.endswith("#type")]
        assert E + "Dog" in values


def test_kinds_that_are_unknown_or_that_nobody_tells(tmp_path):
    with pytest.raises(DataError, match=r"entities is 'things'.*Choose some of classes, properties, individuals"):
        GraphFilter(entities="classes,things")
    write(tmp_path, {"o.ttl": ONTOLOGY, "t.tsv": "A\tr\tB\n", "l.tsv": f"{E}Dog\tA\n"})
    own = dict(source=tmp_path / "o.ttl", target=tmp_path / "t.tsv", links=tmp_path / "l.tsv")
    task = load_task(**own, graph_filter=GraphFilter(entities="classes"), attributes=False)
    assert task.target.n_entities == 2 and "4 entities (4 classes), 1 relations" in repr(task)
    assert task.warnings[0].startswith(f"{tmp_path / 'o.ttl'}: it imports")
    assert task.warnings[1] == "--entities: one graph has no classes or properties and stays whole"
    assert task.source.n_attribute_triples == 2  # of their types, which are no values


def test_inspect_says_which_kinds_there_are(tmp_path, mixtea):
    write(tmp_path, {"o.ttl": ONTOLOGY, "t.tsv": "A\tr\tB\n", "l.tsv": f"{E}Dog\tA\n"})
    own = ("--source", tmp_path / "o.ttl", "--target", tmp_path / "t.tsv", "--links", tmp_path / "l.tsv")
    code, out, _ = mixtea("inspect", *own)
    assert code == 0 and "entities: source 4 classes, 2 properties, 2 individuals (all are mapped, unless" in out
    code, out, _ = mixtea("inspect", *own, "--entities", "classes")
    assert code == 0 and "entities: source 4 classes (" in out
