"""Ontologies as a person reads them: restrictions, lists and texts are walked through."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from small_files import E, graph_of, shown, triples_of

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
import anatomy

from mixtea import DataError
from mixtea.graph.prefixes import BUILT_IN
from mixtea.io.rdf.blank_nodes import collapsed_predicate, collapsed_text_predicate

HEAD = "".join(f"@prefix {p}: <{BUILT_IN[p]}> .\n" for p in ("rdf", "rdfs", "owl", "skos", "skosxl", "oboInOwl", "xsd"))
HEAD += f"@prefix : <{E}> .\n"


def read(tmp_path, text, name="g.ttl"):
    graph = graph_of(tmp_path, {name: HEAD + text})
    triples = {" ".join(graph.shorten(end) for end in triple).replace(":", "") for triple in triples_of(graph)}
    return graph, triples


EXPRESSIONS = {
    "some": (":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :C ] .", "A p C"),
    "only": (":A rdfs:subClassOf [ owl:onProperty :p ; owl:allValuesFrom :C ] .", "A p C"),
    "value": (":A rdfs:subClassOf [ owl:onProperty :p ; owl:hasValue :i ] .", "A p i"),
    "at most": (":A rdfs:subClassOf [ owl:onProperty :p ; owl:maxQualifiedCardinality 1 ; owl:onClass :C ] .", "A p C"),
    "equivalent": (":A owl:equivalentClass [ owl:onProperty :p ; owl:someValuesFrom :C ] .", "A p C"),
    "type": (":x a [ owl:onProperty :p ; owl:hasValue :y ] .", "x p y"),
    "and": (
        ":A owl:equivalentClass [ owl:intersectionOf ( :B [ owl:onProperty :p ; owl:someValuesFrom :C ] ) ] .",
        "A rdfssubClassOf B", "A p C",
    ),
    "and, without a node": (":A owl:intersectionOf ( :B :C ) .", "A rdfssubClassOf B", "A rdfssubClassOf C"),
    "or": (":A rdfs:subClassOf [ owl:unionOf ( :B :C ) ] .", "A owlunionOf B", "A owlunionOf C"),
    "or, of a filler": (
        ":A rdfs:subClassOf [ owl:onProperty :p ; owl:someValuesFrom [ owl:unionOf ( :B :C ) ] ] .", "A p B", "A p C",
    ),
    "or, of a domain": (":p rdfs:domain [ a owl:Class ; owl:unionOf ( :B :C ) ] .", "p rdfsdomain B", "p rdfsdomain C"),
    "inside another": (
        ":A rdfs:subClassOf [ owl:onProperty :p ; owl:someValuesFrom [ owl:onProperty :q ; owl:someValuesFrom :C ] ] .",
        "A q C",
    ),
    "the other way": (
        ":A rdfs:subClassOf [ owl:onProperty [ owl:inverseOf :p ] ; owl:someValuesFrom :C ] .", "C p A",
    ),
    "not": (":A rdfs:subClassOf [ owl:complementOf :B ] .", "A owlcomplementOf B"),
    "one of": (":A owl:equivalentClass [ owl:oneOf ( :x :y ) ] .", "A owloneOf x", "A owloneOf y"),
    "a chain": (":p owl:propertyChainAxiom ( :q :r ) .", "p owlpropertyChainAxiom q", "p owlpropertyChainAxiom r"),
    "an inverse": (":p rdfs:subPropertyOf [ owl:inverseOf :q ] .", "p owlinverseOf q"),
    "a list": (":paper :author ( :a :b ) .", "paper author a", "paper author b"),
    "a bag": (":paper :author [ a rdf:Bag ; rdf:_1 :a ; rdf:_2 :b ] .", "paper author a", "paper author b"),
    "data": (":a :address [ a :Address ; :city :Rome ] .", "a city Rome"),
    "one node of two": (":a :address _:x . :b :address _:x . _:x :city :Rome .", "a city Rome", "b city Rome"),
    "stated twice": (":A rdfs:subClassOf _:r , _:r . _:r owl:onProperty :p ; owl:someValuesFrom :C , :C .", "A p C"),
    "an axiom": (
        ":A :p :C . [] a owl:Axiom ; owl:annotatedSource :A ; owl:annotatedProperty :p ; owl:annotatedTarget :C .",
        "A p C",
    ),
    "an axiom of a node": (
        ":A rdfs:subClassOf _:r . _:r owl:onProperty :p ; owl:someValuesFrom :C . [] owl:annotatedSource :A ; "
        "owl:annotatedProperty rdfs:subClassOf ; owl:annotatedTarget _:r .", "A p C",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", EXPRESSIONS)
def test_what_lies_behind_a_node_is_said_of_the_entity(case, tmp_path):
    text, *expected = EXPRESSIONS[case]
    graph, triples = read(tmp_path, text)
    assert triples == set(expected) and graph.n_triples == len(expected)
    ends = {end for triple in expected for end in triple.split(" ")[::2]}
    assert {name.removeprefix(E) for name in graph.ids} == ends


NOTHING = {
    "disjoint": ":A owl:disjointWith [ owl:onProperty :p ; owl:someValuesFrom :C ] .",
    "a domain": ":q rdfs:domain [ owl:onProperty :p ; owl:someValuesFrom :C ] .",
    "not in a domain": ":q rdfs:domain [ owl:complementOf :C ] .",
    "a number": ":A rdfs:subClassOf [ owl:onProperty :p ; owl:cardinality 1 ] .",
    "no property": ":A rdfs:subClassOf [ owl:onProperty [ :x :y ] ; owl:someValuesFrom :C ] .",
    "all different": "[] a owl:AllDisjointClasses ; owl:members ( :A :B ) .",
    "half an axiom": "[] a owl:Axiom ; owl:annotatedSource :A ; owl:annotatedTarget :B .",
    "a circle": ":a :r _:x . _:x :r _:y . _:y :r _:x .",
}


@pytest.mark.parametrize("case", NOTHING)
def test_what_would_not_be_true_is_not_said(case, tmp_path):
    graph, triples = read(tmp_path, ":x :r :y . " + NOTHING[case])
    assert triples == {"x r y"} and not any(file.notes for file in graph.files)


TEXTS = {
    "a synonym": ':A oboInOwl:hasExactSynonym [ a oboInOwl:Synonym ; rdfs:label "heart" ] .',
    "one with an IRI": ':A oboInOwl:hasRelatedSynonym :genid1 . :genid1 a oboInOwl:Synonym ; rdfs:label "heart" .',
    "SKOS-XL": ':A skosxl:prefLabel :l1 . :l1 a skosxl:Label ; skosxl:literalForm "heart" .',
    "a value": ':A rdfs:label [ rdf:value "heart" ] .',
    "an axiom": '[] a owl:Axiom ; owl:annotatedSource :A ; owl:annotatedProperty oboInOwl:hasExactSynonym ; '
                'owl:annotatedTarget "heart" ; oboInOwl:hasDbXref "X:1" .',
}  # fmt: skip


@pytest.mark.parametrize("case", TEXTS)
def test_nodes_that_hold_a_text_are_labels(case, tmp_path):
    graph, triples = read(tmp_path, ":A :r :B . " + TEXTS[case])
    assert shown(graph) == {E + "A": "heart"} and triples == {"A r B"}


def test_nodes_that_hold_a_definition_are_values(tmp_path):
    graph, _ = read(tmp_path, ':A a :B ; oboInOwl:hasDefinition [ rdfs:label "A pump"@en ; oboInOwl:hasDbXref "X" ] .')
    found = [(graph.shorten(predicate), *rest) for predicate, *rest in graph.attributes_of(0)]
    assert sorted(found) == [("oboInOwl:hasDbXref", "X", "", ""), ("oboInOwl:hasDefinition", "A pump", "en", "")]
    graph, _ = read(tmp_path, ':a :knows [ rdfs:label "Bob" ; :age 7 ] ; a [ owl:onProperty :p ; owl:hasValue "x" ] .')
    said = [(graph.shorten(predicate), value) for predicate, value, *_ in graph.attributes_of(0)]
    assert sorted(said) == [(":age", "7"), (":knows", "Bob"), (":p", "x")] and not shown(graph)


def test_an_entity_that_somebody_calls_a_synonym_stays_one(tmp_path):
    graph, triples = read(tmp_path, ':A oboInOwl:hasExactSynonym :B . :B rdfs:label "b" . :C :r :B .')
    assert triples == {"A oboInOwlhasExactSynonym B", "C r B"} and shown(graph) == {E + "B": "b"}


def test_nodes_that_no_entity_leads_to_are_counted(tmp_path):
    graph, triples = read(tmp_path, ':a :r :b . [] :who :a ; :what "x" . [ rdfs:label "y" ] :r [ :s :c ] .')
    assert triples == {"a r b"} and graph.files[0].notes == (
        "3 blank nodes that no entity leads to are left out: without an IRI they cannot be mapped",
    )
    with pytest.raises(DataError, match=r"nothing but blank nodes\. Give them IRIs"):
        read(tmp_path, "[] :r [] .")


def test_nodes_that_many_share_do_not_make_a_graph_of_a_few_lines_explode(tmp_path):
    lines = [f":s{i} :r _:x . _:x :r :t{i} .\n" for i in range(2000)]
    with pytest.raises(DataError, match="far more entities than there are statements: beyond the limit max_expansion"):
        read(tmp_path, "".join(lines))
    graph, _ = read(tmp_path, "".join(lines[:200]))
    assert graph.n_triples == 200 * 200


def test_an_ontology_is_what_a_person_counts_in_it(tmp_path):
    graph = graph_of(tmp_path, {"a.owl": anatomy.anatomy(20)})
    assert anatomy.read(graph) == anatomy.counted(20) and graph.isolated().sum() == 2  # the properties
    assert [text for text, _ in graph.labels_of(2)] == ["structure 0", "other name 0", "third name 0"]


def test_what_a_node_means_is_decided_by_three_words():
    some, sub = BUILT_IN["owl"] + "someValuesFrom", BUILT_IN["rdfs"] + "subClassOf"
    assert (
        collapsed_predicate(sub, some, "p") == "p"
        and collapsed_predicate(sub, some) is None
        and collapsed_predicate("r", "s") == "s"
    )
    assert (
        collapsed_text_predicate("r", BUILT_IN["rdfs"] + "label") == "r" and collapsed_text_predicate("r", "s") == "s"
    )
