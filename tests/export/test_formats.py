"""One small mapping in every format, read by readers that are not ours."""

from __future__ import annotations

import csv
import datetime
import io
import json
import logging
from dataclasses import replace

import pandas as pd
import pyarrow.parquet as pq
import pyoxigraph
import pytest
import rdflib
import sssom_pydantic

from mixtea.decide.choose import DECISIONS
from mixtea.errors import ConfigError, Problems, RunError
from mixtea.evaluation.evaluate import evaluate
from mixtea.evaluation.mapping_files import read_pairs
from mixtea.export.formats import FORMATS, write_mapping
from mixtea.export.metadata import UNSPECIFIED, MappingMetadata
from mixtea.export.sssom import justifications, shared_justification

DB, YAGO = "http://dbpedia.org/resource/", "http://yago/"
ABOUT = MappingMetadata(
    set_id="https://example.org/links", title="DBpedia: YAGO", licence="https://example.org/by", version="1.0",
    date=datetime.date(2026, 1, 31), tool_version="0.1", source_name="https://dbpedia.org/", target_name="YAGO 3",
)  # fmt: skip
ROWS = [
    (f"{DB}France", "France", 0.912345678, "Gaul", 0.05, "forward+backward", False, "names=+9.1 vectors=-0.5"),
    (f"{DB}Spain", 'Es"pa\tña\n', 1.0, None, None, "", True),
    (f"{DB}Atlantis", None, 0.75, "Gaul", 0.25, "propagation", False),
    ("_:b0", "Gaul", 0.5, "France", 0.1, "forward", False),
]
PAIRS = [(f"{DB}France", "France"), (f"{DB}Spain", 'Es"pa\tña\n')]
TARGET = "https://example.org/links#mixtea/target/"


@pytest.fixture
def mapping(make_mapping):
    names = {f"{DB}France": "France, the\tcountry", "France": "=1+1"}
    return make_mapping(ROWS, source_labels=names, target_labels=names, source_prefixes={"dbr": DB, "": "http://no/"})


@pytest.fixture
def write(tmp_path):
    def call(mapping, name, about=ABOUT):
        n = write_mapping(mapping, tmp_path / name, about)
        assert [p.name for p in tmp_path.iterdir()] == [name]
        return n, tmp_path / name

    return call


def unmapped(about=ABOUT, **others):
    return MappingMetadata(**{**about.__dict__, "with_unmapped": True, **others})


def test_sssom_says_all_there_is(mapping, write):
    n, path = write(mapping, "m.sssom.tsv", unmapped())
    mappings, converter, found, errors = sssom_pydantic.read(path, return_errors=True)
    assert n == 2 and errors == [] and len(mappings) == 3
    assert str(found.id) == ABOUT.set_id and found.title == "DBpedia: YAGO" and found.version == "1.0"
    assert str(found.license) == ABOUT.licence
    rows = [
        (m.subject.curie, m.subject_name, m.predicate.curie, m.object.curie, m.object_name, m.justification.curie)
        for m in mappings
    ]
    structural, unspecified = "semapv:StructuralMatching", "semapv:UnspecifiedMatching"
    assert rows == [
        ("dbr:France", "France, the country", "skos:exactMatch", "target:France", "=1+1", "semapv:LexicalMatching"),
        ("dbr:Spain", None, "skos:exactMatch", "target:Es%22pa%09%C3%B1a%0A", 'Es"pa ña', unspecified),
        ("dbr:Atlantis", None, "skos:exactMatch", "sssom:NoTermFound", None, structural),
    ]  # the reader strips what people read, the identifiers are exact
    assert [m.confidence for m in mappings] == [0.912346, 1.0, 0.75]
    assert [m.mapping_tool and (m.mapping_tool.name, m.mapping_tool.version) for m in mappings] == [
        ("mixtea", "0.1"), None, ("mixtea", "0.1"),
    ]  # fmt: skip
    assert [m.mapping_date for m in mappings] == [ABOUT.date, None, ABOUT.date]
    extras = [{name: slot.value for name, slot in (m.extensions or {}).items()} for m in mappings]
    assert extras[1] == {} and extras[2]["ext_voters"] == "propagation"
    assert extras[0]["ext_evidence"] == "names=+9.1 vectors=-0.5"
    assert extras[0]["ext_runner_up"].curie == "target:Gaul" and extras[0]["ext_runner_up_probability"] == 0.05
    assert converter.expand_reference(mappings[0].subject_source) == "https://dbpedia.org/"
    assert converter.expand_reference(mappings[2].object_source) == "https://example.org/links#mixtea/graph/YAGO%203"


