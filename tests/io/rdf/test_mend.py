"""RDF that is not quite right: what is read of it, what is left out, what is said, and what stays an error."""

from __future__ import annotations

import json

import pytest
from conftest import write
from small_files import E, graph_of, triples_of

from mixtea.errors import DataError, Problems
from mixtea.io.links.read import read_link_table, read_links
from mixtea.io.rdf import mend as rdf_mending
from mixtea.io.rdf.mend import NO_BASE, find_base, resolve_iri

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
SAME = "<http://www.w3.org/2002/07/owl#sameAs>"
A, R, B, C, D = (f"<{E}{name}>" for name in "arbcd")
GOOD = f"{A} {R} {B} .\n{B} {R} {C} .\n{C} {R} {D} .\n"
XML = f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="{E}"'
NODE = f'<rdf:Description rdf:{{}}="{{}}">\n<e:r rdf:resource="{E}z"/></rdf:Description>\n'


def mended(folder, name, content):
    """The triples and literals of a file, and the notes about it; with `strict` it is an error."""
    graph = graph_of(folder, {name: content})
    with pytest.raises(DataError):
        graph_of(folder, {name: content}, strict=True)
    values = [
        (graph.ids[i], value, language)
        for i in range(len(graph.ids))
        for _, value, language, _ in graph.attributes_of(i)
    ]
    return triples_of(graph), values, graph.files[0].notes


def note(kind, said):
    return (f"not quite {kind}: {said}. With --strict it is an error.",)


LINES = {
    "a number": (f"{A} {R} 5 .", "1 of 4 statements is left out, in line 2 (The object of a triple must be"),
    "no dot": (f"{A} {R} {D}", "1 of 4 statements is left out, in line 2 (Triples must be followed by a dot"),
    "an open quote": (f'{A} {R} "x', "1 of 4 statements is left out, in line 2 ("),
    "a space": (f"<{E}a b> {R} {D} .", "1 of 4 statements is left out, in line 2 (Invalid IRI code point ' ')"),
    "two": (f"{A} {R} {D} . {A} {R} {A} .", "1 of 4 statements is left out, in line 2 (Only a single"),
    "an address": (f"<//[> {R} {D} .", "1 of 4 statements is left out, in line 2 ("),
    "several": (f"{A} {R} 5 .\nx", "2 of 5 statements are left out, the first in line 2 (The object"),
    "a relative one with a space": (f"<a b> {R} {D} .", "1 of 4 statements is left out, in line 2 (Invalid IRI code"),
    "a tag that is cut": (f'{A} {R} "x"@', "1 of 4 statements is left out, in line 2 ("),
}  # fmt: skip


@pytest.mark.parametrize("case", LINES)
@pytest.mark.parametrize("ending", ["nt", "nq"])
def test_a_bad_line_is_left_out(case, ending, tmp_path):
    line, said = LINES[case]
    first, _, rest = GOOD.partition("\n")
    triples, values, notes = mended(tmp_path, f"g.{ending}", f"{first}\n{line}\n{rest}")
    assert triples == [(E + a, E + "r", E + b) for a, b in ("ab", "bc", "cd")] and not values
    assert said in notes[0]


def test_lines_that_leave_no_doubt_are_mended(tmp_path):
    lines = f'{A} a {D} .\n_:x a {D} .\n{A} {R} "<i>"@francaise .\n<#a> <r> "<i>"@en .\n<x> {R} "x"^^<t> .\n'
    lines += f'<#b> a "y"@francaises-x .\n<> {R} {D} .\n'
    triples, values, notes = mended(tmp_path, "g.nt", GOOD + lines)
    assert triples[3:] == [(E + "a", TYPE, E + "d"), (NO_BASE, E + "r", E + "d")]
    assert values == [
        (E + "a", "<i>", ""), (NO_BASE + "#a", "<i>", "en"), (NO_BASE + "x", "x", ""), (NO_BASE + "#b", "y", ""),
    ]  # fmt: skip
    assert notes[-1:] == note(
        "N-Triples",
        "2 language tags are left out, their texts kept, the first in line 6 ('@francaise'); 4 statements have "
        f"relative IRIs, taken as relative to {NO_BASE}, the first in line 7 ('<#a>'); 3 statements have `a`, taken as "
        "rdf:type, the first in line 4",
    )


