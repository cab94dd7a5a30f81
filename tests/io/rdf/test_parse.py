"""What RDF becomes: relation triples, attributes, blank nodes, labels, prefixes; and a handful of W3C's rules."""

from __future__ import annotations

import pytest
from conftest import write
from small_files import E, graph_of, shown, triples_of

from mixtea.errors import Problems
from mixtea.graph import prefixes
from mixtea.io.filter import AppliedFilter, GraphFilter
from mixtea.io.load_graph import read_graph
from mixtea.io.rdf.parse import Statements
from mixtea.io.safe.limits import UnreadableError

HEAD = f"""@prefix : <{E}> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
"""


def problems_of(tmp_path, name, content):
    write(tmp_path, {name: content})
    problems = Problems(strict=True)
    read_graph(tmp_path / name, problems)
    return [(problem.line, problem.what) for problem in problems.found]


def test_literals_are_attributes_and_their_subjects_entities(tmp_path):
    graph = graph_of(tmp_path, {"g.ttl": HEAD + ":a :r :b ; :age 3 . :lonely :age 4 ."})
    assert graph.ids.tolist() == [E + "a", E + "b", E + "lonely"] and graph.n_attribute_triples == 2
    assert graph.relations.tolist() == [E + "r"] and graph.isolated().tolist() == [False, False, True]


def test_types_are_relation_triples(tmp_path):
    graph = graph_of(tmp_path, {"g.ttl": HEAD + ":a a :Person ."})
    assert [graph.shorten(word) for word in triples_of(graph)[0]] == [":a", "rdf:type", ":Person"]


def test_blank_nodes_of_two_files_are_different_and_no_entities(tmp_path):
    first, second = f"_:x <{E}r> <{E}b> .\n<{E}c> <{E}s> _:x .\n", f"<{E}a> <{E}r> _:x .\n_:x <{E}r> <{E}d> .\n"
    graph = graph_of(tmp_path, {"1.nt": first, "2.nt": second})
    assert triples_of(graph) == [(E + "c", E + "r", E + "b"), (E + "a", E + "r", E + "d")]


NAMED = HEAD + ':a rdfs:label "Hund"@de, "dog"@en-GB, "chien"@fr ; skos:prefLabel "hound"@en . :b foaf:name "B" .'


@pytest.mark.parametrize(
    "languages, name",
    [(("en", ""), "hound"), (("de",), "Hund"), (("xx",), "Hund"), (("fr", "de"), "chien"), (("EN-gb",), "dog")],
)
def test_labels_by_language(languages, name, tmp_path):
    graph = graph_of(tmp_path, {"g.ttl": NAMED}, graph_filter=AppliedFilter(GraphFilter(languages=languages)))
    assert shown(graph) == {E + "a": name, E + "b": "B"} and graph.display(0) == name


def test_the_choice_of_a_label_does_not_depend_on_the_order(tmp_path):
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = [f'<{E}a> {label} "{text}" .\n' for text in ("b", "a", "c")]
    for number in range(3):
        graph = graph_of(tmp_path, {f"{number}.nt": lines[number], "rest.nt": "".join(lines)})
        assert shown(graph) == {E + "a": "a"}
    assert shown(graph_of(tmp_path, {"g.nt": f'<{E}a> {label} "  " .\n'})) == {}


def test_display_shortens_by_the_longest_prefix(tmp_path):
    head = f"@prefix e: <{E}> . @prefix f: <{E}f/> . "
    graph = graph_of(tmp_path, {"g.ttl": head + "e:f\\/x e:r <http://dbpedia.org/resource/Berlin> ."})
    assert [graph.display(i) for i in range(2)] == ["f:x", "dbr:Berlin"]
    assert graph.prefixes["e"] == E and graph.prefixes["owl"].endswith("owl#")
    assert prefixes.shorten(E, {"e": E}) == E and prefixes.shorten("plain", graph.prefixes) == "plain"


RDF_XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:o="http://e.org/o/" xmlns="http://e.org/"'
)
DESCRIPTION = '<rdf:Description rdf:about="a"><o:r rdf:resource="b"/></rdf:Description></rdf:RDF>'


def test_prefixes_of_rdf_xml(tmp_path):
    graph = graph_of(tmp_path, {"g.rdf": f'{RDF_XML} xml:base="{E}">{DESCRIPTION}'})
    assert (graph.display(0), graph.shorten(str(graph.relations[0]))) == (":a", "o:r")