def test_sssom_keeps_labels_in_one_line(mapping, write):
    _, path = write(mapping, "m.sssom.tsv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"))
    assert [r["object_label"] for r in rows] == ["=1+1", 'Es"pa ña ']


EVIL = [
    "x\n#y",
    "x\r#y",
    "#y",
    '"\n#y',
    "x\t#\x0by\x0c#z\x1c\x1d\x1e\x85#\u2028#\u2029#",
    "x\r\n#y\x00",
    "\n",
    '"',
    "a'b\n\n",
]


@pytest.mark.parametrize("split", [str.splitlines, lambda text: io.StringIO(text, newline=None).readlines()])
def test_sssom_survives_readers_that_drop_every_line_of_a_comment(split, make_mapping, write):
    """As sssom-py reads: metadata wherever a line begins with #, the rest by pandas."""
    rows = [(f"http://a/#{i}", label) for i, label in enumerate(EVIL)]
    names = {source: label for (source, _), label in zip(rows, EVIL, strict=True)}
    _, path = write(make_mapping([*rows, ("http://a/b#", "#")], source_labels=names), "m.sssom.tsv")
    text = path.read_bytes().decode("utf-8")
    kept = "\n".join(line.rstrip("\n") for line in split(text) if not line.startswith("#"))
    found = pd.read_csv(io.StringIO(kept), sep="\t", engine="python", dtype=str, keep_default_na=False)
    assert len(found) == len(rows) + 1 and found["confidence"].tolist() == ["0.500000"] * len(found)
    assert found["subject_id"].tolist()[:2] == ["a:0", "a:1"]
    assert found["object_label"].tolist()[:3] == found["subject_label"].tolist()[:3] == ["x #y", "x #y", "#y"]


def test_sssom_condenses_what_all_rows_share(make_mapping, write):
    _, path = write(make_mapping([("a", "b"), ("c", "d")]), "m.sssom.tsv", ABOUT)
    text = path.read_text(encoding="utf-8")
    assert '#mapping_tool: mixtea\n#mapping_tool_version: "0.1"\n#mapping_date: "2026-01-31"\n' in text
    header = next(line for line in text.splitlines() if not line.startswith("#"))
    assert header.split("\t") == [
        "subject_id", "subject_label", "predicate_id", "object_id", "object_label", "mapping_justification",
        "confidence", "ext_voters",
    ]  # fmt: skip
    assert [m.mapping_tool.name for m in sssom_pydantic.read(path).mappings] == ["mixtea"] * 2


def test_prefixes_are_the_longest_known_or_called_after_their_namespace(make_mapping, write):
    rows = [(f"{YAGO}deep/x", "http://b/1"), (f"{YAGO}y", "http://b/"), ("http://other/a#b", "http://b/2/z:é")]
    taken = {
        "yago": YAGO,
        "deep": f"{YAGO}deep/",
        "skos": "http://wrong/",
        "ns1": "http://unused/",
        "no": "http://b/2/",
    }
    _, path = write(make_mapping(rows, source_prefixes=taken, target_prefixes=taken), "m.sssom.tsv")
    mappings, converter, _ = sssom_pydantic.read(path)
    assert [m.subject.curie for m in mappings] == ["deep:x", "yago:y", "a:b"]
    assert [m.object.curie for m in mappings] == ["b:1", "web:b/", "no:z:é"]
    assert [tuple(map(converter.expand_reference, (m.subject, m.object))) for m in mappings] == rows
    assert '#  "no": http://b/2/\n' in path.read_text() and "unused" not in path.read_text()


STRUCTURAL, LEXICAL, COMPOSITE = (f"semapv:{word}Matching" for word in ("Structural", "Lexical", "Composite"))
SEMANTIC = "semapv:SemanticSimilarityThresholdMatching"


