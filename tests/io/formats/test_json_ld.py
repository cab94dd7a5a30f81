"""JSON-LD is a graph; a context that lies elsewhere is not fetched."""

from __future__ import annotations

import json

import pytest
from conftest import write
from small_files import E, graph_of, shown, triples_of

from mixtea import DataError, load_task

CONTEXT = {"e": E, "label": "http://www.w3.org/2000/01/rdf-schema#label", "in": {"@id": "e:in", "@type": "@id"}}
ROME = {"@context": CONTEXT, "@id": "e:Rome", "label": "Rome", "in": "e:Italy", "e:part": {"@list": [{"@id": "e:x"}]}}


@pytest.mark.parametrize("name", ["g.jsonld", "g.json"])
def test_a_graph_of_json_ld(name, tmp_path):
    graph = graph_of(tmp_path, {name: json.dumps(ROME)})
    assert set(triples_of(graph)) == {(E + "Rome", E + "in", E + "Italy"), (E + "Rome", E + "part", E + "x")}
    assert shown(graph) == {E + "Rome": "Rome"} and graph.prefixes["e"] == E and graph.files[0].format == "JSON-LD"


def test_links_in_json_ld(tmp_path):
    same = {"@id": E + "Rome", "http://www.w3.org/2002/07/owl#sameAs": {"@id": "x:Roma"}}
    write(tmp_path, {"g.json": json.dumps(ROME), "t.tsv": "x:Roma\tin\tx:Italia\n", "l.jsonld": json.dumps(same)})
    own = dict(source=tmp_path / "g.json", target=tmp_path / "t.tsv")
    assert len(load_task(**own, links=tmp_path / "l.jsonld").train) == 1


WRONG = {
    "remote": ({"@context": "https://schema.org/", "@id": E}, "its @context lies at https://schema.org/, and "
               r"nothing is fetched. Write \{\"@vocab\": \"https://schema.org/\"\} in its place"),
    "remote among others": ({"@context": [{"e": E}, "https://x.org"], "@id": E}, "its @context lies elsewhere, and"),
    "relative": ({"@id": "a", E + "r": 5}, r"not JSON-LD: a relative IRI without a base '<a> <.*\"@base\""),
    "not a graph": ({"a": 1}, "no statement: the JSON-LD file is empty. JSON needs @context and @id to be JSON-LD"),
    "without names": ({E + "r": "x"}, "nothing but blank nodes. Give them IRIs"),
    "no id": ({"@id": 5}, "line 1: not JSON-LD: @id value must be a string"),
    "no JSON": ("{", "line 1: not JSON-LD: "),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_one_message(case, tmp_path):
    content, message = WRONG[case]
    with pytest.raises(DataError, match=message) as caught:
        graph_of(tmp_path, {"g.json": content if isinstance(content, str) else json.dumps(content)}, strict=True)
    assert len(str(caught.value).splitlines()) == 2


def test_a_base_in_the_file_makes_iris_whole(tmp_path):
    text = {"@context": {"@base": E}, "@id": "a", E + "r": {"@id": "b"}}
    assert triples_of(graph_of(tmp_path, {"g.json": json.dumps(text)})) == [(E + "a", E + "r", E + "b")]
