"""From files as they come to precision, recall and F1 in three commands; and the verbs around them."""

from __future__ import annotations

import csv
import json

import pytest
from conftest import write

from mixtea.cli.settings import COMMON, REST
from mixtea.config import FIELDS

# Two little ontologies of conferences in RDF/XML: no labels, IDs under a base, an ontology that is its base
HEAD = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns="http://{0}#" xml:base="http://{0}">
<owl:Ontology rdf:about=""/>
"""
CLASS = '<owl:Class rdf:ID="{}"><rdfs:subClassOf rdf:resource="#{}"/></owl:Class>\n'
PROPERTY = """<owl:ObjectProperty rdf:ID="{}"><rdfs:domain rdf:resource="#{}"/><rdfs:range rdf:resource="#{}"/>
</owl:ObjectProperty>\n"""
CMT = {
    "classes": ["Person Thing", "Author Person", "Reviewer Person", "Meta-Reviewer Reviewer", "Document Thing",
                "Paper Document", "Review Document", "Conference Thing", "Preference Thing"],
    "properties": ["writePaper Author Paper", "writeReview Reviewer Review", "hasAuthor Paper Author"],
}  # fmt: skip
CONFERENCE = {
    "classes": ["Person Thing", "Regular_author Person", "Reviewer Person", "Conference_document Thing",
                "Paper Conference_document", "Review Conference_document", "Conference_volume Thing",
                "Committee Thing"],
    "properties": ["contributes Regular_author Paper", "has_authors Paper Regular_author"],
}  # fmt: skip
SAME = {
    "Person": "Person", "Author": "Regular_author", "Reviewer": "Reviewer", "Document": "Conference_document",
    "Paper": "Paper", "Review": "Review", "Conference": "Conference_volume", "hasAuthor": "has_authors",
}  # fmt: skip
CELL = """<map><Cell><entity1 rdf:resource='http://cmt#{}'/><entity2 rdf:resource='http://conference#{}'/>
<measure rdf:datatype='xsd:float'>1.0</measure><relation>=</relation></Cell></map>\n"""
ALIGNMENT = """<?xml version='1.0' encoding='utf-8'?>
<rdf:RDF xmlns='http://knowledgeweb.semanticweb.org/heterogeneity/alignment'
  xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:xsd='http://www.w3.org/2001/XMLSchema#'>