@pytest.mark.parametrize(
    "evidence, term, shared",
    [
        ("vectors=+9.0 agreement=+1.0 names=-3.0", STRUCTURAL, STRUCTURAL),
        ("names=+3.0 vectors=-9.0", LEXICAL, COMPOSITE),
        ("names=+3.0 attributes=+1.0 keys=+1.0 nobody_knows=+1.0", LEXICAL, COMPOSITE),
        ("vectors=+9.0 attributes=+0.1", COMPOSITE, COMPOSITE),
        ("descriptions=+0.1", SEMANTIC, COMPOSITE),
        ("reviewer=+2.0", "semapv:ManualMappingCuration", COMPOSITE),
        ("outside=+0.1", STRUCTURAL, STRUCTURAL),
        ("outside=+0.1 vectors=+1.0 domain_range=+1.0", STRUCTURAL, STRUCTURAL),
    ],
)
def test_how_mappings_were_found(evidence, term, shared, make_mapping):
    rows = make_mapping(
        [("a", "b", 0.5, None, None, "", False, evidence), ("c", "d"), ("e", "f", 1, None, None, "", True)]
    ).frame
    kinds = {"outside": "structure"}
    assert justifications(rows, MappingMetadata(), kinds)[:2] == [term, STRUCTURAL]
    assert shared_justification(rows, MappingMetadata(), kinds) == shared
    assert set(justifications(rows, MappingMetadata(justification="semapv:MappingReview"), kinds)) == {
        "semapv:MappingReview"
    }
    assert shared_justification(rows[2:], MappingMetadata(), kinds) == STRUCTURAL


NO_LINKS = "No links were given: learning began from names."


def test_files_say_that_no_links_were_given(make_mapping, tmp_path, readers):
    mapping = replace(make_mapping([("http://a/x", "http://b/y")]), links_from="names").above(0.1).predicted()
    for ending in readers:  # which are those of others
        for links_from in ("names", "given"):
            path = tmp_path / f"{links_from}{ending}"
            write_mapping(replace(mapping, links_from=links_from), path, MappingMetadata(title="Two", all_columns=True))
            assert readers[ending](path) == [("http://a/x", "http://b/y")]
            if ending == ".csv":
                assert ("links_from" in path.read_text(), ",names\n" in path.read_text()) == (
                    links_from == "names",
                ) * 2
            elif ending != ".tsv":  # a file of links, with nothing else in it
                assert (NO_LINKS.encode() in path.read_bytes()) == (links_from == "names")
    *_, found, errors = sssom_pydantic.read(tmp_path / "names.sssom.tsv", return_errors=True)
    assert found.description == NO_LINKS and errors == []
    graph = rdflib.Graph().parse(tmp_path / "names.rdf", format="xml")
    assert [str(text) for text in graph.objects(None, rdflib.DCTERMS.description)] == [NO_LINKS]
    assert pq.read_schema(tmp_path / "names.parquet").metadata[b"mapping_set_description"].decode() == NO_LINKS
    assert MappingMetadata(description="Mine.").with_link_origin("names").description == f"Mine. {NO_LINKS}"


@pytest.mark.parametrize("name", ["m.nt", "m.ttl"])
@pytest.mark.parametrize("predicate", ["skos:exactMatch", "owl:sameAs"])
def test_triples(name, predicate, mapping, write, readers):
    n, path = write(mapping, name, MappingMetadata(**{**ABOUT.__dict__, "predicate": predicate}))
    graph = rdflib.Graph().parse(path)
    vocabulary = {"skos:exactMatch": rdflib.SKOS.exactMatch, "owl:sameAs": rdflib.OWL.sameAs}
    expected = {(f"{DB}France", f"{TARGET}France"), (f"{DB}Spain", f"{TARGET}Es%22pa%09%C3%B1a%0A")}
    assert n == 2 and {(str(s), str(o)) for s, o in graph[: vocabulary[predicate]]} == expected and len(graph) == 2
    assert readers[path.suffix](path) == PAIRS
    if name == "m.ttl":
        assert "dbr:France " in path.read_text() and f"@prefix dbr: <{DB}> ." in path.read_text()


def test_alignment_of_the_oaei(mapping, write, readers):
    n, path = write(mapping, "m.rdf")
    assert n == 2 and readers[".rdf"](path) == PAIRS
    ns = rdflib.Namespace("http://knowledgeweb.semanticweb.org/heterogeneity/alignment")
    graph = rdflib.Graph().parse(path, format="xml")
    one = rdflib.URIRef(ABOUT.set_id)
    assert (one, rdflib.RDF.type, ns.Alignment) in graph
    assert [str(graph.value(one, ns[name])) for name in ("xml", "level", "type")] == ["yes", "0", "??"]
    assert str(graph.value(one, ns.onto2)) == "https://example.org/links#mixtea/graph/YAGO%203"
    assert str(graph.value(one, rdflib.DCTERMS.title)) == "DBpedia: YAGO"
    cell = graph.value(predicate=ns.entity1, object=rdflib.URIRef(f"{DB}France"))
    assert str(graph.value(cell, ns.relation)) == "="
    measure = graph.value(cell, ns.measure)
    assert measure.datatype == rdflib.XSD.float and float(measure) == 0.912346


