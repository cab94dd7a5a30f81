"""What can be read about entities, as two texts each."""

from __future__ import annotations

from small_files import graph_of

from mixtea.data import texts
from mixtea.data.texts import entity_texts, name_of

TURTLE = """@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix obo: <http://purl.obolibrary.org/obo/> .
:x :in :New_York ; rdfs:label "Harlem"@en, "Haarlem"@nl ; rdfs:comment " A quarter " ; :age "7" .
:y :in _:nobody ; skos:definition "Without a label" ; obo:IAO_0000115 "and defined twice" .
:Q64 :in :x .
"""


def test_names_and_what_describes(tmp_path):
    graph = graph_of(tmp_path, {"a.ttl": TURTLE})
    found = dict(zip(graph.ids, entity_texts(graph), strict=True))
    assert found == {
        "http://e.org/x": ("Harlem. Haarlem", "A quarter"),
        "http://e.org/y": ("", "Without a label. and defined twice"),
        "http://e.org/New_York": ("New York", ""),
        "http://e.org/Q64": ("", ""),
    }


def test_a_graph_without_texts_has_names(tiny):
    assert entity_texts(tiny.source) == [("", "")] * 5  # of one letter, which says nothing


def test_a_long_text_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "LONGEST", 12)
    assert ("Harlem. Haar", "A quarter") in entity_texts(graph_of(tmp_path, {"a.ttl": TURTLE}))


def test_names_of_iris():
    assert name_of("http://e.org/a#Caf%C3%A9_Noir") == "Café Noir" and name_of("http://e.org/Rome/") == "Rome"
    assert name_of("Rome") == "Rome" and name_of("_:rome") == name_of("http://e.org/12") == ""
