"""Relations and classes in every format, read by readers that are not ours."""

from __future__ import annotations

import datetime
import logging

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pyoxigraph
import pytest
import rdflib
import sssom_pydantic
from conftest import labelled

from mixtea.errors import ConfigError, RunError
from mixtea.export.formats import endings, write_relations
from mixtea.export.metadata import MappingMetadata
from mixtea.graph.entity_table import Attributes
from mixtea.graph.graph import Graph
from mixtea.relations.alignment import RELATION_COLUMNS, Relations

DBO = "http://dbpedia.org/ontology/"
ABOUT = MappingMetadata(
    set_id="https://example.org/r", date=datetime.date(2026, 1, 31), tool_version="0.1", title="Words"
)
ROWS = [
    ("relation", f"{DBO}director", "r57", "equal", False, 0.9, 10.5, 11.0, 12.0),
    ("relation", f"{DBO}artist", "r1", "narrower", False, 0.8, 3.0, 3.0, 30.0),
    ("relation", f"{DBO}parent", "r 2", "broader", False, 0.7, 3.0, 30.0, 3.0),
    ("relation", f"{DBO}parent", "r40", "inverse", True, 0.6, 3.0, 3.0, 3.0),
    ("relation", f"{DBO}seat", "r1", "narrower", True, 0.5, 3.0, 3.0, 9.0),
    ("attribute", f"{DBO}height", "size", "equal", False, 0.5, 3.0, 3.0, 3.0),
    ("class", f"{DBO}Person", "Mensch", "equal", False, 0.9, 8.0, 8.0, 8.0),
    ("class", f"{DBO}Mayor", "Mensch", "narrower", False, 0.5, 3.0, 3.0, 8.0),
    ("class", f"{DBO}Person", "Frau", "broader", False, 0.5, 3.0, 8.0, 3.0),
    ("class", "_:b0", "Mensch", "equal", False, 0.4, 3.0, 3.0, 3.0),
]
TARGET = "https://example.org/r#mixtea/target/"


def make(rows, labels=None) -> Relations:
    frame = pd.DataFrame(rows, columns=list(RELATION_COLUMNS), dtype=object)
    frame = frame.astype({"inverse": bool} | dict.fromkeys(RELATION_COLUMNS[5:], float))
    graphs = []
    for side in ("source", "target"):
        words = {kind: list(dict.fromkeys(frame.loc[frame["kind"] == kind, side])) for kind in ("relation", "class")}
        predicates = frame.loc[frame["kind"] == "attribute", side].tolist()
        names = [np.array([*words[kind], None], dtype=object)[:-1] for kind in ("class", "relation")]
        table = Attributes.from_columns([0] * len(predicates), predicates, ["x"] * len(predicates))
        graph = Graph(*names, np.empty((0, 3), dtype=np.int64), table, prefixes={"dbo": DBO})
        object.__setattr__(graph, "labels", labelled(graph, labels or {}))
        graphs.append(graph)
    return Relations(*graphs, frame)


@pytest.fixture
def write(tmp_path):
    def call(ending, rows=ROWS, labels=None):
        n = write_relations(make(rows, labels), tmp_path / f"r{ending}", ABOUT)
        return n, tmp_path / f"r{ending}"

    return call


def test_sssom_names_the_predicates_and_the_types(write):
    n, path = write(".sssom.tsv", labels={"Mensch": "der\nMensch"})
    mappings, converter, found, errors = sssom_pydantic.read(path, return_errors=True)
    assert n == len(mappings) == len(ROWS) - 1 and errors == [] and found.title == "Words"
    assert [(m.subject.curie, m.predicate.curie, m.object.curie) for m in mappings] == [
        ("dbo:director", "owl:equivalentProperty", "target:r57"),
        ("dbo:artist", "rdfs:subPropertyOf", "target:r1"),
        ("dbo:parent", "skos:narrowMatch", "target:r%202"),
        ("dbo:parent", "owl:inverseOf", "target:r40"),
        ("dbo:seat", "skos:relatedMatch", "target:r1"),
        ("dbo:height", "owl:equivalentProperty", "target:size"),
        ("dbo:Person", "owl:equivalentClass", "target:Mensch"),
        ("dbo:Mayor", "rdfs:subClassOf", "target:Mensch"),
        ("dbo:Person", "skos:narrowMatch", "target:Frau"),
    ]
    assert {m.justification.curie for m in mappings} == {"semapv:InstanceBasedMatching"}
    assert [m.subject_type for m in mappings] == [m.object_type for m in mappings]
    assert [m.subject_type.name for m in mappings][5:7] == ["property", "class"]
    assert [m.confidence for m in mappings][:2] == [0.9, 0.8] and mappings[6].object_name == "der Mensch"
    assert mappings[0].extensions["ext_source_count"].value == 11.0
    assert converter.expand_reference(mappings[2].object) == TARGET + "r%202"