def test_a_named_graph_stays_when_a_tag_goes(tmp_path):
    _, values, notes = mended(tmp_path, "g.nq", f'{A} {R} "x"@francaise {D} .\n')
    assert values == [(E + "a", "x", "")] and "1 language tag is left out, its text kept, in line 1" in notes[0]


LATIN_1 = b'<a:b> <a:c> "\xe9" .\n'
WORSE = {
    "half of it is bad": ("g.nt", f"{A} {R} {B} .\n{A} {R} 5 .\n", "line 2: not N-Triples: The object"),
    "Turtle as N-Triples": ("g.nt", f"{A} {R} {B} ;\n {R} {C} .\n{A} {R} {D} .\n", "line 1: not N-Triples"),
    "cut at the end": ("g.nt", f"{GOOD}{A} {R} <htt", "line 4: not N-Triples"),
    "cut after a mistake": ("g.nt", f"{A} {R} 5 .\n{GOOD}{A} {R} <htt", "line 5: not N-Triples"),
    "Latin-1": ("g.nt", GOOD.encode() + LATIN_1 + GOOD.encode(), "line 4: .* UTF-8"),
    "Latin-1 after a mistake": ("g.nt", f"{A} {R} 5 .\n{GOOD}".encode() + LATIN_1, "line 5: .* UTF-8"),
    "a prefix": ("g.ttl", f"{GOOD}p:a {R} {B} .\n{GOOD}", "line 4: not Turtle: The prefix p:"),
    "a prefix after a tag": ("g.ttl", f'{GOOD}{A} {R} "x"@francaise .\np:a {R} {B} .\n', "line 5: .* The prefix p:"),
    "a text without end": ("g.ttl", f'{GOOD}{A} {R} "x .\n{GOOD}{A} {R} "y" .\n', "line 4: not Turtle: Line jumps"),
    "one after a tag": ("g.ttl", f'{A} {R} "x"@francaise .\n{A} {R} "x\n" .\n', "line 1: not Turtle: A subtag"),
    "structure": ("g.rdf", f"{XML}>{NODE.format('about', 'x')}\n<rdf:li/></rdf:RDF>", "line 4: not RDF/XML: Invalid"),
    "an id of an element": ("g.rdf", f"{XML}>{NODE.format('nodeID', '1 x')}</rdf:RDF>", "line 1: .* valid rdf:nodeID"),
    "an entity": ("g.rdf", f"{XML}>{NODE.format('ID', '&x;')}</rdf:RDF>", "not RDF/XML"),
}  # fmt: skip


@pytest.mark.parametrize("case", WORSE)
def test_what_stays_an_error(case, tmp_path):
    name, content, message = WORSE[case]
    with pytest.raises(DataError, match=message):
        graph_of(tmp_path, {name: content})


def test_a_file_of_another_kind_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(rdf_mending, "MIN_LEFT_OUT", 3)
    left_out = []
    monkeypatch.setattr(rdf_mending.Mending, "add", lambda self, what, *about: left_out.append(what) or add(self, what))

    def add(self, what):
        self.counts[what] += 1

    with pytest.raises(DataError, match="line 1: not N-Triples"):
        graph_of(tmp_path, {"g.nt": "a,b,c\n" * 1000})
    assert len(left_out) == 4


def test_turtle_with_terms_that_are_wrong(tmp_path):
    text = f'@prefix : <{E}> .\n:a :r :b ; :s "x"@francaise , <{E}a b> ,\n <#c> . <d> :r [ :s <> ] .\n'
    triples, values, notes = mended(tmp_path, "g.ttl", text)
    assert triples == [(E + "a", E + "r", E + "b"), (E + "a", E + "s", E + "#c"), (E + "d", E + "s", E)]
    assert values == [(E + "a", "x", "")]
    said = (
        "1 of 6 statements is left out, in line 2 (Invalid IRI code point ' '); 1 language tag is left out, its text "
    )
    said += "kept, in line 2 ('@francaise'); 3 statements have relative IRIs, taken as relative to "
    assert notes[-1:] == note("Turtle", f"{said}{E}, the first in line 3 ('<#c>')")


