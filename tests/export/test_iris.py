"""Namespaces for ids that are no IRIs: given, written, read again."""

from __future__ import annotations

import pytest
import sssom_pydantic
from conftest import write

from mixtea import load_task
from mixtea.errors import ConfigError, Problems, RunError
from mixtea.evaluation.mapping_files import read_pairs
from mixtea.export.formats import write_mapping
from mixtea.export.identifiers import ids_without_namespace, missing_namespace_note
from mixtea.export.metadata import MappingMetadata
from mixtea.io.links.read import read_link_table

HERE, THERE = "https://shop.example/items/", "https://other.example/item?id="
ABOUT = MappingMetadata(set_id="https://example.org/s", source_namespace=f"shop={HERE}", target_namespace=THERE)
ROWS = [("534", "a/b"), ("007", "100 % é"), ("x:y", "#=+&<"), (".", "http"), ("534 ", "a%2Fb")]
BY_IRIS = [".sssom.tsv", ".nt", ".ttl", ".rdf"]


@pytest.mark.parametrize("ending", BY_IRIS)
def test_ids_come_back_exactly(ending, make_mapping, tmp_path):
    path = tmp_path / f"m{ending}"
    write_mapping(make_mapping(ROWS), path, ABOUT)
    found = read_pairs(path, Problems())
    assert list(found.frame[["source", "target"]].itertuples(index=False, name=None)) == ROWS and not found.warnings
    text = path.read_text(encoding="utf-8")
    assert "mixtea/source/" not in text and "mixtea/target/" not in text
    assert ("shop:534" if ending in (".sssom.tsv", ".ttl") else f"{HERE}534") in text
    write(tmp_path, {"a.tsv": "534\tin\t007\n", "b.tsv": "a/b\tin\t100 % é\n"})
    task = load_task(source=tmp_path / "a.tsv", target=tmp_path / "b.tsv", links=path)
    links = [(task.source.ids[s], task.target.ids[t]) for s, t in (*task.train, *task.valid)]
    assert sorted(links) == sorted(ROWS[:2])


def test_sssom_by_the_reader_of_the_standard(make_mapping, tmp_path):
    rows = [("534", "http"), ("http://x/A", "5")]
    write_mapping(make_mapping(rows), tmp_path / "m.sssom.tsv", ABOUT)
    mappings, converter, found, errors = sssom_pydantic.read(tmp_path / "m.sssom.tsv", return_errors=True)
    assert errors == [] and [m.subject.curie for m in mappings] == ["shop:534", "x:A"]
    assert [m.object.curie for m in mappings] == ["target:http", "target:5"]
    assert [converter.expand_reference(m.object) for m in mappings] == [f"{THERE}http", f"{THERE}5"]
    assert [(m.subject_name, m.object_name) for m in mappings] == [("534", "http"), (None, "5")]
    assert [one.name for one in found.extension_definitions][-2:] == ["ext_source_ids", "ext_target_ids"]
    assert list(read_link_table(tmp_path / "m.sssom.tsv", Problems()).slots) == rows


def test_one_side_and_the_same_on_both(make_mapping, tmp_path):
    write_mapping(make_mapping(ROWS), tmp_path / "m.nt", MappingMetadata(source_namespace=HERE))
    text = (tmp_path / "m.nt").read_text()
    assert f"<{HERE}534> " in text and "#mixtea/target/a%2Fb> ." in text and "target_ids" not in text
    write_mapping(make_mapping(ROWS), tmp_path / "m.ttl", MappingMetadata(source_namespace=HERE, target_namespace=HERE))
    assert "source:534 skos:exactMatch" in (tmp_path / "m.ttl").read_text()
    for name in ("m.nt", "m.ttl"):
        found = read_pairs(tmp_path / name, Problems()).frame
        assert list(zip(found["source"], found["target"], strict=True)) == ROWS


def test_an_iri_in_the_namespace_of_plain_ids_is_refused(make_mapping, tmp_path):
    rows = [(f"{HERE}534", "x"), ("534", "y")]
    with pytest.raises(RunError, match=f"the entity '{HERE}534' is an IRI in {HERE}, the namespace for ids that are"):
        write_mapping(make_mapping(rows), tmp_path / "m.nt", ABOUT)
    write_mapping(make_mapping(rows[:1]), tmp_path / "m.nt", ABOUT)  # no plain ids: nothing to mistake it for
    assert f"<{HERE}534> " in (tmp_path / "m.nt").read_text()


def test_a_note_that_is_no_text_is_no_note(tmp_path):
    same = "<https://a/1> <http://www.w3.org/2002/07/owl#sameAs> <https://b/2> .\n"
    write(tmp_path, {"m.nt": "<http://s> <http://s#mixtea/source_ids> <https://a/> .\n" + same})
    assert read_pairs(tmp_path / "m.nt", Problems()).frame["source"].tolist() == ["https://a/1"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("shop.example/items/", "'shop.example/items/' is not a namespace. Give a URL .* or PREFIX=URL"),
        ("shop", "is not a namespace"),
        ("shop:https://shop.example/", "is not a namespace"),
        ("https://shop.example/a b/", "is not a namespace"),
        ("https://shop.example/items", "and an id would be one word. End it with / or #, as in https://shop.example/i"),
        ("skos=https://shop.example/", "the prefix 'skos' is one of SSSOM's own"),
        ("1a=https://shop.example/", "the prefix '1a' is not a name"),
        ("=https://shop.example/", "the prefix '' is not a name"),
        ("target=https://shop.example/", "the prefix 'target' is used twice"),
        ("https://shop.example/\n", "holds a control character"),
    ],
)
def test_bad_namespaces(text, message):
    with pytest.raises(ConfigError, match=f"^source_namespace.*{message}"):
        MappingMetadata(source_namespace=text)


def test_what_is_made_up_is_told(make_mapping):
    mixed = make_mapping([("http://a/b", "x y"), ("http://a/c", "_:b"), ("http://a/d", None)])
    assert (
        ids_without_namespace(mixed, MappingMetadata()) == {"target": "x y"}
        and ids_without_namespace(mixed, MappingMetadata(target_namespace=THERE)) == {}
    )
    assert ids_without_namespace(make_mapping([("a", None)]), MappingMetadata()) == {}
    assert ids_without_namespace(make_mapping([("a", None)]), MappingMetadata(with_unmapped=True)) == {"source": "a"}
    said = "the namespace of source:a and target:x%20y is made up for this file: "
    assert missing_namespace_note({"source": "a", "target": "x y"}) == (
        f"{said}give yours with --source-namespace URL and --target-namespace URL"
    )
