"""Domains, ranges and superclasses as graphs state them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from mixtea import load_task
from mixtea.graph.entity_table import Attributes
from mixtea.graph.graph import Graph
from mixtea.voters.domain_range import (
    DATE,
    MAX_STEPS_UP,
    NUMBER,
    TEXT,
    TRUTH,
    VALUE_KINDS,
    above_kinds,
    closed,
    property_ends,
)

PREFIXES = """
@prefix : <http://a.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix schema: <http://schema.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
ONTOLOGY = """
:Author rdfs:subClassOf :Person . :Person rdfs:subClassOf :Agent .
:wrote rdfs:domain :Author ; rdfs:range :Paper .
:email rdfs:domain [ owl:unionOf ( :Person :Paper ) ] ; rdfs:range xsd:string .
:born rdfs:range xsd:gYear . :pages rdfs:range xsd:int . :open rdfs:range xsd:boolean . :note rdfs:range rdfs:Literal .
:editor schema:domainIncludes :Paper ; schema:rangeIncludes :Person .
"""


@pytest.fixture
def ontology(tmp_path):
    (tmp_path / "a.ttl").write_text(PREFIXES + ONTOLOGY)
    return load_task(source=tmp_path / "a.ttl", target=tmp_path / "a.ttl", links_from="names").source


def names_of(graph, matrix, row):
    """The last parts of the ids of the columns that are 1."""
    numbers = matrix[list(graph.ids).index(f"http://a.org/{row}")].indices
    return {str(graph.ids[i]).removeprefix("http://a.org/") for i in numbers}


def test_domains_and_ranges_are_classes_also_those_of_a_union(ontology):
    found = property_ends(ontology)
    assert names_of(ontology, found.domain, "wrote") == {"Author"}
    assert names_of(ontology, found.range, "wrote") == {"Paper"}
    assert names_of(ontology, found.domain, "email") == {"Person", "Paper"}
    assert names_of(ontology, found.domain, "editor") == {"Paper"}
    assert names_of(ontology, found.range, "editor") == {"Person"}
    assert found.domain.nnz == 4 and found.range.nnz == 2


def test_ranges_of_values_are_known_by_their_kind(ontology):
    values = property_ends(ontology).values
    rows = {
        str(ontology.ids[i]).removeprefix("http://a.org/"): values[i].indices.tolist() for i in range(values.shape[0])
    }
    some = {name: kinds for name, kinds in rows.items() if kinds}
    assert some == {"email": [TEXT], "born": [DATE], "pages": [NUMBER], "open": [TRUTH]}  # a literal may be anything


def test_classes_above_a_class_are_found_over_several_steps(ontology):
    above = property_ends(ontology).above
    assert names_of(ontology, above, "Author") == {"Author", "Person", "Agent"}
    assert names_of(ontology, above, "Agent") == {"Agent"}


def test_predicates_may_be_written_with_a_prefix():
    ids = np.array(["Person", "wrote"], dtype=object)
    attributes = Attributes.from_columns([1], ["rdfs:range"], ["xsd:date"])
    graph = Graph(ids, np.array(["rdfs:domain"], dtype=object), np.array([[1, 0, 0]]), attributes=attributes)
    found = property_ends(graph)
    assert found.domain.toarray().tolist() == [[0, 0], [1, 0]] and found.values[1].indices.tolist() == [DATE]


def test_a_graph_without_properties_has_no_ends():
    graph = Graph(np.array(["a", "b"], dtype=object), np.array(["domain"], dtype=object), np.array([[0, 0, 1]]))
    assert [matrix.nnz for matrix in property_ends(graph)] == [0, 0, 0, 0]


def test_circles_end_and_long_chains_are_cut():
    circle = csr_matrix(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=np.float32))
    assert (closed(circle).toarray() == 1).all()
    n = MAX_STEPS_UP + 5
    chain = csr_matrix((np.ones(n - 1, dtype=np.float32), (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
    assert closed(chain)[0].nnz == 1 + MAX_STEPS_UP


def test_text_is_above_every_kind_of_values():
    above = above_kinds().toarray()
    assert (above[:, TEXT] == 1).all() and above.sum() == 2 * len(VALUE_KINDS) - 1