def test_ids_that_are_not_names(tmp_path):
    ids = (
        "a:b/c?d=%41",
        "1",
        "x y%",
        "a&amp;b",
        "–",
        "ok",
        "ok",
        "#<>\ue000".replace("<", "&lt;").replace(">", "&gt;"),
    )
    nodes = [NODE.format("ID", id) for id in ids]
    triples, _, notes = mended(tmp_path, "g.rdf", f'{XML} xmlns="{E}o#">\n{"".join(nodes)}</rdf:RDF>')
    kept = ("a:b/c?d=%41", "1", "x%20y%25", "a&b", "–", "ok", "%23%3C%3E%EE%80%80")
    assert [head.removeprefix(f"{E}o#") for head, _, _ in triples] == list(kept)
    assert notes == note(
        "RDF/XML",
        f"8 statements have relative IRIs, taken as relative to {E}o#, the first in line 3 ('<#a:b/c?d=%41>'); 6 times "
        "rdf:ID is not an XML name, and kept, the first in line 2 ('a:b/c?d=%41'); 1 rdf:ID comes again, taken as the "
        "same entity, in line 14 ('ok')",
    )


def test_an_id_of_a_statement_and_a_base_of_the_file(tmp_path):
    text = f'{XML} xml:base="{E}o"><rdf:Description rdf:about="#a"><e:r rdf:ID="s:1" rdf:resource="#b"/>'
    graph = graph_of(tmp_path, {"g.rdf": text + "</rdf:Description></rdf:RDF>"})
    assert triples_of(graph)[0] == (f"{E}o#a", E + "r", f"{E}o#b") and f"{E}o#s:1" in graph.ids
    assert "relative" not in graph.files[0].notes[0] and graph.files[0].base == ""


def test_an_iri_cannot_state_more_than_it_says(tmp_path):
    """A line break in an IRI, which only mending lets through, breaks no number of a line."""
    links = f'{XML} xmlns:o="http://www.w3.org/2002/07/owl#">\n' + "".join(
        f'<rdf:Description rdf:about="{E}{name}"><o:sameAs rdf:resource="http://f/{name}"/></rdf:Description>\n'
        for name in ("a&#10;x", "b", "c")
    )
    write(tmp_path, {"l.rdf": links + "</rdf:RDF>"})
    table = read_link_table(tmp_path / "l.rdf", problems := Problems())
    assert not problems.found and table.columns[0].tolist() == [E + "b", E + "c"]
    assert "2 of 4 statements" in table.warnings[0] or "1 of 3 statements" in table.warnings[0]


def test_characters_that_nobody_uses_end_no_text(tmp_path):
    text = "".join(chr(0xE1000 + ord(one)) for one in '"<>\n\\:')
    content = f'{XML}><rdf:Description rdf:about="x"><e:r>{text}</e:r></rdf:Description></rdf:RDF>'
    _, values, _ = mended(tmp_path, "g.rdf", content)
    assert values == [(NO_BASE + "x", text[:-1] + ":", "")]


def test_json_ld_without_a_base(tmp_path):
    content = json.dumps([{"@id": "a", E + "r": {"@id": "#b"}}, {"@id": E, E + "r": 5}], indent=0)
    triples, _, notes = mended(tmp_path, "g.jsonld", content)
    assert triples == [(NO_BASE + "a", E + "r", NO_BASE + "#b")]
    assert notes[0].startswith(
        f"not quite JSON-LD: 1 statement has relative IRIs, taken as relative to {NO_BASE}, in line"
    )


BASES = {
    "the default namespace": ("RDF/XML", b'<r xmlns="http://a/o#" xmlns:b="http://b/">', "http://a/o#"),
    "an entity": ("RDF/XML", b'<!ENTITY o "http://a/o#"> <r xmlns = "&o;x">', "http://a/o#x"),
    "an entity that is unknown": ("RDF/XML", b'<r xmlns="&o;x">', NO_BASE),
    "xmlns:base": ("RDF/XML", b'<r xmlns:base="http://a/" xmlns="http://b/">', "http://a/"),
    "words of others": ("RDF/XML", b'<r xmlns="http://www.w3.org/2002/07/owl#">', NO_BASE),
    "the ontology": ("RDF/XML", b'<r xmlns="o#"><owl:Ontology rdf:about="http://a/o"/>', "http://a/o"),
    "itself": ("RDF/XML", b'<r><owl:Ontology rdf:about=""/>', NO_BASE),
    "a prefix": ("Turtle", b"@prefix a: <http://b/> . @prefix : <http://a/> .", "http://a/"),
    "SPARQL's": ("TriG", b"PREFIX : <http://a/>", "http://a/"),
    "the ontology in Turtle": ("Turtle", b"<http://a/o> a owl:Ontology .", "http://a/o"),
    "lines": ("N-Triples", b"@prefix : <http://a/> .", NO_BASE),
}  # fmt: skip


