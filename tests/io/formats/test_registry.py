"""Files whose ending is missing or wrong are read as what they are, and it is said."""

from __future__ import annotations

import gzip

import pytest
from conftest import write
from small_files import E, excel, graph_of, parquet, sqlite, triples_of

from mixtea import DataError, load_task
from mixtea.io.formats.registry import FORMATS, detect_format, format_row, format_warnings
from mixtea.io.safe.limits import UnreadableError

NT = f"<{E}a> <{E}r> <{E}b> .\n<{E}b> <{E}s> <{E}c> .\n"
XML = f"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="{E}">
<rdf:Description rdf:about="{E}a"><r rdf:resource="{E}b"/></rdf:Description>
<rdf:Description rdf:about="{E}b"><s rdf:resource="{E}c"/></rdf:Description></rdf:RDF>"""
TTL = f"# mine\n\n@prefix e: <{E}> .\ne:a e:r e:b .\ne:b e:s e:c .\n"
OTHER_TTL = f"<{E}a> <{E}r>\n <{E}b> .\n<{E}b>\n <{E}s> <{E}c> .\n"
TSV = f"{E}a\t{E}r\t{E}b\n{E}b\t{E}s\t{E}c\n"
HEADER, TRIPLES = ("head", "relation", "tail"), [(E + "a", E + "r", E + "b"), (E + "b", E + "s", E + "c")]
CONTENTS = {
    "N-Triples": NT, "N-Triples by tabs": NT.replace("> <", ">\t<"), "Turtle": TTL, "Turtle written out": OTHER_TTL,
    "RDF/XML": XML, "TSV": TSV, "CSV": TSV.replace("\t", ","), "CSV by bars": TSV.replace("\t", "|"),
    "N-Quads": NT.replace("> .", f"> <{E}g> ."), "TriG": TTL.replace("e:a e:r e:b .", "e:g {\n e:a e:r e:b .\n}"),
    "Parquet": parquet(dict(zip(HEADER, zip(*TRIPLES, strict=True), strict=True))),
    "Excel": excel({"Sheet": [HEADER, *TRIPLES]}), "SQLite": sqlite({"t": (", ".join(HEADER), TRIPLES)}),
}  # fmt: skip


@pytest.mark.parametrize("name", ["g", "g.txt", "g.tsv", "g.dump"])
@pytest.mark.parametrize("content", CONTENTS)
def test_a_graph_is_known_by_its_content(content, name, tmp_path):
    graph = graph_of(tmp_path, {name: CONTENTS[content]})
    assert sorted(triples_of(graph)) == [(E + "a", E + "r", E + "b"), (E + "b", E + "s", E + "c")]
    assert content.startswith(graph.files[0].format)


@pytest.mark.parametrize(
    "name, content",
    [("g.owl", "Turtle"), ("g.rdf", "N-Triples"), ("g.xml.gz", "N-Quads"), ("g.ttl", "RDF/XML"), ("g.csv", "Turtle"),
     ("g.nt", "Turtle"), ("g.nt", "N-Quads"), ("g.parquet", "N-Triples"), ("g.n3", "Turtle"), ("g.csv", "Parquet"),
     ("g.csv", "Excel"), ("g.xls", "Excel"), ("g.nt", "SQLite")],
)  # fmt: skip
def test_another_content_than_the_ending_says(name, content, tmp_path):
    text = CONTENTS[content]
    data = text if isinstance(text, bytes) else text.encode()
    write(
        tmp_path, {name: gzip.compress(data) if name.endswith(".gz") else data, "t.tsv": TSV, "l.tsv": f"{E}a\t{E}a\n"}
    )
    task = load_task(source=tmp_path / name, target=tmp_path / "t.tsv", links=tmp_path / "l.tsv")
    (warning,) = task.warnings
    assert warning.startswith(f"{tmp_path / name}: read as {content}, by its content; the ending .")
    assert task.source.n_triples == 2


def test_the_ending_counts_where_the_content_fits(tmp_path):
    for name, text in (("g.ttl", NT), ("g.trig", NT), ("g.nq", NT), ("g.trig", TTL), ("g.csv", TSV), ("g.ttl", "")):
        write(tmp_path, {name: text})
        assert format_warnings(tmp_path / name, detect_format(tmp_path / name)) == []


def test_every_format_has_what_its_row_needs():
    """A new format is a row: it has a way to be recognised and an ending to be suggested."""
    assert all(row.recognise or row.recognise_named for row in FORMATS.values())
    assert all(row.suggested_ending or row.endings for row in FORMATS.values())
    endings = [ending for row in FORMATS.values() for ending in row.endings]
    assert len(endings) == len(set(endings))
    with pytest.raises(DataError, match="HDT is not a known format"):
        format_row("HDT")


HOSTILE = {
    "blank lines": "\n" * 70_000, "spaces": " " * 70_000 + "x", "after a literal": f'<{E}a> <{E}r> "x"' + " " * 70_000,
    "comments": "<!---->" * 9_000 + "<", "braces": "<a> " * 17_000 + "{", "quotes": f'<{E}a> <{E}r> "' + "\\x" * 30_000,
    "spaces and braces": "@prefix e: <e:> .\n" + ("e:" + " " * 600 + "\n") * 100, "commas": "," * 70_000,
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_beginning_takes_long(kind, tmp_path):
    """Looking for what never ends would take minutes here, were it done twice for each sign."""
    path = write(tmp_path, {"g": HOSTILE[kind]}) / "g"
    try:
        assert detect_format(path) in FORMATS
    except UnreadableError as error:
        assert error.problem.todo


TABLES = {
    "semicolons": ("l.csv", "a;A\nb;B\n"),
    "semicolons and decimal commas": ("l.csv", "a;A;0,5\nb;B;1,0\n"),
    "tabs": ("l.csv", "a\tA\nb\tB\n"),
    "a header of semicolons": ("l.csv", "target;note;source\nA;x,y;a\nB;z,w;b\n"),
    "a header of tabs": ("l.tsv", "Target URI\tSource URI\nA\ta\nB\tb\n"),
    "comments": ("l.tsv", "# made by hand\na\tA\n#b\nb\tB\n"),
    "comments and a header": ("l.tsv", "#made\tby hand\n# x\nSrcEntity\tTgtEntity\tScore\na\tA\t1.0\nb\tB\t0.5\n"),
    "a commented header": ("l.txt", "#entity1\tentity2\na\tA\nb\tB\n"),
    "comments in CSV": ("l.csv", "# one, two, three\nleft,right\na,A\n# done\nb,B\n"),
    "bars, as LogMap": ("l.txt", "a|A|=|0.9|CLS\nb|B|=|1.0|CLS\n"),
    "measures": ("l", "a\tA\t0.9\nb\tB\t1\n"),
    "a mark of UTF-8": ("l.csv", b"\xef\xbb\xbfsource,target\r\na,A\r\nb,B\r\n"),
    "SSSOM by commas": ("l.csv", "subject_id,predicate_id,object_id\na,owl:sameAs,A\nb,owl:sameAs,B\nc,x:near,C\n"),
    "Parquet": ("l.parquet", parquet({"note": ["x", "y"], "Object ID": ["A", "B"], "subject_id": ["a", "b"]})),
    "Excel": ("l.xlsx", excel({"L": [("note", "Object ID", "subject_id"), ("x", "A", "a"), (None, "B", "b")]})),
    "SQLite": ("l.db", sqlite({"l": ("note, target, source", [("x", "A", "a"), (None, "B", "b")])})),
    "Magellan": ("l.csv", "_id,ltable_id,rtable_id\n0,a,A\n1,b,B\n"),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_links_as_people_write_them(kind, tmp_path):
    name, content = TABLES[kind]
    write(tmp_path, {"s": "a\tr\tb\nb\tr\tc\n", "t": "A\tr\tB\nB\tr\tC\n", name: content})
    task = load_task(source=tmp_path / "s", target=tmp_path / "t", links=tmp_path / name, valid_links=[])
    links = [*task.train.tolist(), *task.valid.tolist()]
    assert sorted((task.source.ids[s], task.target.ids[t]) for s, t in links) == [("a", "A"), ("b", "B")]


RELATED = [("source", "relation", "target"), ("a", "=", "A"), ("b", "<", "B"), ("c", "EquivRelation", "C")]
RELATED_LINKS = {
    "l.csv": "\n".join(map(",".join, RELATED)), "l.xlsx": excel({"L": RELATED}),
    "l.parquet": parquet(dict(zip(RELATED[0], zip(*RELATED[1:], strict=True), strict=True))),
    "l.db": sqlite({"l": (",".join(RELATED[0]), RELATED[1:])}),
}  # fmt: skip


@pytest.mark.parametrize("name", RELATED_LINKS)
def test_rows_of_another_relation_are_left_out(name, tmp_path):
    write(tmp_path, {"s": "a\tr\tb\nb\tr\tc\n", "t": "A\tr\tB\nB\tr\tC\n", name: RELATED_LINKS[name]})
    task = load_task(source=tmp_path / "s", target=tmp_path / "t", links=tmp_path / name)
    assert len(task.train) + len(task.valid) == 2
    assert task.warnings == (
        f"{tmp_path / name}: 1 row is left out, not stating that two are the same (1 of the relation <)",
    )


def test_a_header_in_tab_separated_triples(tmp_path):
    text = "tail\tnote\thead\trelation\nb\tx\ta\tr\n"
    assert triples_of(graph_of(tmp_path, {"g.tsv": text})) == [("a", "r", "b")]


@pytest.mark.parametrize(
    "name, text, what",
    [
        (
            "g.graphml",
            '<?xml version="1.0"?>\n<!-- my -->\n<graphml xmlns="http://g"/>',
            "GraphML or GEXF.*NetworkX",
        ),
        ("g.gml", 'Creator "me"\ngraph [ node [ id 0 ] ]', "GML"),
        ("g.dot", 'strict digraph "G" {\n a -> b }', "DOT"),
        ("g.pdf", "%PDF-1.4\n1 0 obj", "a PDF"),
        ("g.tsv", '?item\t?label\n<http://e.org/a>\t"a"@en\n', r"the result of a query as TSV \(SPARQL\)"),
        ("g.rq", "prefix e: <http://e.org/>\nSELECT ?s WHERE { ?s ?p ?o }", r"a query \(SPARQL\), not its result"),
    ],
)
def test_what_is_not_read_is_named(name, text, what, tmp_path):
    write(tmp_path, {name: text})
    with pytest.raises(UnreadableError, match=what):
        detect_format(tmp_path / name)


def test_xml_of_another_kind_is_named(tmp_path):
    with pytest.raises(DataError, match="not RDF/XML: XML of another kind"):
        graph_of(tmp_path, {"g.xml": "<records><record id='1'><title>x</title></record></records>"})
