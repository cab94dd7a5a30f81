"""The IRI of an ontology: as its file declares it."""

from __future__ import annotations

import pytest
from small_files import graph_of

OWL = "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix : <http://a/> .\n"


@pytest.mark.parametrize(
    ("text", "iri"),
    [
        (":o a owl:Ontology . :b a owl:Class .", "http://a/o"),
        (":o owl:imports :p . :p a owl:Ontology . :q a owl:Ontology . :b a owl:Class .", "http://a/p"),
        ("[] a owl:Ontology . :b a owl:Class .", ""),
        (":o :mentions owl:Ontology .", ""),
        (":o a owl:Class .", ""),
    ],
)
def test_the_first_that_is_declared(text, iri, tmp_path):
    assert graph_of(tmp_path, {"a.ttl": OWL + text}).iri == iri