A, R, B = (f"<{E}{name}>" for name in "arb")
WRONG = {
    "relative in Turtle": ("g.ttl", f"{A} {R} {B} .\n{A} {R} <b> .\n", 2, "not Turtle: a relative IRI without a base"),
    "relative in RDF/XML": ("g.rdf", f"{RDF_XML}>\n{DESCRIPTION}", 2, "not RDF/XML: a relative IRI without a base"),
    "no dot": ("g.nt", f"# a comment\n{A} {R} {B}\n{A} {R} {B} .\n", 2, "not N-Triples: Quads must be"),
    "no object": ("g.nt", f"{A} {R} {B} .\n{A} {R} \n", 2, "not N-Triples: line jumps"),
    "an open quote": ("g.nt", f'{A} {R} "x\n', 1, "not N-Triples: Unexpected end of file (column 35)"),
    "a number": ("g.nq", f"{A} {R} 5 .\n", 1, "not N-Quads: "),
    "half a triple": ("g.trig", f"{A} {{\n{A} {R} }}\n", 2, "not TriG: "),
    "half a tag": ("g.rdf", "<rdf:RDF\n", 1, "not RDF/XML: "),
    "another syntax": ("g.owl", "Ontology(<http://e.org/o>)\n", None, "OWL functional syntax, which is not read"),
    "not UTF-8": ("g.ttl", f"{A} {R} {B} .\n".encode() + b'<http://e.org/\xff> .', 2, "not Turtle: "),
    "nothing": ("g.nt", "", None, "no statement: the N-Triples file is empty"),
    "no XML": ("g.rdf", "", None, "no statement: the RDF/XML file is empty"),
    "RDF 1.2": ("g.ttl", f"{A} {R} {B} .\n\n{A} {R}\n<<( {A} {R} {B} )>> .", 4, "1 statement about a triple (RDF 1.2)"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_with_its_line(case, tmp_path):
    name, content, line, what = WRONG[case]
    [(found_line, found_what)] = problems_of(tmp_path, name, content)
    assert found_line == line and found_what.startswith(what)


def test_no_iri_is_made_from_the_place_of_the_file(tmp_path):
    graph = graph_of(tmp_path, {"g.ttl": f"@base <{E}> . <a> <r> <> ."})
    assert triples_of(graph) == [(E + "a", E + "r", E)]


GOOD = {  # after W3C's test suites: the statements that a file must give
    "numbers": ("Turtle", "<http://e/a> <http://e/p> 1 , 1.0 , 1e0 , true .", 4),
    "nested lists": ("Turtle", "<http://e/a> <http://e/p> ( ( 1 ) 2 ) .", 7),
    "local names": ("Turtle", "@prefix p: <http://e/> . p:a.b p:c\\~d p:%20 .", 1),
    "long literals": ("Turtle", '<http://e/a> <http://e/p> """x"y\n""" .', 1),
    "escapes": ("N-Triples", '<http://e/\\u00E9> <http://e/p> "\\t\\U0001F600" . # comment', 1),
    "graphs": ("TriG", "{ <http://e/a> <http://e/p> 1 } GRAPH _:g { [] <http://e/p> 2 }", 2),
    "a graph's name": ("N-Quads", "<http://e/a> <http://e/p> _:b <http://e/g> .", 1),
    "containers": ("RDF/XML", f"{RDF_XML}><rdf:Seq><rdf:li>1</rdf:li><rdf:li>2</rdf:li></rdf:Seq></rdf:RDF>", 3),
}  # fmt: skip
BAD = {
    "a literal as subject": ("Turtle", "'x' <http://e/p> 1 ."),
    "a variable": ("Turtle", "?x <http://e/p> 1 ."),
    "an unknown prefix": ("TriG", "p:a p:b p:c ."),
    "a broken escape": ("N-Triples", '<http://e/a> <http://e/p> "\\x" .'),
    "a language without letters": ("N-Triples", '<http://e/a> <http://e/p> "x"@1 .'),
    "a space in an IRI": ("N-Quads", "<http://e/a b> <http://e/p> <http://e/c> ."),
    "a name that must not be": ("RDF/XML", f"{RDF_XML}><rdf:li/></rdf:RDF>"),
}  # fmt: skip


@pytest.mark.parametrize("case", GOOD)
def test_statements_after_w3c(case, tmp_path):
    kind, content, n = GOOD[case]
    write(tmp_path, {"g": content})
    assert len(list(Statements(tmp_path / "g", kind))) == n


@pytest.mark.parametrize("case", BAD)
def test_refusals_after_w3c(case, tmp_path):
    kind, content = BAD[case]
    write(tmp_path, {"g": content})
    with pytest.raises(UnreadableError, match=f"line 1: not {kind}"):
        list(Statements(tmp_path / "g", kind))


LITERALS = (
    HEAD
    + """@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:a :p "NA", "null", "1e5", "007", "a\\ttab", "\\"q\\"", "NA" ; :q "x"@en-GB, "x"@de, 7, "2020"^^xsd:gYear,
    "s"^^xsd:string ."""
)


def test_literals_are_kept_with_language_and_datatype(tmp_path):
    graph = graph_of(tmp_path, {"g.ttl": LITERALS})
    xsd = "http://www.w3.org/2001/XMLSchema#"
    plain = [(E + "p", value, "", "") for value in ("NA", "null", "1e5", "007", "a\ttab", '"q"')]
    typed = [
        ("x", "en-gb", ""),
        ("x", "de", ""),
        ("7", "", xsd + "integer"),
        ("2020", "", xsd + "gYear"),
        ("s", "", ""),
    ]
    assert graph.attributes_of(0) == plain + [(E + "q", *literal) for literal in typed]
    assert graph.files[0].n_attribute_triples == 12 and graph.n_attribute_triples == 11


ALTERNATIVES = (
    HEAD
    + """@prefix schema: <http://schema.org/> .
@prefix sdo: <https://schema.org/> .
@prefix obo: <http://www.geneontology.org/formats/oboInOwl#> .
:a skos:altLabel "cur"@en ; schema:alternateName "tyke" ; sdo:alternateName "mutt" ; rdfs:label "Hund"@de, "Hund" ;
   skos:prefLabel "Hund"@de ; obo:hasExactSynonym "dog"@en ; obo:hasSynonym "pooch" ; obo:hasRelatedSynonym "puppy" ;
   :note "no label" . :b skos:altLabel "only"@fr . :c :note "x" ."""
)


def test_all_labels_are_kept_with_their_languages(tmp_path):
    graph = graph_of(tmp_path, {"g.ttl": ALTERNATIVES})
    assert graph.labels_of(0) == [
        ("Hund", ""), ("Hund", "de"), ("cur", "en"), ("dog", "en"), ("tyke", ""), ("mutt", ""), ("pooch", ""),
        ("puppy", ""),
    ]  # fmt: skip
    assert graph.labels_of(1) == [("only", "fr")] and graph.labels_of(2) == [] and graph.label(2) is None
    assert [graph.display(i) for i in range(3)] == ["Hund", "only", ":c"]
    assert graph.n_attribute_triples == 12  # labels are attribute triples too


TITLES = (
    HEAD
    + """@prefix dc: <http://purl.org/dc/elements/1.1/> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix obo: <http://purl.obolibrary.org/obo/> .
@prefix oboInOwl: <http://www.geneontology.org/formats/oboInOwl#> .
:a foaf:nick "nick" ; skos:hiddenLabel "hidden" ; dcterms:alternative "alternative" ; obo:IAO_0000118 "term" ;
   obo:IAO_0000589 "unique" ; dc:title "title" ; dcterms:title "full title" ; oboInOwl:hasBroadSynonym "wider" ;
   oboInOwl:hasNarrowSynonym "narrower" ; oboInOwl:hasExactSynonym "exact" ."""
)


def test_titles_and_synonyms_are_labels_after_the_usual_ones(tmp_path):
    found = ["full title", "title", "unique", "alternative", "term", "exact", "nick", "hidden"]
    assert [text for text, _ in graph_of(tmp_path, {"g.ttl": TITLES}).labels_of(0)] == found
    named = TITLES + ' :a rdfs:label "der Name"@de .'
    assert [text for text, _ in graph_of(tmp_path, {"g.ttl": named}).labels_of(0)] == ["der Name", *found]


def test_labels_and_literals_of_several_files_are_one_set(tmp_path):
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    first = f'<{E}a> {label} "A"@en .\n<{E}b> <{E}p> "1" .\n'
    second = f'<{E}b> <{E}p> "1" .\n<{E}b> {label} "B" .\n<{E}a> {label} "A"@en .\n<{E}b> <{E}p> <{E}a> .\n'
    graph = graph_of(tmp_path, {"1.nt": first, "2.nt": second})
    assert graph.labels_of(0) == [("A", "en")] and graph.labels_of(1) == [("B", "")]
    assert [value for _, value, *_ in graph.attributes_of(1)] == ["1", "B"] and graph.n_attribute_triples == 3
    assert triples_of(graph) == [(E + "b", E + "p", E + "a")]


def test_relations_keep_their_order_where_an_earlier_file_has_one_for_literals(tmp_path):
    files = {"1.nt": f'<{E}a> <{E}p> "1" .\n', "2.nt": f"<{E}a> <{E}q> <{E}b> .\n<{E}a> <{E}p> <{E}b> .\n"}
    assert graph_of(tmp_path, files).relations.tolist() == [E + "p", E + "q"]
