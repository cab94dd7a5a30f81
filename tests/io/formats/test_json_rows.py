"""Graphs in JSON lines: objects as rows of a table."""

from __future__ import annotations

import gzip
import json

import pytest
from conftest import write
from small_files import graph_of, triples_of

from mixtea import DataError
from mixtea.io.safe.limits import Limits, use_limits

ROWS = [
    {"id": "Q1", "name": "Rome", "in": "Q2", "also": ["Roma", None, "Urbs"], "people": 2.5},
    {"id": "Q2", "x": None},
]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("name", ["g.jsonl", "g.ndjson", "g.json", "g", "g.jsonl.gz"])
def test_each_line_is_an_entity(tmp_path, name):
    text = lines(ROWS)
    graph = graph_of(tmp_path, {name: gzip.compress(text.encode()) if name.endswith(".gz") else text})
    assert triples_of(graph) == [("Q1", "in", "Q2")] and graph.label(0) == "Rome"
    assert [found[:2] for found in graph.attributes_of(0)] == [
        ("rdfs:label", "Rome"), ("also", "Roma"), ("also", "Urbs"), ("people", "2.5"),
    ]  # fmt: skip
    assert graph.files[0].format == "JSON lines" and graph.files[0].notes == ()
    assert {column.name: column.kind for column in graph.files[0].columns}["in"] == "reference"


def test_a_list_may_lead_to_several_entities(tmp_path):
    rows = [{"id": 1, "parts": [2, 3]}, {"id": 2}, {"id": 3}]
    assert triples_of(graph_of(tmp_path, {"g.jsonl": lines(rows)})) == [("1", "parts", "2"), ("1", "parts", "3")]


def test_labels_belong_to_an_entity_that_is_the_only_one_of_its_row(tmp_path):
    rows = [{"id": "a", "in": ["b", "c"], "inLabel": "B"}, {"id": "b", "in": "a"}, {"id": "c", "in": "a"}]
    graph = graph_of(tmp_path, {"g.jsonl": lines(rows)})
    assert graph.attributes_of(0)[0][:2] == ("inLabel", "B")


def test_triples_are_triples(tmp_path):
    rows = [{"tail": 2, "head": 1, "relation": "r", "note": "x"}, {"head": 2, "relation": "s", "tail": "3"}]
    graph = graph_of(tmp_path, {"g.jsonl": lines(rows)})
    assert triples_of(graph) == [("1", "r", "2"), ("2", "s", "3")] and graph.files[0].notes == ()


WRONG = {
    "an object inside": ('{"id": 1, "x": {"y": 1}}', "line 1: an object inside an object, in 'x'.*Make a column"),
    "a list inside": ('{"id": 1, "x": [["y"]]}', "line 1: a list inside a list, in 'x'"),
    "no object": ('{"id": 1, "n": 2}\n\n[1]', r"line 3: no object: '\[1\]'. Write one object in each line"),
    "no JSON": ('{"id": 1, "n": 2}\n{"id": }', r"line 2: not JSON \(Expecting value\): '{\"id\": }'. Write one object"),
    "no JSON at all": ("{x", r"1 problem\n  line 1: not JSON"),
    "a number too long": ('{"id": ' + "1" * 5000 + "}", r"line 1: not JSON \(Exceeds the limit"),
    "too deep": ('{"id": ' + "[" * 200_000, "line 1: nested too deeply"),
    "a name twice": ('{"id": 1, "id": 2}', "line 1: two members named 'id'. Name each member once."),
    "half a value": ('{"id": 1, "x": "\\ud800"}', "line 1: half a character in column 'x'"),
    "half a name": ('{"id": 1, "\\ud800": 1}', "half a character in the name of a column"),
    "JSON-LD": ('{"@id": "a", "e:p": "b"}\n' * 2, "JSON-LD with an object in each line: '@id'. Write it as one list"),
    "nothing": ("\n", "the file is empty|0 columns"),
    "empty objects": ("{}\n{}\n", "0 columns"),
    "several ends": ('{"head": "a", "relation": "r", "tail": ["b", "c"]}', "line 1: several values in a triple, in"),
    "no end": ('{"head": "a", "relation": "r", "tail": null}', "line 1: column 3 is empty"),
    "links": ('{"source": "a", "target": "b"}', "2 columns 'source, target'. It needs 3"),
    "edges": ('{"source": "a", "target": "b", "weight": 1}', "no column gives the relation"),
    "two of a name": ('{"id": 1, "x y": 1, "x_y": 2}', "two columns named x y"),
    "bytes": (b'{"id": 1, "n": "\xff"}\n{"id": 2, "n": "x"}', "line 1: byte ff is not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_are_named_with_their_lines(tmp_path, mistake):
    text, message = WRONG[mistake]
    with pytest.raises(DataError, match=f"(?s){message}"):
        graph_of(tmp_path, {"g.jsonl": text})


@pytest.mark.parametrize(
    "text, limits, name",
    [
        ('{"id": 1, "a": 1, "b": 2, "c": 3}', Limits(max_columns=3), "max_columns"),
        (lines([{"id": i} for i in range(9)]), Limits(max_rows=8), "max_rows"),
        (lines([{"id": "x" * (1 << 20), "n": 1}]), Limits(max_token_mib=1), "max_token_mib"),
    ],
)
def test_limits_hold(tmp_path, text, limits, name):
    write(tmp_path, {})
    with use_limits(limits), pytest.raises(DataError, match=f"beyond the limit {name}"):
        graph_of(tmp_path, {"g.jsonl": text})