<Alignment><xml>yes</xml><level>0</level><type>??</type>
<onto1>http://cmt</onto1><onto2>http://conference</onto2>
{}</Alignment></rdf:RDF>
"""
SMALL = ["--set", "max_epochs=2", "--set", "entity_dim=16", "--set", "relation_dim=8", "--set", "propagation_rounds=1"]


def ontology(name, parts):
    classes = "".join(CLASS.format(*one.split()) for one in parts["classes"])
    properties = "".join(PROPERTY.format(*one.split()) for one in parts["properties"])
    return HEAD.format(name) + classes + properties + "</rdf:RDF>"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    cells = "".join(CELL.format(*pair) for pair in SAME.items())
    return write(
        tmp_path_factory.mktemp("conference"),
        {
            "source.owl": ontology("cmt", CMT),
            "target.owl": ontology("conference", CONFERENCE),
            "reference.rdf": ALIGNMENT.format(cells),
        },
    )


@pytest.fixture
def run(files, mixtea):
    """The first of the three commands."""
    out = files / "run"
    if not out.exists():
        graphs = ("--source", files / "source.owl", "--target", files / "target.owl")
        code, _, err = mixtea("fit", *graphs, "--links-from", "names", "--out", out, "--device", "cpu", *SMALL)
        assert code == 0, err
    return out


def test_three_commands_from_files_to_f1(run, files, tmp_path, mixtea):
    mapping = tmp_path / "m.sssom.tsv"
    assert mixtea("export", run, "--out", mapping)[0] == 0
    code, out, err = mixtea("evaluate", mapping, "--reference", files / "reference.rdf", "--json")
    found = json.loads(out)
    assert code == 0 and found["links"] == len(SAME), err
    assert found["precision"] >= 0.5 and found["recall"] >= 0.5 and found["right"] >= 4
    head = [line for line in mapping.read_text().splitlines() if line.startswith("#")]
    assert {"#  cmt: http://cmt#", "#  conference: http://conference#"} <= set(head)
    prefix = next(line for line in head if line.endswith(": http://"))[1:].split(":")[0].strip()
    assert {f"#subject_source: {prefix}:cmt", f"#object_source: {prefix}:conference"} <= set(head)


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".json", ".nt", ".ttl", ".rdf", ".parquet"])
def test_every_export_can_be_judged(run, files, tmp_path, mixtea, ending):
    path = tmp_path / f"m{ending}"
    assert mixtea("export", run, "--out", path, "--every")[0] == 0
    code, out, err = mixtea("evaluate", path, "--reference", files / "reference.rdf", "--source", files / "source.owl")
    shown = " ".join(out.split())
    assert code == 0 and "m" + ending + " against reference.rdf (every other pair is wrong)" in shown, err
    assert "owl:Class" in shown and "owl:ObjectPro" in shown and "precision recall F1" in shown
    assert ("By the least confidence" in shown) == (ending in (".tsv", ".csv", ".json", ".rdf", ".parquet"))
    if ending == ".rdf":
        assert '<Ontology rdf:about="http://cmt">' in path.read_text()


def test_links_dealt_out_and_learned_from(files, tmp_path, mixtea):
    words = ("split", files / "reference.rdf", "--out", tmp_path, "--train", 0.5)
    code, out, err = mixtea(*words, "--valid", 0, "--test", 0.5)
    assert code == 0 and out == "" and "train_links.tsv: 4 of 8 links" in err and "test_links.tsv: 4 of 8 links" in err
    lines = [(tmp_path / f"{part}_links.tsv").read_text().splitlines() for part in ("train", "test")]
    assert sorted(lines[0] + lines[1]) == sorted(f"http://cmt#{s}\thttp://conference#{t}" for s, t in SAME.items())
    code, _, err = mixtea(*words)
    assert code == 2 and "0.5 + 0.1 + 0.7 is 1.3" in err
    part = mixtea("evaluate", tmp_path / "train_links.tsv", "--reference", tmp_path / "test_links.tsv")
    assert part[0] == 2 and "has an end in the reference" in part[2]


def test_no_file_is_replaced_unless_that_is_said(run, files, tmp_path, mixtea):
    links = files / "reference.rdf"
    written = {
        "export --out": ("m.csv", ["export", run, "--out"]),
        "export --relations": ("r.json", ["export", run, "--relations"]),
        "predict": ("c.json", ["predict", run, "--out"]),
        "score --curve": ("curve.csv", ["score", run, "--links", links, "--curve"]),
    }
    for name, (file, words) in written.items():
        path = tmp_path / file
        path.write_text("mine")
        code, _, err = mixtea(*words, path)
        assert code == 2 and f"{path}: a file is already there. Name another, or say --overwrite." in err, name
        assert path.read_text() == "mine"
        code, _, err = mixtea(*words, path, "--overwrite")
        assert code == 0 and path.read_text() != "mine", err
    assert "mappings" not in json.loads((tmp_path / "c.json").read_text())
    with (tmp_path / "m.csv").open(newline="") as file:
        assert {row["decision"] for row in csv.DictReader(file)} == {"mapped"}


def test_settings_are_listed(mixtea):
    assert all(f"{name}=" in mixtea("fit", "--help")[1] for name in ("entity_dim", "seed", "decoder"))
    code, out, _ = mixtea("settings", "--all")
    assert code == 0 and "entity_dim=128  (at least 1 and at most 8192)\n    dimension of entity vectors" in out
    assert [line.split("=")[0] for line in out.splitlines() if not line.startswith(" ")] == list(FIELDS)
    common = [name for names in COMMON.values() for name in names]
    code, out, _ = mixtea("settings")
    assert code == 0 and "voters:\n" in out and out.endswith(f"\n{REST}\n")
    assert [line.split("=")[0] for line in out.splitlines() if "=" in line and line[0] != " "] == common
    assert [*json.loads(mixtea("settings", "--json")[1])] == common
    assert [*json.loads(mixtea("settings", "--all", "--json")[1])] == list(FIELDS)
    assert json.loads(mixtea("settings", "entity_dim", "--preset", "paper", "--json")[1])["entity_dim"]["value"] == 256
    assert mixtea("settings", "entity_din")[0] == 2
