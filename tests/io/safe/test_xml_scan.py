"""Values of rdf:ID that are not names: hidden from the parser, shown again in the statements, counted."""

from __future__ import annotations

import io

import pytest

from mixtea.io.safe.sandboxed import rdf_child
from mixtea.io.safe.sandboxed.restrict import WrongError
from mixtea.io.safe.sandboxed.xml_scan import NAME, IdHider, reveal

LIMITS = dict(max_nesting=50, max_columns=40, max_token=100_000, max_expansion=100)
WANTED = {"format": "RDF_XML", "base": None, "by_line": False, "mend": True, "xml": LIMITS}
RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">\n'
NODE = '<rdf:Description rdf:ID="{}"><e:p>\n</e:p></rdf:Description>\n'


def child(content, **wanted):
    out = io.BytesIO()
    found = rdf_child.parse(WANTED | wanted, io.BytesIO(content.encode()), out, lambda n: None)
    return out.getvalue(), found


def ids(prefix="rdf"):
    found = IdHider()
    found.add([f"xmlns:{prefix}", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"], 1)
    return found


@pytest.mark.parametrize("block", [7, 1 << 18])
def test_ids_are_hidden_shown_and_counted(block, monkeypatch):
    monkeypatch.setattr(rdf_child, "BLOCK", block)
    content = RDF + "".join(map(NODE.format, ("a", "b:c", "a", "2", "b:c"))) + "</rdf:RDF>\n"
    statements, found = child(content)
    assert [line.split()[0] for line in reveal(statements).splitlines()] == [
        b"<#a>", b"<#b:c>", b"<#a>", b"<#2>", b"<#b:c>",
    ]  # fmt: skip
    assert found["ids"] == {"invalid": [3, 4, "b:c"], "repeated": [2, 6, "a"]}


def test_long_ids_are_cut_in_what_is_told():
    _, found = child(RDF + NODE.format("1" * 1000) + "</rdf:RDF>")
    assert found["ids"]["invalid"] == [1, 2, "1" * 100]


VALUES = {
    "a": "a", "é·1": "é·1", "1": "1", "a b": "a%20b", "http://x/?y=1&amp;z": "http://x/?y=1&z", "100%": "100%25",
    "%41": "%41", "a#b": "a%23b", "&lt;&gt;&quot;": "%3C%3E%22", "\ue000": "%EE%80%80", "×–": "×–",
    "\U00010000-": "\U00010000-", "-": "-", "a'b": "a'b", "": "",
}  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_what_is_hidden_is_a_name_and_comes_back_as_an_iri_can_have_it(value):
    hidden = ids().hidden(f'<a rdf:ID="{value}">'.encode()).decode()
    name = hidden.removeprefix('<a rdf:ID="').removesuffix('">')
    assert not value or NAME.fullmatch(name)
    assert reveal(name.encode()).decode() == VALUES[value]


KEPT = {
    "text": "<e:p>rdf:ID=\"a b\" and rdf:ID='1'</e:p>",
    "another namespace": "<a e:ID='a b' rdf:nodeID='a b' xml:id='a b'>",
    "a name": "<a rdf:ID='a'>",
    "an end": "</a rdf:ID='a b'>",
}


@pytest.mark.parametrize("case", KEPT)
def test_what_is_no_id_is_as_it_was(case):
    assert ids().hidden(KEPT[case].encode()).decode() == KEPT[case]


def test_quotes_of_both_kinds_and_spaces():
    assert reveal(ids("r").hidden(b"<a r:ID = '1' b='2' r:ID\n=\n\"2\">")) == b'<a r:ID = "1" b=\'2\' r:ID\n=\n"2">'


def test_statements_with_a_line_break_stay_one_line():
    node = '<rdf:Description rdf:about="http://a&#10;b"><e:p xml:lang="x&#10;9">t</e:p></rdf:Description>'
    statements, _ = child(f"{RDF}{node}</rdf:RDF>", by_line=True)
    assert statements == b'2\t<http://a b> <http://e/p> "t"@x 9 .\n'


@pytest.mark.parametrize(
    "text, mendable",
    [
        ("<a:a> <a:b> 'x'@francaise .\n<a:a> <a:b c> 'x' .\n<a:a> <a:b> 'x' .", True),
        ("<a:a> <a:b> 'x'@francaise .\n<a:a> <a:b> 'x\n' .", False),
        ("<a:a> <a:b> 'x'@francaise .\n<a:a> <a:b> 'x", False),
        ("<a:a> <a:b> 'x\n' .", False),
    ],
)
def test_a_text_without_end_cannot_be_mended(text, mendable):
    with pytest.raises(WrongError) as caught:
        child(text, format="TURTLE", mend=False)
    assert caught.value.about["mendable"] is mendable