@pytest.mark.parametrize("ending", [".nt", ".ttl"])
def test_rdf_turns_what_is_broader_round(write, ending):
    n, path = write(ending)
    found = [(t.subject.value, t.predicate.value, t.object.value) for t in pyoxigraph.parse(path=path)]
    again = rdflib.Graph().parse(path, format="turtle" if ending == ".ttl" else "nt")
    assert {tuple(map(str, triple)) for triple in again} == set(found) and n == len(found) == len(ROWS) - 1
    owl, rdfs = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#"
    assert found[:4] == [
        (f"{DBO}director", f"{owl}equivalentProperty", f"{TARGET}r57"),
        (f"{DBO}artist", f"{rdfs}subPropertyOf", f"{TARGET}r1"),
        (f"{TARGET}r%202", f"{rdfs}subPropertyOf", f"{DBO}parent"),
        (f"{DBO}parent", f"{owl}inverseOf", f"{TARGET}r40"),
    ]
    assert found[4][1] == "http://www.w3.org/2004/02/skos/core#relatedMatch"
    assert found[-1] == (f"{TARGET}Frau", f"{rdfs}subClassOf", f"{DBO}Person")


def test_tables_have_all_columns(write):
    n, path = write(".tsv")
    frame = pd.read_csv(path, sep="\t", quoting=3)
    pd.testing.assert_frame_equal(frame, pd.DataFrame(ROWS, columns=list(RELATION_COLUMNS)))
    m, path = write(".parquet")
    table = pq.read_table(path)
    assert n == m == len(ROWS) and table.column_names == list(RELATION_COLUMNS)
    assert list(zip(*table.to_pydict().values(), strict=True)) == ROWS
    about = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    assert about["mapping_justification"] == "semapv:InstanceBasedMatching" and "predicate_id" not in about


def test_blank_nodes_are_left_out_with_a_word(write, caplog):
    with caplog.at_level(logging.WARNING):
        write(".nt")
    assert "1 of 10 rows left out" in caplog.text


@pytest.mark.parametrize("ending", endings("relations"))
def test_no_rows_are_a_file_too(write, ending):
    n, path = write(ending, [])
    assert n == 0 and path.exists()


@pytest.mark.parametrize(
    "ending, id, message",
    [
        (".tsv", "a\tb", "separates columns"), (".nt", "http://a b", "which an IRI must not hold"),
        (".sssom.tsv", "http://a/b\u2003", "strip from its end"), (".parquet", "a\ud800", "half a character"),
        (".ttl", "a\ud800", "half a character"),
    ],
)  # fmt: skip
def test_ids_that_a_format_cannot_hold_are_refused(write, ending, id, message, tmp_path):
    with pytest.raises(RunError, match=message) as caught:
        write(ending, [(*ROWS[0][:2], id, *ROWS[0][3:])])
    assert "the id " in str(caught.value) and list(tmp_path.iterdir()) == []


def test_an_ending_without_a_format(tmp_path):
    with pytest.raises(ConfigError, match=r"no format goes with the ending '.rdf'. Choose one of .sssom.tsv, .tsv"):
        write_relations(make(ROWS), tmp_path / "r.rdf")
    assert write_relations(make(ROWS[:1]), tmp_path / "r.nt") == 1
    assert "https://w3id.org/sssom/mappings/" in (tmp_path / "r.nt").read_text()
