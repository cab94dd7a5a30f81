"""What can be read about entities, as two texts each."""

from __future__ import annotations

from small_files import graph_of

from mixtea.text import names as texts
from mixtea.text.names import entity_texts

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
        "http://e.org/y": ("y", "Without a label. and defined twice"),
        "http://e.org/New_York": ("New York", ""),
        "http://e.org/Q64": ("", ""),
    }


def test_codes_are_no_names(tmp_path):
    ids = ("1fd949e4-a62b-4361-81b7-46bcbd2c8faa", "GO_0008150", "hasAuthor")
    graph = graph_of(
        tmp_path, {"a.nt": "".join(f"<http://e.org/{one}> <http://e.org/p> <http://e.org/o> .\n" for one in ids)}
    )
    assert [entity_texts(graph)[list(graph.ids).index(f"http://e.org/{one}")][0] for one in ids] == [
        "",
        "",
        "has Author",
    ]


def test_a_long_text_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "MAX_TEXT_LENGTH", 12)
    assert ("Harlem. Haar", "A quarter") in entity_texts(graph_of(tmp_path, {"a.ttl": TURTLE}))