@pytest.mark.parametrize(
    "rows, kind", [([("a", "A"), ("b", "B")], "11"), ([("a", "A"), ("b", "A")], "+?"), ([("a", "A"), ("a", "B")], "?+")]
)
def test_the_alignment_knows_its_arity(rows, kind, make_mapping, write):
    mapping = make_mapping(rows, more=(("b",), ("B",)))
    assert f"<type>{kind}</type>" in write(mapping, "m.rdf")[1].read_text()


def test_parquet_holds_all_columns_and_the_description(mapping, write):
    n, path = write(mapping, "m.parquet", unmapped())
    table = pq.read_table(path)
    assert n == 3 and table.num_rows == 4 and table["given"].to_pylist() == [False, True, False, False]
    expected = mapping.to_frame().drop(columns="given").astype(object)
    found = table.to_pandas()[expected.columns].astype(object)
    assert found.where(found.notna(), None).values.tolist() == expected.where(expected.notna(), None).values.tolist()
    assert table["source_label"].to_pylist()[:2] == ["France, the\tcountry", None]
    about = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    assert about["mapping_set_id"] == ABOUT.set_id and about["mapping_date"] == "2026-01-31"
    assert about["license"] == ABOUT.licence and about["predicate_id"] == "skos:exactMatch"


def test_links_have_their_probability_and_no_header(make_mapping, write, readers):
    rows = [("a", 'say "b"', 0.9), ("=1+1", " c ", 0.4), ("d", None)]
    n, path = write(make_mapping(rows), "m.tsv")
    assert n == 2 and path.read_bytes() == b'a\tsay "b"\t0.900000\n=1+1\t c \t0.400000\n'
    assert readers[".tsv"](path) == [row[:2] for row in rows[:2]]


def test_csv_has_four_columns_unless_all_are_asked_for(mapping, write, caplog):
    n, path = write(mapping, "m.csv", unmapped(about=replace(ABOUT, source_name="x")))
    assert n == 3 and path.read_bytes().decode() == (
        f"source,target,probability,decision\n{DB}France,France,0.912346,mapped\n"
        f'{DB}Spain,"Es""pa\tña\n",1.000000,mapped\n{DB}Atlantis,,0.750000,mapped\n_:b0,Gaul,0.500000,mapped\n'
    )
    assert caplog.messages == []  # labels that look like formulas are not written


@pytest.mark.parametrize("name", ["m.tsv", "m.csv"])
def test_tables_of_mappings_are_read_back_with_their_probabilities(name, make_mapping, write):
    rows = [("007", "NA", 0.9), ("1e5", 'say "b", =x', 0.4), (" a", "b ", 1.0)]
    _, path = write(make_mapping(rows), name)
    for kept in (rows, rows[:1]):
        path.unlink()
        write(make_mapping(kept), name)
        found = read_pairs(path, Problems()).frame
        assert list(found.itertuples(index=False, name=None)) == kept
        assert evaluate(path, [row[:2] for row in kept]).scores["f1"] == 1


DECIDED = [
    ("mapped", "t0"), ("mapped anyway", "t1"), ("further target", "t2"), ("given", "t3"), ("no counterpart", None),
    ("target taken", None), ("unsure", None), ("no evidence", None),
]  # fmt: skip


@pytest.fixture
def every_decision(make_mapping):
    """A source for each decision that there is."""
    rows = [
        (f"s{i}", target, 0.4, None, None, "", word == "given", "", word) for i, (word, target) in enumerate(DECIDED)
    ]
    return make_mapping(rows)


def test_every_decision_is_written_in_words(every_decision, write):
    assert {*DECISIONS} <= {"", *(word for word, _ in DECIDED)}
    words = [word for word, _ in DECIDED]
    _, path = write(every_decision, "m.csv", unmapped())
    assert pd.read_csv(path)["decision"].tolist() == words
    path.unlink()
    _, path = write(every_decision, "m.json", unmapped())
    assert [row["decision"] for row in json.loads(path.read_text(encoding="utf-8"))["mappings"]] == words
    path.unlink()
    _, path = write(every_decision, "m.parquet", unmapped())
    assert pq.read_table(path)["decision"].to_pylist() == words
    path.unlink()
    _, path = write(every_decision, "m.sssom.tsv", unmapped())
    mappings, *_, errors = sssom_pydantic.read(path, return_errors=True)
    assert errors == [] and [one.extensions["ext_decision"].value for one in mappings] == words


