"""rdflib graphs: what a file with the same statements would be."""

from __future__ import annotations

import pytest
import rdflib
from rdflib.namespace import OWL

from mixtea import DataError, load_task

TURTLE = """@prefix : <http://a.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Rome :in :Italy ; rdfs:label "Rome"@en, "line\\nbreak \\"quoted\\""@it ; :people 28 ; :note "x" .
:Rome :seen [ :by _:somebody ] .
"""
TARGET = [("http://b.org/Roma", "in", "http://b.org/Italia")]
LINK = [("http://a.org/Rome", "http://b.org/Roma")]


def graph(text=TURTLE):
    return rdflib.Graph().parse(data=text, format="turtle")


def told(task):
    side = task.source
    triples = {(side.ids[h], side.relations[r], side.ids[t]) for h, r, t in side.triples if "_:" not in side.ids[t]}
    place = side.ids.tolist().index("http://a.org/Rome")
    return triples, sorted(side.labels_of(place)), sorted(side.attributes_of(place)), side.n_entities, side.n_triples


def test_it_is_read_as_a_file_of_it_would_be(tmp_path):
    (tmp_path / "a.ttl").write_text(TURTLE)
    of_file = load_task(source=tmp_path / "a.ttl", target=TARGET, links=LINK)
    of_graph = load_task(source=graph(), target=TARGET, links=LINK)
    assert told(of_graph) == told(of_file)
    assert of_graph.source.prefixes[""] == "http://a.org/" and of_graph.source.files[0].format == "rdflib graph"


def test_a_graph_is_the_same_at_every_reading():
    """rdflib names blank nodes at random, and has its statements in any order."""
    text = TURTLE + ":a :list (1 2 [ :of :b ] 3 4 5 6), (1 2 [ :of :c ] 3 4 5 6) . [] :of :c . [] :of :c ."
    tasks = [load_task(source=graph(text), target=TARGET, links=LINK).source for _ in range(3)]
    assert all(tasks[0].ids.tolist() == other.ids.tolist() for other in tasks)
    assert all((tasks[0].triples == other.triples).all() for other in tasks) and tasks[0].n_entities == 5


def test_of_a_dataset_all_graphs_count():
    dataset = rdflib.Dataset()
    for name in "ab":
        dataset.graph(rdflib.URIRef(f"http://g/{name}")).add(
            (rdflib.URIRef(f"http://a/{name}"), rdflib.URIRef("http://r"), rdflib.URIRef("http://a/c"))
        )
    assert load_task(source=dataset, target=TARGET, links=[("http://a/a", TARGET[0][0])]).source.n_triples == 2


def test_links_are_statements_that_two_are_the_same():
    links = rdflib.Graph()
    links.add((rdflib.URIRef(LINK[0][0]), OWL.sameAs, rdflib.URIRef(LINK[0][1])))
    links.add((rdflib.URIRef(LINK[0][0]), OWL.differentFrom, rdflib.URIRef("http://b.org/Italia")))
    task = load_task(source=graph(), target=TARGET, links=links)
    assert len(task.train) == 1 and "links (rdflib graph): 1 statement is left out" in task.warnings[0]


@pytest.mark.parametrize(
    "subject, message",
    [(rdflib.URIRef("not absolute"), "no RDF .*'not absolute http://r http://c'. Mend the statement"), (None, "empty")],
)
def test_what_is_no_graph_is_named(subject, message, caplog):
    found = rdflib.Graph()
    if subject:
        found.add((subject, rdflib.URIRef("http://r"), rdflib.URIRef("http://c")))
    with pytest.raises(DataError, match=rf"(?s)source \(rdflib graph\): 1 problem.*{message}"):
        load_task(source=found, target=TARGET, links=LINK)


def test_a_predicate_that_is_no_iri_and_a_term_of_another_kind_are_named():
    found = graph()
    found.add((rdflib.URIRef("http://a"), rdflib.Literal("r"), rdflib.URIRef("http://c")))
    with pytest.raises(DataError, match="no RDF"):
        load_task(source=found, target=TARGET, links=LINK)


HALF = "http://x/\ud800"  # a lone surrogate
ROME, NOTE, ITALY = (rdflib.URIRef(f"http://a.org/{name}") for name in ("Rome", "note", "Italy"))


@pytest.mark.parametrize(
    "statement",
    [
        (rdflib.URIRef(HALF), NOTE, ITALY),
        (ROME, rdflib.URIRef(HALF), ITALY),
        (ROME, NOTE, rdflib.URIRef(HALF)),
        (ROME, NOTE, rdflib.Literal(HALF)),
        (ROME, NOTE, rdflib.Literal(HALF, lang="en")),
        (ROME, NOTE, rdflib.Literal("1", datatype=rdflib.URIRef(HALF))),
        (rdflib.BNode(HALF), NOTE, ITALY),
    ],
)
def test_half_a_character_is_named_with_its_statement(statement):
    found = graph().add(statement)
    said = r"half a character in the statement '.*http://x/\\ud800.*'\. No file can hold it"
    with pytest.raises(DataError, match=rf"(?s)source \(rdflib graph\): 1 problem.*{said}"):
        load_task(source=found, target=TARGET, links=LINK)
    with pytest.raises(DataError, match=rf"(?s)links \(rdflib graph\): 1 problem.*{said}"):
        load_task(source=graph(), target=TARGET, links=found)


def test_half_a_character_in_a_prefix_is_named():
    found = graph()
    found.bind("x", HALF)
    with pytest.raises(DataError, match=r"half a character in the prefix 'x: http://x/\\ud800'"):
        load_task(source=found, target=TARGET, links=LINK)


def test_the_limits_hold():
    from mixtea import Limits

    with pytest.raises(DataError, match="beyond the limit max_rows"):
        load_task(source=graph(), target=TARGET, links=LINK, limits=Limits(max_rows=3))


def test_a_temporary_folder_that_is_full_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(DataError, match=r"cannot be written to the temporary folder .* TMPDIR"):
        load_task(source=graph(), target=TARGET, links=LINK)