@pytest.mark.parametrize("case", BASES)
def test_the_base_comes_from_the_text_of_the_file(case):
    kind, first, base = BASES[case]
    assert find_base(first, kind) == base


def test_half_an_address_stays_relative():
    assert resolve_iri("//[", NO_BASE) == "//["


LINKS = {
    "relative": ("#a", "b"),
    "relative to nothing": (NO_BASE + "#a", NO_BASE + "#b"),
    "in full": ("http://x.org/o#a", f"{E}o#b"),
    "without the sign": ("a", "#b"),
}


@pytest.mark.parametrize("case", LINKS)
def test_links_to_entities_with_relative_iris(case, tmp_path):
    """The source says nothing of its namespace, the target does."""
    write(tmp_path, {"l.tsv": "\t".join(LINKS[case]) + "\n"})
    source = graph_of(tmp_path, {"a.rdf": f"{XML}>{NODE.format('ID', 'a')}</rdf:RDF>"})
    target = graph_of(tmp_path, {"b.rdf": f'{XML} xmlns="{E}o#">{NODE.format("ID", "b")}</rdf:RDF>'})
    assert (source.files[0].base, target.files[0].base) == (NO_BASE, f"{E}o#")
    found = read_links(tmp_path / "l.tsv", "train", source, target, problems := Problems())
    assert not problems.found and [(source.ids[s], target.ids[t]) for s, t in found.pairs] == [
        (NO_BASE + "#a", f"{E}o#b")
    ]


def test_namespaces_of_links_that_differ_tell_nothing(tmp_path):
    nodes = NODE.format("ID", "a") + NODE.format("ID", "c")
    graph = graph_of(tmp_path, {"a.rdf": f"{XML}>{nodes}</rdf:RDF>"})
    write(tmp_path, {"l.tsv": "http://x/#a\t#a\nhttp://y/#c\t#c\n#a\t#c\n"})
    found = read_links(tmp_path / "l.tsv", "train", graph, graph, problems := Problems())
    assert not problems.found and len(found.pairs) == 1


def test_links_in_rdf_with_a_bad_line(tmp_path):
    rows = [f"{A} {SAME} <#{name}> ." for name in "bc"]
    write(tmp_path, {"l.nt": "\n".join([*rows, f'{A} {SAME} "x" .', f"{A} {SAME} x .", ""])})
    table = read_link_table(tmp_path / "l.nt", problems := Problems())
    assert table.columns[1].tolist() == [NO_BASE + "#b", NO_BASE + "#c"] and len(problems.found) == 1
    assert "1 of 4 statements is left out, in line 4" in table.warnings[0]
    read_link_table(tmp_path / "l.nt", problems := Problems(strict=True))
    assert [problem.line for problem in problems.found] == [1]


def test_triples_of_triples_are_found_in_a_mended_file(tmp_path):
    with pytest.raises(DataError, match=r"line 5: 1 statement about a triple"):
        graph_of(tmp_path, {"g.nt": f"{A} a {B} .\n{GOOD}{A} {R} <<( {A} {R} {B} )>> .\n"})


def test_a_file_by_line_and_at_once_gives_the_same(tmp_path):
    from mixtea.io.rdf.mend import Mending
    from mixtea.io.rdf.parse import MendableError, Statements

    write(tmp_path, {"g.rdf": f"{XML}>{NODE.format('ID', 'a:b') * 2}</rdf:RDF>"})
    with pytest.raises(MendableError) as caught:
        list(Statements(tmp_path / "g.rdf", "RDF/XML"))
    found = [
        [str(quad) for quad in Statements(tmp_path / "g.rdf", "RDF/XML", by_line=by_line, mending=mending)]
        for by_line in (False, True)
        for mending in [Mending(tmp_path / "g.rdf", "RDF/XML", caught.value)]
    ]
    assert found[0] == found[1] and f"<{NO_BASE}#a:b>" in found[0][0]


def test_only_the_predicate_is_looked_at_for_a():
    """In the middle of a line there could be many places to begin."""
    assert rdf_mending.Mending._typed(b"5 <a:b> a <a:c> .") == (b"5 <a:b> a <a:c> .", "")