def test_sssom_has_no_column_of_decisions_where_all_are_mapped_or_given(every_decision, write):
    plain = replace(every_decision, frame=every_decision.frame.iloc[[0, 3]])
    _, path = write(plain, "m.sssom.tsv")
    assert "ext_decision" not in path.read_text(encoding="utf-8")


def test_iris_stay_as_they_are_in_graphs_of_iris(make_mapping, write, readers):
    rows = [("ex:a", "urn:x:1"), ("HTTP://A/../b/.", "http://b/\u00a0c"), ("_:b", "urn:x:2")]
    for ending in (".nt", ".ttl", ".rdf", ".sssom.tsv"):
        _, path = write(make_mapping(rows), f"m{ending}")
        assert sorted(readers[ending](path)) == sorted(rows[:2]) and "#mixtea/source" not in path.read_text()
        path.unlink()
    _, path = write(make_mapping([*rows, ("Alien:_Covenant", "x"), ("no iri", "x")]), "m.nt")
    assert "#mixtea/source/Alien%3A_Covenant" in path.read_text()


def test_csv_and_json_hold_every_column(mapping, write, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        n, path = write(mapping, "m.csv", unmapped(all_columns=True))
    assert n == 3 and "1 texts begin like a formula ('=1+1')" in caplog.text
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    path.unlink()
    n, path = write(mapping, "m.json", unmapped())
    found = json.loads(path.read_text(encoding="utf-8"))
    assert n == 3 and found["mapping_set_id"] == ABOUT.set_id and found["license"] == ABOUT.licence
    assert found["links_from"] == "given" and len(found["mappings"]) == len(rows) == 4
    assert found["mappings"][0] == {
        "source": f"{DB}France", "source_label": "France, the\tcountry", "target": "France", "target_label": "=1+1",
        "probability": 0.912346, "runner_up": "Gaul", "runner_up_probability": 0.05, "voters": "forward+backward",
        "given": False, "evidence": "names=+9.1 vectors=-0.5", "decision": "mapped",
    }  # fmt: skip
    assert found["mappings"][2]["target"] is None and rows[2]["target"] == ""
    shown = {True: "true", False: "false", None: ""}
    for row, other in zip(rows, found["mappings"], strict=True):
        texts = {k: f"{v:.6f}" if isinstance(v, float) else shown.get(v, v) for k, v in other.items()}
        assert row == texts


def test_blank_nodes_are_left_out_and_counted(mapping, write, caplog, readers):
    for ending in (".nt", ".ttl", ".rdf", ".sssom.tsv"):
        with caplog.at_level(logging.WARNING):
            _, path = write(mapping, f"m{ending}")
        assert "1 of 3 rows left out, for blank nodes" in caplog.text and "_:" not in path.read_text()
        path.unlink()
        caplog.clear()
    _, path = write(mapping, "m.parquet")
    assert readers[".parquet"](path)[2] == ("_:b0", "Gaul") and caplog.text == ""


def test_what_is_logged_of_blank_nodes_can_be_shown(mapping, write, caplog):
    with caplog.at_level(logging.WARNING):
        write(mapping, "m\x1b[31m\n.nt")
    assert r"m\x1b[31m\n.nt: 1 of 3 rows left out" in caplog.text and "\x1b" not in caplog.text


@pytest.mark.parametrize("ending", FORMATS)
def test_an_empty_mapping(ending, make_mapping, write):
    mapping = make_mapping([("a", None)])
    n, path = write(mapping, f"m{ending}")
    assert n == 0 and path.exists()
    if ending == ".sssom.tsv":
        assert sssom_pydantic.read(path).mappings == []
    elif ending == ".parquet":
        assert pq.read_schema(path).field("target").type == "string" and pd.read_parquet(path).empty
    elif ending == ".rdf":
        assert len(list(pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.RDF_XML))) > 5
    elif ending == ".csv":
        assert path.read_text() == "source,target,probability,decision\n"
    elif ending == ".json":
        assert json.loads(path.read_text())["mappings"] == []
    else:
        assert path.read_bytes() == b""


REFUSED = [
    ("m.tsv", "a\tb", r"'\t' (U+0009), which separates columns or lines in .tsv. .parquet can take it"),
    ("m.nt", "http://a/b c", "' ' (U+0020), which an IRI must not hold. .parquet can take it"),
    ("m.ttl", "http://a/%zz", "is not a valid IRI (Invalid IRI percent encoding '%zz'). .parquet can take it"),
    ("m.rdf", "urn:a\x00", r"'\x00' (U+0000), which an IRI must not hold"),
    ("m.sssom.tsv", "http://a/\u3000", r"(U+3000), which readers of SSSOM strip from its end"),
    ("m.parquet", "a\ud800", r"'\ud800' (U+D800), which is half a character. No format can take it"),
    ("m.tsv", "\ufeffa", r"'\ufeff' (U+FEFF), which readers drop from the start of a file"),
    ("m.tsv", "", "has no label, where a line needs one"),
    ("m.nt", "", "has an empty id, which no IRI can hold"),
    ("m.csv", "", "has an empty id, which .csv cannot tell from none"),
    ("m.json", "a\ud800", r"'\ud800' (U+D800), which is half a character"),
]


@pytest.mark.parametrize("name, label, message", REFUSED)
def test_what_a_format_cannot_hold_is_refused_by_name(name, label, message, make_mapping, tmp_path):
    for rows in ([("x", "y"), (label, "z")], [("x", label), ("y", label)]):
        (tmp_path / name).write_text("as before")
        with pytest.raises(RunError) as error:
            write_mapping(make_mapping(rows), tmp_path / name, ABOUT)
        assert f"{tmp_path / name}: the entity {label!r} " in str(error.value) and message in str(error.value)
        assert (tmp_path / name).read_text() == "as before" and len(list(tmp_path.iterdir())) == 1


def test_a_refusal_counts_the_others(make_mapping, tmp_path):
    with pytest.raises(RunError, match=r"'a\\ud800' .* No format can take it: mend the text\. 2 more cannot"):
        write_mapping(make_mapping([("a\ud800", "b\tc\ud801"), ("a\ud800", "\n")]), tmp_path / "m.tsv")


def test_a_broken_label_is_refused_too(make_mapping, tmp_path):
    for ending in (".sssom.tsv", ".parquet", ".csv", ".json"):
        with pytest.raises(RunError, match=r"the entity 'b' has a label that holds .*U\+D800"):
            write_mapping(make_mapping([("a", "b")], target_labels={"b": "\ud800"}), tmp_path / f"m{ending}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["m.xlsx", "m", "tsv", "m.sssom"])
def test_other_endings_are_refused_with_the_list(name, mapping, tmp_path):
    with pytest.raises(ConfigError, match=r"no format goes with the ending .*\.sssom\.tsv, \.tsv, \.nt, \.ttl, \.rdf"):
        write_mapping(mapping, tmp_path / name)


@pytest.mark.parametrize("name", ["m.tsv", "m.nt", "m.ttl", "m.rdf"])
def test_formats_without_a_word_for_no_counterpart_say_so(name, mapping, tmp_path):
    with pytest.raises(ConfigError, match=r"Choose \.sssom\.tsv, \.parquet, \.csv or \.json"):
        write_mapping(mapping, tmp_path / name, unmapped())


@pytest.mark.parametrize(
    "field, value",
    [("set_id", "no iri"), ("set_id", "http://a/#b"), ("licence", "MIT"), ("predicate", "owl:same"),
     ("justification", "semapv:Guess"), ("title", "a\nb"), ("source_name", "")],
)  # fmt: skip
def test_a_wrong_description_is_refused(field, value):
    with pytest.raises(ConfigError, match=f"^{field}: "):
        MappingMetadata(**{field: value})


def test_the_identifier_is_made_from_the_mappings(make_mapping, write):
    made = [
        MappingMetadata().with_id(make_mapping(rows).frame).set_id
        for rows in ([("a", "b")], [("a", "b")], [("a", "c")])
    ]
    assert made[0] == made[1] != made[2]
    _, path = write(make_mapping([("a", "b")]), "m.sssom.tsv", MappingMetadata())
    found = sssom_pydantic.read(path).mapping_set
    assert str(found.id) == made[0] and str(found.license) == UNSPECIFIED
